/*
 * pods/exec and pods/attach: the client's WebSocket on one side, the node's stream on the other
 *
 * Subprotocols v5.channel.k8s.io and v4.channel.k8s.io (Kubernetes' remotecommand): the first byte
 * of each binary message is its channel: 0 stdin, 1 stdout, 2 stderr, 3 the status, at the end,
 * 4 {"Width":W,"Height":H}, and since v5 255, whose one byte is the channel that ends.
 *
 * Neither side runs ahead: the client's connection is not read while its input waits for the node,
 * and the node gets no credit while its output waits for the client.
 */
#include "api/exec_private.h"
#include "api/handlers.h"
#include "api/nodestream.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/records.h"
#include "client/websocket.h"
#include "kinds/objects.h"

enum {
    CHANNEL_STDIN = 0,
    CHANNEL_STDOUT = 1,
    CHANNEL_STDERR = 2,
    CHANNEL_STATUS = 3,
    CHANNEL_RESIZE = 4,
    CHANNEL_CLOSE = 255,
    INPUT_HIGH = 128 << 10, /* from there on the client is not read */
    CLOSE_NORMAL = 1000,
};

static const int64_t PING_NS = 30 * NS_PER_SEC;

/* One session. */
struct remote {
    struct channel *channel;
    struct websocket *socket;
    struct node_stream *stream; /* NULL: it has ended */
    struct loop_timer *ping;
    struct buf in; /* from the node: less than a record */
    size_t owed;   /* bytes whose credit waits until the client has taken them */
    bool is_v5;
    bool has_stdin;
    bool is_paused;
    bool has_exit;
    int exit_code;
};

static void remote_free(struct remote *r)
{
    loop_timer_free(r->ping);
    websocket_free(r->socket);
    buf_done(&r->in);
    free(r);
}

/* The client's side is gone, or is to go. */
static void give_up(struct remote *r)
{
    if (r->stream)
        node_stream_cancel(r->stream);
    remote_free(r);
}

/* ---- to the client ---- */

/* The last message, then the connection ends when it was read. */
static void finish(struct remote *r, json_t *taken)
{
    AUTO(json_freep) json_t *status = taken;
    AUTO_FREE char *text = json_format(status);

    websocket_send(r->socket, CHANNEL_STATUS, str_of(text));
    websocket_close(r->socket, CLOSE_NORMAL);
    r->channel->ops->finish(r->channel);
    remote_free(r);
}

static void give_credit(struct remote *r)
{
    size_t owed = r->owed;

    r->owed = 0;
    if (r->stream)
        node_stream_taken(r->stream, owed);
}

static void take_record(struct remote *r, const struct record *record)
{
    if (record->channel == RECORD_STDOUT)
        websocket_send(r->socket, CHANNEL_STDOUT, record->bytes);
    else if (record->channel == RECORD_STDERR)
        websocket_send(r->socket, CHANNEL_STDERR, record->bytes);
    else if (record->channel == RECORD_EXIT)
        r->exit_code = record->code;
    r->has_exit = r->has_exit || record->channel == RECORD_EXIT;
}

static struct err *take_records(struct remote *r)
{
    size_t used = 0;

    for (;;) {
        struct record record = {0};
        size_t size = 0;

        TRY(record_parse((struct str){r->in.at + used, r->in.size - used}, &record, &size));
        if (size == 0)
            break;
        take_record(r, &record);
        used += size;
    }
    buf_consume(&r->in, used);
    return NULL;
}

static void on_node_data(void *arg, struct str bytes)
{
    struct remote *r = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&r->in, bytes.at, bytes.size);
    r->owed += bytes.size;
    e = take_records(r);
    if (e) {
        node_stream_cancel(TAKE(r->stream));
        finish(r, exec_failure(500, err_message(e)));
    } else if (r->channel->ops->backlog(r->channel) < API_BACKLOG_MAX / 2) {
        give_credit(r);
    }
}

static void on_node_end(void *arg, int code, const char *message)
{
    struct remote *r = arg;

    r->stream = NULL;
    if (code >= 300)
        finish(r, exec_failure(code, message));
    else
        finish(r, exec_status(r->has_exit ? r->exit_code : 0));
}

static void on_client_drain(void *arg)
{
    give_credit(arg);
}

/* ---- from the client ---- */

static void set_pause(struct remote *r, bool is_paused)
{
    if (r->is_paused == is_paused)
        return;
    r->is_paused = is_paused;
    r->channel->ops->pause(r->channel, is_paused);
}

static void on_node_drain(void *arg)
{
    set_pause(arg, false);
}

static void send_records(struct remote *r, const struct buf *b)
{
    node_stream_send(r->stream, (struct str){b->at, b->size});
    if (node_stream_backlog(r->stream) >= INPUT_HIGH)
        set_pause(r, true);
}

static void send_input(struct remote *r, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    while (bytes.size > 0) {
        size_t size = bytes.size < RECORD_MAX ? bytes.size : RECORD_MAX;

        record_format(&b, RECORD_STDIN, (struct str){bytes.at, size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    }
    send_records(r, &b);
}

static void on_message(void *arg, struct str bytes)
{
    struct remote *r = arg;
    AUTO(buf_done) struct buf b = {0};
    struct str rest = {bytes.at + 1, bytes.size > 0 ? bytes.size - 1 : 0};
    unsigned channel = bytes.size > 0 ? (unsigned char)bytes.at[0] : CHANNEL_STATUS;
    uint16_t columns = 0;
    uint16_t rows = 0;

    if (!r->stream)
        return;
    if (channel == CHANNEL_STDIN && r->has_stdin && rest.size > 0) {
        send_input(r, rest);
    } else if (channel == CHANNEL_RESIZE && exec_read_size(rest, &columns, &rows)) {
        record_format_resize(&b, columns, rows);
        send_records(r, &b);
    } else if (channel == CHANNEL_CLOSE && r->is_v5 && rest.size == 1 && rest.at[0] == 0) {
        record_format(&b, RECORD_STDIN_END, STR(""));
        send_records(r, &b);
        r->has_stdin = false;
    }
}

static void on_client_data(void *arg, struct str bytes)
{
    struct remote *r = arg;
    AUTO(err_freep) struct err *e = websocket_take(r->socket, bytes);

    if (e || websocket_is_closed(r->socket)) {
        r->channel->ops->finish(r->channel);
        give_up(r);
    }
}

static void on_client_close(void *arg)
{
    give_up(arg);
}

static void on_send(void *arg, struct str bytes)
{
    struct remote *r = arg;

    r->channel->ops->write(r->channel, bytes);
}

/* What lies between us and the client forgets connections on which nothing moves. */
static void on_ping(void *arg)
{
    struct remote *r = arg;

    websocket_ping(r->socket);
    loop_timer_set(r->ping, PING_NS);
}

/* ---- the beginning ---- */

static void take_connection(struct call *c, struct remote *r, const struct handshake *h)
{
    const struct websocket_options o = {.send = on_send, .message = on_message, .arg = r};
    const struct upgrade u = {.protocol = "websocket",
                              .headers = arena_format(c->arena,
                                                      "Sec-WebSocket-Accept: %s\r\n"
                                                      "Sec-WebSocket-Protocol: %s\r\n",
                                                      h->accept, h->protocol),
                              .may_stand_still = true};

    r->is_v5 = h->is_v5;
    r->socket = websocket_new(&o);
    r->channel = c->x->ops->upgrade(c->x, &u);
    r->channel->on_data = on_client_data;
    r->channel->on_drain = on_client_drain;
    r->channel->on_close = on_client_close;
    r->channel->arg = r;
    r->ping = loop_timer_new(core_loop(c->core), on_ping, r);
    loop_timer_set(r->ping, PING_NS);
}

static struct err *begin(struct call *c, const json_t *pod, bool is_attach)
{
    AUTO(json_freep) json_t *question = json_object();
    struct node_stream_options o = {.open = question,
                                    .on_data = on_node_data,
                                    .on_drain = on_node_drain,
                                    .on_end = on_node_end};
    struct handshake h = {0};
    struct remote *r = NULL;
    struct err *e = NULL;

    TRY(exec_make_question(c, pod, is_attach, question));
    TRY(exec_read_handshake(c, &h));
    o.node = json_text_at(pod, "spec", "nodeName", NULL);
    r = mem_alloc(sizeof(*r));
    r->has_stdin = json_bool(question, "stdin", false);
    o.arg = r;
    e = node_stream_open(core_links(c->core), &o, &r->stream);
    if (e) {
        remote_free(r);
        return e;
    }
    LOG(INFO, is_attach ? "attached to a container" : "command in a container",
        S("user", c->who.user), S("namespace", c->ns), S("pod", c->name),
        S("container", json_text(question, "container")));
    take_connection(c, r, &h);
    return NULL;
}

static struct err *handle(struct call *c, bool is_attach)
{
    const struct store_object *o =
        store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *pod = NULL;

    if (!o)
        return objects_not_found(c->kind, c->name);
    pod = core_tree(c->core, o);
    return begin(c, pod, is_attach);
}

struct err *handle_pod_exec(struct call *c)
{
    return handle(c, false);
}

struct err *handle_pod_attach(struct call *c)
{
    return handle(c, true);
}
