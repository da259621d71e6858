/*
 * watch_stream.c - the two forms of a watch's stream
 *
 * Over a WebSocket, as in kube-apiserver, each event is a text message; messages of the client are
 * dropped, pings answered. If the client sends without reading, the server stops reading from it.
 */

#include "api/watch_stream.h"

#include "base/mem.h"
#include "client/websocket.h"
#include "http/handshake.h"

enum {
    PIECE_SIZE = 64 << 10,
    CLOSE_NORMAL = 1000,
};

struct watch_stream {
    struct watch_stream_options o;
    struct exchange *x;      /* until begin, or buffered events of a reply */
    struct channel *channel; /* of a WebSocket, after begin */
    struct websocket *socket;
    struct buf piece; /* of a reply */
    char *headers;    /* headers of the handshake's answer; NULL: a reply */
    bool is_paused;   /* reading is paused */
};

/* RFC 6455: the server picks one of the client's subprotocols, or none. For a watch kube-apiserver
 * gives them no meaning. */
static struct err *add_protocol(const struct api_request *r, struct buf *b)
{
    const char *offered = request_header(r, "sec-websocket-protocol");
    struct str rest = str_of(offered);
    struct str first;

    if (!offered)
        return NULL;
    first = str_cut(&rest, ',');
    if (first.size == 0 || memchr(first.at, ' ', first.size))
        return err_new(ERR_BAD_REQUEST, "Sec-WebSocket-Protocol: '%.64s' is no list of words",
                       offered);
    buf_printf(b, "Sec-WebSocket-Protocol: %.*s\r\n", (int)first.size, first.at);
    return NULL;
}

static struct err *read_handshake(const struct api_request *r, struct watch_stream *s)
{
    AUTO(buf_done) struct buf b = {0};
    char accept[WEBSOCKET_ACCEPT_SIZE];

    if (!handshake_is_websocket(r))
        return NULL;
    TRY(handshake_accept(r, accept));
    buf_printf(&b, "Sec-WebSocket-Accept: %s\r\n", accept);
    TRY(add_protocol(r, &b));
    s->headers = buf_steal(&b);
    return NULL;
}

struct err *watch_stream_new(const struct call *c, const struct watch_stream_options *o,
                             struct watch_stream **ret)
{
    struct watch_stream *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->o = *o;
    s->x = c->x;
    e = read_handshake(&c->x->request, s);
    if (e) {
        watch_stream_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void watch_stream_free(struct watch_stream *s)
{
    if (!s)
        return;
    websocket_free(s->socket);
    buf_done(&s->piece);
    free(s->headers);
    free(s);
}

/* ---- a WebSocket ---- */

static void set_pause(struct watch_stream *s, bool is_paused)
{
    if (s->is_paused == is_paused)
        return;
    s->is_paused = is_paused;
    s->channel->ops->pause(s->channel, is_paused);
}

static void on_socket_send(void *arg, struct str bytes)
{
    struct watch_stream *s = arg;

    s->channel->ops->write(s->channel, bytes);
}

static void on_socket_message(void *arg, struct str bytes)
{
    (void)arg;
    (void)bytes;
}

static void on_channel_data(void *arg, struct str bytes)
{
    struct watch_stream *s = arg;
    AUTO(err_freep) struct err *e = websocket_take(s->socket, bytes);

    if (e || websocket_is_closed(s->socket)) {
        s->channel->ops->finish(s->channel);
        s->o.on_close(s->o.arg);
    } else if (s->channel->ops->backlog(s->channel) > API_BACKLOG_MAX) {
        set_pause(s, true);
    }
}

static void on_channel_drain(void *arg)
{
    struct watch_stream *s = arg;

    set_pause(s, false);
    s->o.on_drain(s->o.arg);
}

static void on_channel_close(void *arg)
{
    struct watch_stream *s = arg;

    s->o.on_close(s->o.arg);
}

static void take_connection(struct watch_stream *s)
{
    const struct websocket_options o = {
        .send = on_socket_send, .message = on_socket_message, .arg = s};
    const struct upgrade u = {.protocol = "websocket", .headers = s->headers};

    s->socket = websocket_new(&o);
    s->channel = s->x->ops->upgrade(s->x, &u);
    s->channel->on_data = on_channel_data;
    s->channel->on_drain = on_channel_drain;
    s->channel->on_close = on_channel_close;
    s->channel->arg = s;
}

/* ---- both forms ---- */

void watch_stream_begin(struct watch_stream *s)
{
    const struct api_reply head = {.status = 200, .content_type = "application/json"};

    if (s->headers) {
        take_connection(s);
        return;
    }
    s->x->arg = s->o.arg;
    s->x->on_close = s->o.on_close;
    s->x->on_drain = s->o.on_drain;
    s->x->ops->begin(s->x, &head);
}

void watch_stream_add(struct watch_stream *s, struct str event)
{
    if (s->socket) {
        websocket_send_text(s->socket, event);
        return;
    }
    buf_add(&s->piece, event.at, event.size);
    if (s->piece.size >= PIECE_SIZE)
        watch_stream_flush(s);
}

void watch_stream_flush(struct watch_stream *s)
{
    if (s->piece.size == 0)
        return;
    s->x->ops->piece(s->x, (struct str){.at = s->piece.at, .size = s->piece.size});
    buf_clear(&s->piece);
}

bool watch_stream_is_full(const struct watch_stream *s)
{
    size_t backlog = s->socket ? s->channel->ops->backlog(s->channel) : s->x->ops->backlog(s->x);

    return s->piece.size == 0 && backlog > API_BACKLOG_MAX;
}

void watch_stream_end(struct watch_stream *s)
{
    watch_stream_flush(s);
    if (!s->socket) {
        s->x->ops->end(s->x);
        return;
    }
    websocket_close(s->socket, CLOSE_NORMAL);
    s->channel->ops->finish(s->channel);
}
