/*
 * podlog.c - pods/log
 *
 * The node reads the log and sends it over its stream, at the client's pace. Over a WebSocket the
 * log's bytes are binary messages, with the protocol base64.binary.k8s.io text in base64.
 */

#include "api/handlers.h"
#include "api/nodestream.h"
#include "api/session_conn.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "http/handshake.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects.h"

struct log_reader {
    struct exchange *x;        /* until a WebSocket has begun */
    struct session_conn *conn; /* NULL: no WebSocket */
    struct node_stream *stream;
    size_t owed; /* bytes whose credit waits until the client has taken them */
    bool is_begun;
};

static void log_begin(struct log_reader *l)
{
    const struct api_reply head = {.status = 200, .content_type = "text/plain"};

    if (!l->is_begun)
        l->x->ops->begin(l->x, &head);
    l->is_begun = true;
}

static void give_credit(struct log_reader *l)
{
    size_t owed = l->owed;

    l->owed = 0;
    node_stream_taken(l->stream, owed);
}

static void podlog_on_data(void *arg, struct str bytes)
{
    struct log_reader *l = arg;

    if (l->conn) {
        session_conn_send_plain(l->conn, bytes);
        l->owed += bytes.size;
        if (!session_conn_is_full(l->conn))
            give_credit(l);
        return;
    }
    log_begin(l);
    l->x->ops->piece(l->x, bytes);
    l->owed += bytes.size;
    if (l->x->ops->backlog(l->x) < API_BACKLOG_MAX / 2)
        give_credit(l);
}

static void on_drain(void *arg)
{
    give_credit(arg);
}

static void reply_failure(struct exchange *x, int code, const char *message)
{
    AUTO(json_freep)
    json_t *status = status_new(code,
                                code == 404   ? "NotFound"
                                : code == 400 ? "BadRequest"
                                : code == 503 ? "ServiceUnavailable"
                                              : "InternalError",
                                message, NULL);

    reply_json(x, code, status, NULL);
}

static void podlog_on_end(void *arg, int code, const char *message)
{
    struct log_reader *l = arg;

    if (l->conn) {
        if (code >= 300)
            session_conn_send_plain(l->conn, str_of(message));
        session_conn_finish(l->conn);
    } else if (code >= 300 && !l->is_begun) {
        reply_failure(l->x, code, message);
    } else if (code >= 300) {
        l->x->ops->cut(l->x);
    } else {
        log_begin(l);
        l->x->ops->end(l->x);
    }
    free(l);
}

static void on_close(void *arg)
{
    struct log_reader *l = arg;

    node_stream_cancel(l->stream);
    if (l->conn)
        session_conn_free(l->conn);
    free(l);
}

/* Refuses parameters that would change the output and are not implemented. */
static struct err *check_parameters(const struct call *c)
{
    static const char *const known[] = {
        "container",    "follow",    "tailLines",  "limitBytes", "previous",
        "sinceSeconds", "sinceTime", "timestamps", "pretty",     "insecureSkipTLSVerifyBackend",
        "timeout"};

    for (size_t i = 0; i < c->query.n; i++) {
        const char *key = c->query.pairs[i].key;
        const char *value = c->query.pairs[i].value;
        bool is_known = text_equal(value, "false");

        for (size_t j = 0; j < COUNT(known); j++)
            is_known |= text_equal(known[j], key);
        if (!is_known)
            return err_new(ERR_BAD_REQUEST, "%.64s is not implemented yet for logs", key);
    }
    return NULL;
}

static bool has_container(const json_t *pod, const char *list, const char *name)
{
    size_t i;
    json_t *container;

    json_array_foreach (json_at(pod, "spec", list, NULL), i, container) {
        if (text_equal(json_text(container, "name"), name))
            return true;
    }
    return false;
}

static struct err *choose_container(const struct call *c, const json_t *pod, const char **ret)
{
    const char *name = query_get(&c->query, "container");
    const json_t *containers = json_at(pod, "spec", "containers", NULL);

    if (!name || *name == '\0')
        name = json_text_at(pod, "metadata", "annotations",
                            "kubectl.kubernetes.io/default-container", NULL);
    if (!name && json_array_size(containers) == 1)
        name = json_text(json_array_get(containers, 0), "name");
    if (!name)
        return err_new(ERR_BAD_REQUEST, "a container name must be specified for pod %s", c->name);
    if (!has_container(pod, "containers", name) && !has_container(pod, "initContainers", name) &&
        !has_container(pod, "ephemeralContainers", name))
        return err_new(ERR_BAD_REQUEST, "container %.63s is not valid for pod %s", name, c->name);
    *ret = name;
    return NULL;
}

/* The container's restart count: the number of its present attempt. */
static int64_t attempt_of(const json_t *pod, const char *container)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses",
                                        "ephemeralContainerStatuses"};

    for (size_t k = 0; k < COUNT(lists); k++) {
        size_t i;
        json_t *status;

        json_array_foreach (json_at(pod, "status", lists[k], NULL), i, status) {
            if (text_equal(json_text(status, "name"), container))
                return json_int(status, "restartCount", 0);
        }
    }
    return 0;
}

static struct err *put_number(const struct call *c, json_t *open, const char *key, int64_t min)
{
    const char *text = query_get(&c->query, key);
    int64_t value = 0;
    struct err *e = NULL;

    if (!text || *text == '\0')
        return NULL;
    e = num_parse_int64(str_of(text), INT64_MIN, INT64_MAX, &value);
    if (e) {
        AUTO(err_freep) struct err *bad = e;

        return err_new(ERR_BAD_REQUEST, "%s: %s", key, err_message(bad));
    }
    if (value < min) {
        AUTO(causes_done) struct causes bad = {0};

        cause_invalid_int(&bad, PATH(NULL, key), value,
                          min == 0 ? "must be greater than or equal to 0"
                                   : "must be greater than 0");
        return causes_err(&bad, "PodLogOptions", "");
    }
    json_put_int(open, key, value);
    return NULL;
}

static struct err *put_since(const struct call *c, json_t *open)
{
    const char *stamp = query_get(&c->query, "sinceTime");
    int64_t stamp_ns = 0;
    struct err *e = NULL;

    TRY(put_number(c, open, "sinceSeconds", 1));
    if (!stamp || *stamp == '\0')
        return NULL;
    if (json_object_get(open, "sinceSeconds")) {
        AUTO(causes_done) struct causes bad = {0};

        cause_forbidden(&bad, PATH(NULL, "sinceTime"),
                        "at most one of `sinceTime` or `sinceSeconds` may be specified");
        return causes_err(&bad, "PodLogOptions", "");
    }
    e = stamp_parse(str_of(stamp), &stamp_ns);
    if (e) {
        AUTO(err_freep) struct err *bad = e;

        return err_new(ERR_BAD_REQUEST, "sinceTime: %s", err_message(bad));
    }
    json_put_text(open, "sinceTime", stamp);
    return NULL;
}

static struct err *make_question(const struct call *c, const json_t *pod, json_t *open)
{
    const char *container = NULL;

    TRY(check_parameters(c));
    TRY(choose_container(c, pod, &container));
    json_put_text(open, "op", "logs");
    json_put_text(open, "podUid", json_text_at(pod, "metadata", "uid", NULL));
    json_put_text(open, "container", container);
    if (query_bool(&c->query, "previous"))
        json_put_bool(open, "previous", true);
    else
        json_put_int(open, "attempt", attempt_of(pod, container));
    json_put_bool(open, "follow", query_bool(&c->query, "follow"));
    json_put_bool(open, "timestamps", query_bool(&c->query, "timestamps"));
    TRY(put_since(c, open));
    TRY(put_number(c, open, "tailLines", 0));
    return put_number(c, open, "limitBytes", 1);
}

static struct err *log_read_handshake(const struct call *c, struct handshake *ret)
{
    static const char *const words[] = {"binary.k8s.io", "base64.binary.k8s.io", NULL};
    static const char *const none[] = {NULL};
    static const struct session_protocols protocols = {
        .channels = words, .spdy = none, .is_unnamed_socket = true};

    return handshake_is_websocket(&c->x->request) ? session_read_handshake(c, &protocols, ret)
                                                  : NULL;
}

/* The log goes to the client as an answer, or over its WebSocket. */
static void log_take_client(struct log_reader *l, struct call *c, const struct handshake *h)
{
    const struct session_conn_options o = {.on_drain = on_drain, .on_close = on_close, .arg = l};

    if (h->is_websocket) {
        l->conn = session_conn_new(c, h, &o);
        return;
    }
    l->x->arg = l;
    l->x->on_close = on_close;
    l->x->on_drain = on_drain;
}

struct err *handle_pod_log(struct call *c)
{
    const struct store_object *o =
        store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *open = json_object();
    AUTO(json_freep) json_t *pod = NULL;
    struct node_stream_options options = {
        .open = open, .on_data = podlog_on_data, .on_end = podlog_on_end};
    struct handshake h = {0};
    struct log_reader *l;
    struct err *e;

    if (!o)
        return objects_not_found(c->kind, c->name);
    pod = core_tree(c->core, o);
    TRY(call_check_pod_user(c, pod));
    TRY(make_question(c, pod, open));
    options.node = json_text_at(pod, "spec", "nodeName", NULL);
    if (!options.node || *options.node == '\0')
        return err_new(ERR_BAD_REQUEST, "pod %s does not have a host assigned", c->name);
    TRY(log_read_handshake(c, &h));
    l = mem_alloc(sizeof(*l));
    l->x = c->x;
    options.arg = l;
    e = node_stream_open(core_links(c->core), &options, &l->stream);
    if (e) {
        free(l);
        return e;
    }
    log_take_client(l, c, &h);
    return NULL;
}
