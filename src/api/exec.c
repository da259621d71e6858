/*
 * exec.c - pods/exec and pods/attach: between the client's connection and the node's stream
 *
 * Kubernetes' remotecommand has two forms. Over a WebSocket (v5.channel.k8s.io, v4.channel.k8s.io)
 * the first byte of each binary message is its channel: 0 stdin, 1 stdout, 2 stderr, 3 the final
 * status, 4 {"Width":W,"Height":H}, and since v5 255, whose one byte names the channel that ends.
 * Before v4 (channel.k8s.io, or no protocol) channel 3 has only the text of a failure.
 * Over SPDY each channel is a stream (exec_spdy.c).
 *
 * Flow control: the server does not read from the client while input waits for the node, and gives
 * the node no credit while output waits for the client.
 */

#include "api/exec_private.h"
#include "api/handlers.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/records.h"
#include "kinds/object/objects.h"

enum {
    INPUT_HIGH = 128 << 10, /* above this, do not read from the client */
};

/* Frees the session, not its connection. */
static void exec_session_free(struct exec_session *r)
{
    exec_spdy_done(&r->streams);
    json_decref(r->question);
    free(r->node);
    buf_done(&r->in);
    free(r);
}

void exec_session_give_up(struct exec_session *r)
{
    if (r->stream)
        node_stream_cancel(r->stream);
    session_conn_free(r->conn);
    exec_session_free(r);
}

/* ---- to the client ---- */

/* Sends the last message; the connection ends after the client has read it. */
void exec_session_finish(struct exec_session *r, json_t *taken_status)
{
    AUTO(json_freep) json_t *status = taken_status;
    AUTO_FREE char *text = json_format(status);

    if (r->is_spdy)
        exec_spdy_end(&r->streams, status);
    else if (!r->has_status_text)
        session_conn_send(r->conn, CHANNEL_STATUS, str_of(text));
    else if (json_text(status, "message"))
        session_conn_send(r->conn, CHANNEL_STATUS, str_of(json_text(status, "message")));
    session_conn_finish(r->conn);
    exec_session_free(r);
}

void exec_session_give_credit(struct exec_session *r)
{
    size_t owed = r->owed;

    if (session_conn_is_full(r->conn) || (r->is_spdy && exec_spdy_is_behind(&r->streams)))
        return;
    r->owed = 0;
    if (r->stream)
        node_stream_taken(r->stream, owed);
}

static void exec_session_output(struct exec_session *r, unsigned channel, struct str bytes)
{
    if (r->is_spdy)
        exec_spdy_send(&r->streams, channel, bytes);
    else
        session_conn_send(r->conn, channel, bytes);
}

static void exec_on_record(void *arg, const struct record *record)
{
    struct exec_session *r = arg;

    if (record->channel == RECORD_STDOUT)
        exec_session_output(r, CHANNEL_STDOUT, record->bytes);
    else if (record->channel == RECORD_STDERR)
        exec_session_output(r, CHANNEL_STDERR, record->bytes);
    else if (record->channel == RECORD_EXIT)
        r->exit_code = record->code;
    r->has_exit = r->has_exit || record->channel == RECORD_EXIT;
}

static void exec_on_node_data(void *arg, struct str bytes)
{
    struct exec_session *r = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&r->in, bytes.at, bytes.size);
    r->owed += bytes.size;
    e = records_each(&r->in, exec_on_record, r);
    if (e) {
        node_stream_cancel(TAKE(r->stream));
        exec_session_finish(r, exec_failure(500, err_message(e)));
    } else {
        exec_session_give_credit(r);
    }
}

static void exec_on_node_end(void *arg, int code, const char *message)
{
    struct exec_session *r = arg;

    r->stream = NULL;
    if (code >= 300)
        exec_session_finish(r, exec_failure(code, message));
    else
        exec_session_finish(r, exec_status(r->has_exit ? r->exit_code : 0));
}

static void on_client_drain(void *arg)
{
    exec_session_give_credit(arg);
}

/* ---- from the client ---- */

static void on_node_drain(void *arg)
{
    session_conn_pause(((struct exec_session *)arg)->conn, false);
}

static void send_records(struct exec_session *r, const struct buf *b)
{
    if (!r->stream)
        return;
    node_stream_send(r->stream, (struct str){b->at, b->size});
    if (node_stream_backlog(r->stream) >= INPUT_HIGH)
        session_conn_pause(r->conn, true);
}

void exec_session_input(struct exec_session *r, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    while (r->has_stdin && bytes.size > 0) {
        size_t size = bytes.size < RECORD_MAX ? bytes.size : RECORD_MAX;

        record_format(&b, RECORD_STDIN, (struct str){bytes.at, size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    }
    if (b.size > 0)
        send_records(r, &b);
}

void exec_session_input_end(struct exec_session *r)
{
    AUTO(buf_done) struct buf b = {0};

    record_format(&b, RECORD_STDIN_END, STR(""));
    send_records(r, &b);
    r->has_stdin = false;
}

void exec_session_resize(struct exec_session *r, struct str size)
{
    AUTO(buf_done) struct buf b = {0};
    uint16_t columns = 0;
    uint16_t rows = 0;

    if (!exec_read_size(size, &columns, &rows))
        return;
    record_format_resize(&b, columns, rows);
    send_records(r, &b);
}

static void exec_on_message(void *arg, unsigned channel, struct str bytes)
{
    struct exec_session *r = arg;

    if (channel == CHANNEL_STDIN)
        exec_session_input(r, bytes);
    else if (channel == CHANNEL_RESIZE)
        exec_session_resize(r, bytes);
    else if (channel == CHANNEL_CLOSE && r->is_v5 && bytes.size == 1 &&
             bytes.at[0] == CHANNEL_STDIN)
        exec_session_input_end(r);
}

static void on_client_close(void *arg)
{
    exec_session_give_up(arg);
}

/* ---- opening ---- */

struct err *exec_session_begin(struct exec_session *r)
{
    AUTO(json_freep) json_t *question = TAKE(r->question);
    const struct node_stream_options o = {.node = r->node,
                                          .open = question,
                                          .on_data = exec_on_node_data,
                                          .on_drain = on_node_drain,
                                          .on_end = exec_on_node_end,
                                          .arg = r};

    return node_stream_open(core_links(r->core), &o, &r->stream);
}

static struct err *begin_channels(struct call *c, const struct handshake *h, struct exec_session *r)
{
    const struct session_conn_options o = {.message = exec_on_message,
                                           .on_drain = on_client_drain,
                                           .on_close = on_client_close,
                                           .arg = r};

    TRY(exec_session_begin(r));
    r->conn = session_conn_new(c, h, &o);
    return NULL;
}

static struct err *begin_session(struct call *c, const json_t *pod, bool is_attach)
{
    static const char *const channels[] = {"v5.channel.k8s.io",        "v4.channel.k8s.io",
                                           "v4.base64.channel.k8s.io", "channel.k8s.io",
                                           "base64.channel.k8s.io",    NULL};
    static const char *const spdy[] = {"v4.channel.k8s.io", "v3.channel.k8s.io",
                                       "v2.channel.k8s.io", "channel.k8s.io", NULL};
    static const struct session_protocols protocols = {
        .channels = channels, .spdy = spdy, .is_unnamed_socket = true, .is_unnamed_spdy = true};
    AUTO(json_freep) json_t *question = json_object();
    struct handshake h = {0};
    struct exec_session *r = NULL;

    TRY(exec_make_question(c, pod, is_attach, question));
    TRY(session_read_handshake(c, &protocols, &h));
    r = mem_alloc(sizeof(*r));
    *r = (struct exec_session){.core = c->core,
                               .question = json_incref(question),
                               .node = mem_strdup(json_text_at(pod, "spec", "nodeName", NULL)),
                               .is_spdy = h.is_spdy,
                               .is_v5 = h.protocol == channels[0],
                               .has_status_text = !h.protocol || h.protocol == channels[3] ||
                                                  h.protocol == channels[4],
                               .has_stdin = json_bool(question, "stdin", false)};
    if (h.is_spdy) {
        exec_spdy_begin(c, &h, r);
    } else {
        struct err *e = begin_channels(c, &h, r);

        if (e) {
            exec_session_free(r);
            return e;
        }
    }
    LOG(INFO, is_attach ? "attached to a container" : "command in a container",
        S("user", c->who.user), S("namespace", c->ns), S("pod", c->name),
        S("container", json_text(question, "container")));
    return NULL;
}

static struct err *exec_handle(struct call *c, bool is_attach)
{
    const struct store_object *o =
        store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *pod = NULL;

    if (!o)
        return objects_not_found(c->kind, c->name);
    pod = core_tree(c->core, o);
    TRY(call_check_pod_user(c, pod));
    return begin_session(c, pod, is_attach);
}

struct err *handle_pod_exec(struct call *c)
{
    return exec_handle(c, false);
}

struct err *handle_pod_attach(struct call *c)
{
    return exec_handle(c, true);
}
