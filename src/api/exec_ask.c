/*
 * exec_ask.c - parameters and final Status of exec and attach
 *
 * The request to the node is made here from the query of pods/exec and pods/attach.
 */

#include <strings.h>

#include "api/exec_private.h"
#include "api/handlers.h"
#include "base/mem.h"

enum {
    SIZE_MAX_BYTES = 256 /* of a resize message */
};

/* ---- the container ---- */

static const json_t *find_named(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;

    json_array_foreach (list, i, item)
        if (text_equal(json_text(item, "name"), name))
            return item;
    return NULL;
}

static char *join_names(const json_t *containers)
{
    struct buf b = {0};
    size_t i;
    json_t *item;

    json_array_foreach (containers, i, item) {
        buf_add_text(&b, i > 0 ? " " : "");
        buf_add_text(&b, json_text(item, "name"));
    }
    return buf_steal(&b);
}

static struct err *choose_container(const struct call *c, const json_t *pod, const json_t **ret)
{
    const char *name = query_get(&c->query, "container");
    const json_t *containers = json_at(pod, "spec", "containers", NULL);
    const json_t *found = NULL;

    if (!name || *name == '\0')
        name = json_text_at(pod, "metadata", "annotations",
                            "kubectl.kubernetes.io/default-container", NULL);
    if (!name && json_array_size(containers) == 1)
        name = json_text(json_array_get(containers, 0), "name");
    if (!name) {
        AUTO_FREE char *names = join_names(containers);

        return err_new(ERR_BAD_REQUEST,
                       "a container name must be specified for pod %s, choose one of: [%s]",
                       c->name, names);
    }
    found = find_named(containers, name);
    if (!found)
        found = find_named(json_at(pod, "spec", "initContainers", NULL), name);
    if (!found) {
        found = find_named(json_at(pod, "spec", "ephemeralContainers", NULL), name);
        TRY(call_check_debug_user(c, found));
    }
    if (!found)
        return err_new(ERR_BAD_REQUEST, "container %.63s is not valid for pod %s", name, c->name);
    *ret = found;
    return NULL;
}

static bool is_running(const json_t *pod, const char *name)
{
    const json_t *s = find_named(json_at(pod, "status", "containerStatuses", NULL), name);

    if (!s)
        s = find_named(json_at(pod, "status", "initContainerStatuses", NULL), name);
    if (!s)
        s = find_named(json_at(pod, "status", "ephemeralContainerStatuses", NULL), name);
    return json_at(s, "state", "running", NULL) != NULL;
}

static struct err *check_pod(const struct call *c, const json_t *pod, const char *container)
{
    const char *node = json_text_at(pod, "spec", "nodeName", NULL);
    const char *phase = json_text_at(pod, "status", "phase", NULL);

    if (!node || *node == '\0')
        return err_new(ERR_BAD_REQUEST, "pod %s does not have a host assigned", c->name);
    if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return err_new(ERR_BAD_REQUEST,
                       "cannot %s %s a container in a completed pod; current phase is %s",
                       c->subresource, text_equal(c->subresource, "exec") ? "into" : "to", phase);
    if (!is_running(pod, container))
        return err_new(ERR_NOT_FOUND, "container not found (\"%s\")", container);
    return NULL;
}

/* ---- the request to the node ---- */

/* Refuses unknown parameters, which might change the meaning of the call. */
static struct err *check_parameters(const struct call *c)
{
    static const char *const known[] = {"command", "container", "stdin", "stdout",
                                        "stderr",  "timeout",   "tty"};

    for (size_t i = 0; i < c->query.n; i++) {
        bool is_known = false;

        for (size_t j = 0; j < COUNT(known); j++)
            is_known |= text_equal(known[j], c->query.pairs[i].key);
        if (!is_known)
            return err_new(ERR_BAD_REQUEST, "query parameter '%.64s' is not known for %s",
                           c->query.pairs[i].key, c->subresource);
    }
    return NULL;
}

static struct err *put_streams(const struct call *c, bool has_stdin, bool has_terminal,
                               json_t *question)
{
    bool wants_stdin = query_bool(&c->query, "stdin");
    bool wants_stdout = query_bool(&c->query, "stdout");
    /* A terminal has only one output: stderr is ignored, as in Kubernetes. */
    bool wants_stderr = query_bool(&c->query, "stderr") && !has_terminal;

    if (!wants_stdin && !wants_stdout && !wants_stderr)
        return err_new(ERR_BAD_REQUEST, "you must specify at least 1 of stdin, stdout, stderr");
    json_put_bool(question, "stdin", wants_stdin && has_stdin);
    json_put_bool(question, "stdout", wants_stdout);
    json_put_bool(question, "stderr", wants_stderr);
    json_put_bool(question, "tty", has_terminal);
    return NULL;
}

static struct err *put_command(const struct call *c, json_t *question)
{
    json_t *command = json_array_at(question, "command");

    for (size_t i = 0; i < c->query.n; i++)
        if (text_equal(c->query.pairs[i].key, "command"))
            (void)json_array_append_new(command, json_string(c->query.pairs[i].value));
    if (json_array_size(command) == 0)
        return err_new(ERR_BAD_REQUEST, "you must specify a command, as UTF-8");
    return NULL;
}

struct err *exec_make_question(const struct call *c, const json_t *pod, bool is_attach,
                               json_t *question)
{
    const json_t *container = NULL;
    const char *name = NULL;

    TRY(check_parameters(c));
    TRY(choose_container(c, pod, &container));
    name = json_text(container, "name");
    TRY(check_pod(c, pod, name));
    json_put_text(question, "op", is_attach ? "attach" : "exec");
    json_put_text(question, "podUid", json_text_at(pod, "metadata", "uid", NULL));
    json_put_text(question, "container", name);
    if (is_attach) /* limited to the streams that the container was created with */
        return put_streams(c, json_bool(container, "stdin", false),
                           json_bool(container, "tty", false), question);
    TRY(put_command(c, question));
    return put_streams(c, true, query_bool(&c->query, "tty"), question);
}

/* Finds keys in any case, as Go does: the JavaScript client writes "width". */
static int64_t find_number(json_t *object, const char *name)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value) {
        if (strcasecmp(key, name) == 0)
            return json_integer_value(value);
    }
    return 0;
}

bool exec_read_size(struct str text, uint16_t *ret_columns, uint16_t *ret_rows)
{
    AUTO(json_freep) json_t *size = NULL;
    AUTO(err_freep)
    struct err *e = text.size > SIZE_MAX_BYTES ? err_new(ERR_TOO_LARGE, "the size is too long")
                                               : json_parse(text, &size);
    int64_t columns = find_number(size, "Width");
    int64_t rows = find_number(size, "Height");

    if (e || columns < 1 || rows < 1 || columns > UINT16_MAX || rows > UINT16_MAX)
        return false;
    *ret_columns = (uint16_t)columns;
    *ret_rows = (uint16_t)rows;
    return true;
}

/* ---- the final Status ---- */

static json_t *new_status(const char *status)
{
    json_t *s = json_object();

    (void)json_object_at(s, "metadata");
    json_put_text(s, "status", status);
    return s;
}

static void put_cause(json_t *status, const char *reason, const char *message)
{
    json_t *cause = json_object();

    json_put_text(cause, "reason", reason);
    json_put_text(cause, "message", message);
    (void)json_array_append_new(json_array_at(json_object_at(status, "details"), "causes"), cause);
}

json_t *exec_status(int exit_code)
{
    AUTO_FREE char *code = mem_format("%d", exit_code);
    AUTO_FREE char *message = mem_format("command terminated with exit code %s", code);
    json_t *s = new_status(exit_code == 0 ? "Success" : "Failure");

    if (exit_code == 0)
        return s;
    json_put_text(s, "message", message);
    json_put_text(s, "reason", "NonZeroExitCode");
    put_cause(s, "ExitCode", code);
    return s;
}

json_t *exec_failure(int http, const char *message)
{
    AUTO_FREE char *text = mem_format("error executing command in container: %s", message);
    json_t *s = new_status("Failure");

    json_put_text(s, "message", text);
    json_put_text(s, "reason", "InternalError");
    put_cause(s, NULL, message);
    json_put_int(s, "code", http);
    return s;
}
