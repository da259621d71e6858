/* session_conn.c - the client's connection of exec, attach and port-forward */

#include "api/session_conn.h"

#include <strings.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "http/handshake.h"
#include "kinds/kind/value.h"

enum {
    CLOSE_NORMAL = 1000,
    BASE64_PIECE = 48 << 10 /* bytes of a message */
};

static const int64_t PING_NS = 30 * NS_PER_SEC;
static const int64_t FINISH_NS = 15 * NS_PER_SEC; /* for the client to close a SPDY session */

struct session_conn {
    struct session_conn_options o;
    struct channel *channel;
    struct websocket *socket; /* NULL: plain SPDY */
    struct spdy *spdy;        /* NULL: channels */
    struct loop_timer *timer; /* pings, then the end */
    struct err *failed;       /* a message of the WebSocket broke its protocol */
    bool is_base64;
    bool is_held;   /* the user paused reading */
    bool is_behind; /* paused because the client does not read */
    bool is_paused;
    bool is_finishing; /* the user has finished */
};

/* ---- the handshake ---- */

static const char *choose(const struct api_request *r, const char *header,
                          const char *const *protocols)
{
    for (size_t i = 0; protocols[i]; i++)
        if (handshake_lists(r, header, protocols[i]))
            return protocols[i];
    return NULL;
}

static char *words_join(const char *const *words)
{
    struct buf b = {0};

    for (size_t i = 0; words[i]; i++)
        buf_printf(&b, "%s%s", i > 0 ? ", " : "", words[i]);
    return buf_steal(&b);
}

static struct err *read_websocket(const struct call *c, const struct session_protocols *p,
                                  struct handshake *h)
{
    const struct api_request *r = &c->x->request;
    AUTO_FREE char *words = words_join(p->channels);

    TRY(handshake_accept(r, h->accept));
    h->is_websocket = true;
    if (p->tunnel && handshake_lists(r, "sec-websocket-protocol", p->tunnel)) {
        h->protocol = p->tunnel;
        h->is_spdy = true;
        return NULL;
    }
    h->protocol = choose(r, "sec-websocket-protocol", p->channels);
    h->is_base64 = h->protocol && strstr(h->protocol, "base64.");
    if (h->protocol || (p->is_unnamed_socket && !request_header(r, "sec-websocket-protocol")))
        return NULL;
    return err_new(ERR_BAD_REQUEST, "want Sec-WebSocket-Protocol %s%s%s", words,
                   p->tunnel ? " or " : "", p->tunnel ? p->tunnel : "");
}

static struct err *read_spdy(const struct call *c, const struct session_protocols *p,
                             struct handshake *h)
{
    const struct api_request *r = &c->x->request;
    AUTO_FREE char *words = words_join(p->spdy);

    h->is_spdy = true;
    h->protocol = choose(r, "x-stream-protocol-version", p->spdy);
    if (h->protocol || (p->is_unnamed_spdy && !request_header(r, "x-stream-protocol-version")))
        return NULL;
    return err_new(ERR_FORBIDDEN,
                   "unable to upgrade: want X-Stream-Protocol-Version %s, the client has %.64s",
                   words,
                   request_header(r, "x-stream-protocol-version")
                       ? request_header(r, "x-stream-protocol-version")
                       : "none");
}

struct err *session_read_handshake(const struct call *c, const struct session_protocols *p,
                                   struct handshake *ret)
{
    const struct api_request *r = &c->x->request;
    const char *upgrade = request_header(r, "upgrade");
    struct handshake h = {0};

    if (handshake_is_websocket(r))
        TRY(read_websocket(c, p, &h));
    else if (handshake_lists(r, "upgrade", "SPDY/3.1") &&
             handshake_lists(r, "connection", "upgrade"))
        TRY(read_spdy(c, p, &h));
    else
        return err_new(ERR_BAD_REQUEST,
                       "%s needs a WebSocket or SPDY/3.1 by Upgrade; this client asked for %.64s",
                       c->subresource, upgrade ? upgrade : "none");
    *ret = h;
    return NULL;
}

/* ---- the end ---- */

void session_conn_free(struct session_conn *s)
{
    loop_timer_free(s->timer);
    websocket_free(s->socket);
    spdy_free(s->spdy);
    err_free(s->failed);
    free(s);
}

/* The connection has gone, or was finished. */
static void conn_gone(struct session_conn *s)
{
    if (s->is_finishing)
        session_conn_free(s);
    else
        s->o.on_close(s->o.arg);
}

static void conn_say_goodbye(struct session_conn *s)
{
    if (s->spdy)
        spdy_go_away(s->spdy);
    if (s->socket)
        websocket_close(s->socket, CLOSE_NORMAL);
    s->channel->ops->finish(s->channel);
}

void session_conn_finish(struct session_conn *s)
{
    s->is_finishing = true;
    if (s->spdy) { /* a client drops frames after a GOAWAY: let it close first */
        session_conn_pause(s, false);
        loop_timer_set(s->timer, FINISH_NS);
        return;
    }
    conn_say_goodbye(s);
    session_conn_free(s);
}

static void session_conn_on_timer(void *arg)
{
    struct session_conn *s = arg;

    if (s->is_finishing) {
        conn_say_goodbye(s);
        session_conn_free(s);
        return;
    }
    if (s->socket)
        websocket_ping(s->socket);
    else
        spdy_ping(s->spdy);
    loop_timer_set(s->timer, PING_NS);
}

/* ---- reading ---- */

static void conn_apply_pause(struct session_conn *s)
{
    bool is_paused = s->is_held || s->is_behind;

    if (s->is_paused == is_paused)
        return;
    s->is_paused = is_paused;
    s->channel->ops->pause(s->channel, is_paused);
}

void session_conn_pause(struct session_conn *s, bool is_paused)
{
    s->is_held = is_paused;
    conn_apply_pause(s);
}

static void session_conn_on_client_data(void *arg, struct str bytes)
{
    struct session_conn *s = arg;
    AUTO(err_freep)
    struct err *e = s->socket ? websocket_take(s->socket, bytes) : spdy_take(s->spdy, bytes);

    if (e || s->failed || (s->socket && websocket_is_closed(s->socket)) ||
        (s->spdy && spdy_is_over(s->spdy))) {
        s->channel->ops->finish(s->channel);
        conn_gone(s);
        return;
    }
    s->is_behind = s->channel->ops->backlog(s->channel) > API_BACKLOG_MAX;
    conn_apply_pause(s);
}

static void session_conn_on_client_drain(void *arg)
{
    struct session_conn *s = arg;

    s->is_behind = false;
    conn_apply_pause(s);
    if (!s->is_finishing)
        s->o.on_drain(s->o.arg);
}

static void on_client_close(void *arg)
{
    conn_gone(arg);
}

/* A message of a base64 protocol: the channel's digit, then the bytes. */
static void conn_take_base64(struct session_conn *s, struct str text)
{
    struct str coded = {text.at + 1, text.size - 1};
    AUTO(buf_done) struct buf b = {0};
    size_t bad = 0;

    if (*text.at < '0' || *text.at > '9' || !base64_check(coded, &bad)) {
        s->failed = err_new(ERR_BAD_REQUEST, "a message is no digit and base64");
        return;
    }
    base64_decode(coded, &b);
    s->o.message(s->o.arg, (unsigned)(*text.at - '0'), (struct str){b.at, b.size});
}

static void session_conn_on_message(void *arg, struct str bytes)
{
    struct session_conn *s = arg;

    if (s->failed || bytes.size == 0)
        return;
    if (s->spdy)
        s->failed = spdy_take(s->spdy, bytes);
    else if (s->o.message && s->is_base64)
        conn_take_base64(s, bytes);
    else if (s->o.message)
        s->o.message(s->o.arg, (unsigned char)bytes.at[0],
                     (struct str){bytes.at + 1, bytes.size - 1});
}

static void session_conn_on_opened(void *arg, uint32_t stream, const struct spdy_header *headers,
                                   size_t n)
{
    struct session_conn *s = arg;

    if (s->is_finishing)
        spdy_reset(s->spdy, stream, SPDY_REFUSED_STREAM);
    else
        s->o.opened(s->o.arg, stream, headers, n);
}

static void on_data(void *arg, uint32_t stream, struct str bytes)
{
    struct session_conn *s = arg;

    spdy_taken(s->spdy, stream, bytes.size); /* backlogs pause the whole connection instead */
    if (!s->is_finishing)
        s->o.data(s->o.arg, stream, bytes);
}

static void on_ended(void *arg, uint32_t stream)
{
    struct session_conn *s = arg;

    if (!s->is_finishing)
        s->o.ended(s->o.arg, stream);
}

static void on_reset(void *arg, uint32_t stream)
{
    struct session_conn *s = arg;

    if (!s->is_finishing)
        s->o.reset(s->o.arg, stream);
}

static void on_drained(void *arg, uint32_t stream)
{
    struct session_conn *s = arg;

    if (!s->is_finishing)
        s->o.drained(s->o.arg, stream);
}

/* ---- writing ---- */

static void on_socket_send(void *arg, struct str bytes)
{
    struct session_conn *s = arg;

    s->channel->ops->write(s->channel, bytes);
}

static void on_spdy_send(void *arg, struct str bytes)
{
    struct session_conn *s = arg;

    if (s->socket)
        websocket_send_binary(s->socket, bytes);
    else
        s->channel->ops->write(s->channel, bytes);
}

/* Sends `bytes` in base64; `prefix` is the channel's digit, or "". */
static void conn_send_base64(struct session_conn *s, const char *prefix, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    do {
        size_t size = bytes.size < BASE64_PIECE ? bytes.size : BASE64_PIECE;

        buf_clear(&b);
        buf_add_text(&b, prefix);
        base64_encode((struct str){bytes.at, size}, &b);
        websocket_send_text(s->socket, (struct str){b.at, b.size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    } while (bytes.size > 0);
}

void session_conn_send_plain(struct session_conn *s, struct str bytes)
{
    if (s->is_base64)
        conn_send_base64(s, "", bytes);
    else
        websocket_send_binary(s->socket, bytes);
}

void session_conn_send(struct session_conn *s, unsigned channel, struct str bytes)
{
    const char digit[2] = {(char)('0' + channel % 10), '\0'};

    if (s->is_base64)
        conn_send_base64(s, digit, bytes);
    else
        websocket_send(s->socket, (unsigned char)channel, bytes);
}

struct spdy *session_conn_spdy(const struct session_conn *s)
{
    return s->spdy;
}

bool session_conn_is_full(const struct session_conn *s)
{
    return s->channel->ops->backlog(s->channel) >= API_BACKLOG_MAX / 2;
}

/* ---- opening ---- */

static const char *answer_headers(struct call *c, const struct handshake *h)
{
    const char *name = h->is_websocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version";
    const char *protocol =
        h->protocol ? arena_format(c->arena, "%s: %s\r\n", name, h->protocol) : "";

    if (!h->is_websocket)
        return protocol;
    return arena_format(c->arena, "Sec-WebSocket-Accept: %s\r\n%s", h->accept, protocol);
}

struct session_conn *session_conn_new(struct call *c, const struct handshake *h,
                                      const struct session_conn_options *o)
{
    struct session_conn *s = mem_alloc(sizeof(*s));
    const struct websocket_options wo = {
        .send = on_socket_send, .message = session_conn_on_message, .arg = s};
    const struct spdy_options so = {.send = on_spdy_send,
                                    .opened = session_conn_on_opened,
                                    .data = on_data,
                                    .ended = on_ended,
                                    .reset = on_reset,
                                    .drained = on_drained,
                                    .arg = s};
    const struct upgrade u = {.protocol = h->is_websocket ? "websocket" : "SPDY/3.1",
                              .headers = answer_headers(c, h),
                              .may_stand_still = true};

    s->o = *o;
    s->is_base64 = h->is_base64;
    s->socket = h->is_websocket ? websocket_new(&wo) : NULL;
    s->spdy = h->is_spdy ? spdy_new(&so) : NULL;
    s->channel = c->x->ops->upgrade(c->x, &u);
    s->channel->on_data = session_conn_on_client_data;
    s->channel->on_drain = session_conn_on_client_drain;
    s->channel->on_close = on_client_close;
    s->channel->arg = s;
    s->timer = loop_timer_new(core_loop(c->core), session_conn_on_timer, s);
    loop_timer_set(s->timer, PING_NS);
    return s;
}
