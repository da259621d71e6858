/* action.c - the actions of probes and hooks */

#include "node/pod/action.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"

enum {
    OUTPUT_MAX = 1024 /* of a command's output in an Event */
};

static const int64_t PING_NS = 30 * NS_PER_SEC; /* default timeout */

struct action {
    struct loop_timer *timer; /* for a sleep, and for results known at once */
    struct exec *exec;
    struct ping *ping;
    char *command; /* for display */
    bool hides_output;
    struct buf output;
    enum action_result result; /* reported by the timer */
    char *message;
    action_done_fn done;
    void *arg;
};

static void action_free(struct action *a)
{
    loop_timer_free(a->timer);
    buf_done(&a->output);
    free(a->command);
    free(a->message);
    free(a);
}

static void action_end(struct action *a, enum action_result result, const char *message)
{
    action_done_fn done = a->done;
    void *arg = a->arg;
    AUTO_FREE char *own = mem_strdup(message);

    action_free(a);
    done(arg, result, own);
}

static void on_action_timer(void *arg)
{
    struct action *a = arg;
    AUTO_FREE char *message = TAKE(a->message);

    action_end(a, a->result, message ? message : "");
}

static void end_later(struct action *a, enum action_result result, char *message, int64_t delay_ns)
{
    a->result = result;
    a->message = message;
    loop_timer_set(a->timer, delay_ns);
}

/* ---- exec ---- */

static void on_action_output(void *arg, int fd, struct str bytes)
{
    struct action *a = arg;
    size_t room = a->hides_output ? 0 : OUTPUT_MAX - a->output.size;

    (void)fd;
    buf_add(&a->output, bytes.at, bytes.size < room ? bytes.size : room);
}

static void on_exec_end(void *arg, const struct err *e, int code)
{
    struct action *a = arg;
    AUTO_FREE char *message = NULL;

    a->exec = NULL;
    if (e && err_code(e) == ERR_TIMEOUT) {
        message = mem_format("command \"%s\" timed out", a->command);
        action_end(a, ACTION_FAILURE, message);
    } else if (e) {
        action_end(a, ACTION_ERROR, err_message(e));
    } else if (code == 0) {
        action_end(a, ACTION_SUCCESS, "");
    } else {
        message = a->output.size > 0 ? buf_steal(&a->output) : mem_format("exit code %d", code);
        action_end(a, ACTION_FAILURE, message);
    }
}

static char *join_words(const json_t *words)
{
    struct buf out = {.cap = OUTPUT_MAX};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (words, i, item)
        buf_printf(&out, "%s%s", i > 0 ? " " : "", json_string_value(item));
    return buf_steal(&out);
}

static void begin_exec(struct action *a, const struct action_place *place, const json_t *exec,
                       int64_t timeout_ns)
{
    AUTO(json_freep) json_t *process = json_object();
    struct runtime_exec e = {.id = place->id,
                             .process = process,
                             .deadline_ns = timeout_ns,
                             .output = on_action_output,
                             .end = on_exec_end,
                             .arg = a};
    json_t *words = json_object_get(exec, "command");

    a->command = join_words(words);
    json_put(process, "args", json_incref(words));
    a->exec = place->runtime->ops->exec(place->runtime->self, &e);
}

/* ---- ports ---- */

static void on_ping_end(void *arg, const struct err *e, int status)
{
    struct action *a = arg;
    AUTO_FREE char *message = NULL;

    a->ping = NULL;
    if (e) {
        action_end(a, err_code(e) == ERR_INTERNAL ? ACTION_ERROR : ACTION_FAILURE, err_message(e));
    } else if (status == 0 || (status >= 200 && status < 400)) {
        action_end(a, ACTION_SUCCESS, "");
    } else {
        message = mem_format("HTTP probe failed with statuscode: %d", status);
        action_end(a, ACTION_FAILURE, message);
    }
}

/* Finds a port by number, or by its name in the container. */
static struct err *find_port(const json_t *container, const json_t *port, int64_t *ret)
{
    const char *name = json_string_value(port);
    const json_t *item = NULL;
    size_t i = 0;

    *ret = json_integer_value(port);
    if (name) {
        json_array_foreach (json_object_get(container, "ports"), i, item)
            if (text_equal(json_text(item, "name"), name)) {
                *ret = json_int(item, "containerPort", 0);
                return NULL;
            }
        return err_new(ERR_NOT_FOUND, "couldn't find port: \"%s\" in pod", name);
    }
    if (*ret < 1 || *ret > 65535)
        return err_new(ERR_INVALID, "port %" PRId64 " is not one", *ret);
    return NULL;
}

static void begin_ping(struct action *a, const struct action_place *place, const json_t *question,
                       bool is_http, int64_t timeout_ns)
{
    const char *host = json_text(question, "host");
    const char *path = json_text(question, "path");
    struct ping_question q = {.is_http = is_http,
                              .is_tls = text_equal(json_text(question, "scheme"), "HTTPS"),
                              .host = host && *host ? host : place->host,
                              .path = path && *path ? path : "/",
                              .headers = json_object_get(question, "httpHeaders"),
                              .timeout_ns = timeout_ns > 0 ? timeout_ns : PING_NS};
    AUTO(err_freep)
    struct err *e = find_port(place->container, json_object_get(question, "port"), &q.port);

    if (e)
        end_later(a, ACTION_ERROR, mem_strdup(err_message(e)), 0);
    else
        a->ping = place->pinger->ops->start(place->pinger->self, &q, on_ping_end, a);
}

static void begin_grpc(struct action *a, const struct action_place *place, const json_t *question,
                       int64_t timeout_ns)
{
    const struct ping_question q = {.service = text_or_empty(json_text(question, "service")),
                                    .host = place->host,
                                    .port = json_int(question, "port", 0),
                                    .timeout_ns = timeout_ns > 0 ? timeout_ns : PING_NS};

    a->ping = place->pinger->ops->start(place->pinger->self, &q, on_ping_end, a);
}

/* ---- begin and end ---- */

struct action *action_new(const struct action_place *place, const json_t *handler,
                          int64_t timeout_ns, action_done_fn done, void *arg)
{
    struct action *a = mem_alloc(sizeof(*a));
    const json_t *exec = json_object_get(handler, "exec");
    const json_t *http = json_object_get(handler, "httpGet");
    const json_t *tcp = json_object_get(handler, "tcpSocket");
    const json_t *grpc = json_object_get(handler, "grpc");
    const json_t *sleep = json_object_get(handler, "sleep");
    int64_t sleep_s = json_int(sleep, "seconds", 0);
    int64_t max_s = timeout_ns > 0 ? timeout_ns / NS_PER_SEC : INT32_MAX;

    *a = (struct action){.hides_output = place->hides_output,
                         .done = done,
                         .arg = arg,
                         .output.cap = OUTPUT_MAX + 1};
    a->timer = loop_timer_new(place->loop, on_action_timer, a);
    if (json_is_object(exec))
        begin_exec(a, place, exec, timeout_ns);
    else if (json_is_object(http))
        begin_ping(a, place, http, true, timeout_ns);
    else if (json_is_object(tcp))
        begin_ping(a, place, tcp, false, timeout_ns);
    else if (json_is_object(grpc))
        begin_grpc(a, place, grpc, timeout_ns);
    else if (json_is_object(sleep) && sleep_s >= 0 && sleep_s <= max_s)
        end_later(a, ACTION_SUCCESS, NULL, sleep_s * NS_PER_SEC);
    else if (json_is_object(sleep))
        end_later(a, ACTION_FAILURE, mem_strdup("no time left to sleep"), timeout_ns);
    else
        end_later(a, ACTION_ERROR, mem_strdup("the node does not support this handler"), 0);
    return a;
}

void action_cancel(struct action *a)
{
    if (!a)
        return;
    if (a->exec)
        a->exec->ops->cancel(a->exec);
    if (a->ping)
        a->ping->ops->cancel(a->ping);
    action_free(a);
}
