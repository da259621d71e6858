/*
 * pod_signal.c - pods/signal: a signal to the processes of a running pod
 *
 * The body is {"signal": NUMBER, "to": "first"|"steps"|"all", "step": "NUMBER"}. "first" (default)
 * is the first process of the container, "steps" are the processes of Slurm's steps in it, or of
 * one step. The reply comes once the node has sent the signal.
 */

#include "api/body.h"
#include "api/handlers.h"
#include "api/nodestream.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    SIGNAL_MAX = 64 /* of Linux */
};

struct signalling {
    struct exchange *x;
    struct node_stream *stream;
};

/* ---- the answer ---- */

static void on_signal_data(void *arg, struct str bytes)
{
    (void)arg; /* the node sends none */
    (void)bytes;
}

static void on_signal_end(void *arg, int code, const char *message)
{
    struct signalling *s = arg;
    const char *reason = code == 404   ? "NotFound"
                         : code == 400 ? "BadRequest"
                                       : "ServiceUnavailable";
    AUTO(json_freep)
    json_t *status = code < 300 ? json_pack("{s:s, s:s, s:s}", "kind", "Status", "apiVersion", "v1",
                                            "status", "Success")
                                : status_new(code, reason, message, NULL);

    reply_json(s->x, code < 300 ? 200 : code, status, NULL);
    free(s);
}

static void on_signal_close(void *arg)
{
    struct signalling *s = arg;

    node_stream_cancel(s->stream);
    free(s);
}

static struct err *signal_ask(struct call *c, const char *node, const json_t *question)
{
    struct signalling *s = mem_alloc(sizeof(*s));
    const struct node_stream_options o = {.node = node,
                                          .open = question,
                                          .on_data = on_signal_data,
                                          .on_end = on_signal_end,
                                          .arg = s};
    struct err *e;

    s->x = c->x;
    e = node_stream_open(core_links(c->core), &o, &s->stream);
    if (e) {
        free(s);
        return e;
    }
    s->x->arg = s;
    s->x->on_close = on_signal_close;
    return NULL;
}

/* ---- the question ---- */

static struct err *check_signal(const json_t *body)
{
    static const char *const targets[] = {"first", "steps", "all"};
    const char *to = json_text(body, "to");
    const char *step = json_text(body, "step");
    int64_t number = json_int(body, "signal", 0);
    bool is_known = to == NULL;
    int64_t ignored = 0;

    for (size_t i = 0; i < COUNT(targets); i++)
        is_known = is_known || text_equal(to, targets[i]);
    if (number < 1 || number > (int)SIGNAL_MAX)
        return err_new(ERR_BAD_REQUEST, "signal: want a number, 1 to %d", (int)SIGNAL_MAX);
    if (!is_known)
        return err_new(ERR_BAD_REQUEST, "to '%.64s' is not one of first, steps, all", to);
    if (step && !text_equal(to, "steps"))
        return err_new(ERR_BAD_REQUEST, "step: only with to 'steps'");
    return step ? num_parse_int64(str_of(step), 0, INT32_MAX, &ignored) : NULL;
}

static struct err *check_runs(const struct call *c, const json_t *pod)
{
    const char *node = json_text_at(pod, "spec", "nodeName", NULL);

    /* The node knows of the start before the pod's phase tells. */
    if (!node || !*node || pod_is_terminal(pod))
        return err_new(ERR_CONFLICT, "pod %s does not run", c->name);
    return NULL;
}

static struct err *signal_pod(struct call *c, const json_t *body, const json_t *pod)
{
    const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
    AUTO(json_freep) json_t *question = json_object();

    TRY(check_signal(body));
    TRY(call_check_pod_user(c, pod));
    TRY(check_runs(c, pod));
    json_put_text(question, "op", "signal");
    json_put_text(question, "podUid", json_text_at(pod, "metadata", "uid", NULL));
    json_put_text(question, "container", json_text(container, "name"));
    json_put_int(question, "signal", json_int(body, "signal", 0));
    json_put_text(question, "to", json_text(body, "to"));
    json_put_text(question, "step", json_text(body, "step"));
    return signal_ask(c, json_text_at(pod, "spec", "nodeName", NULL), question);
}

struct err *handle_pod_signal(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    const struct store_object *o = NULL;
    bool is_known = false;

    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    o = store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    if (!o)
        return objects_not_found(c->kind, c->name);
    pod = core_tree(c->core, o);
    return signal_pod(c, body, pod);
}
