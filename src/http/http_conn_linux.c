/* http_conn_linux.c - replies, channels and the end of a connection */

#include "http/http_conn_linux.h"

#include <assert.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/mem.h"
#include "kinds/wire/status.h"

enum {
    STILL_S = 4 * 3600, /* for clients of upgrades with may_stand_still */
    FLUSH_S = 60,       /* for the client to read the last bytes */
    LINGER_S = 5,       /* then for the client to close */
};

struct evbuffer *conn_input(const struct conn *c)
{
    return bufferevent_get_input(c->bev);
}

struct evbuffer *conn_output(const struct conn *c)
{
    return bufferevent_get_output(c->bev);
}

void conn_set_deadline(struct conn *c, int seconds)
{
    const struct timeval after = {.tv_sec = seconds};

    (void)event_add(c->deadline, &after);
}

/* Frees the request; the reply may go on. */
static void forget_request(struct conn *c)
{
    struct request *r = TAKE(c->request);

    c->server->held -= c->held;
    c->held = 0;
    c->exchange.request = (struct api_request){0};
    if (!r)
        return;
    buf_done(&r->body);
    free(r->text);
    free(r);
}

void conn_free(struct conn *c)
{
    struct listener *l = c->listener;
    enum conn_state state = c->state;

    c->state = CONN_DEAD;
    if ((state == CONN_BUSY || state == CONN_STREAM) && c->exchange.on_close)
        c->exchange.on_close(c->exchange.arg);
    if (state == CONN_UPGRADED && c->channel.on_close)
        c->channel.on_close(c->channel.arg);
    forget_request(c);
    LIST_REMOVE(c->server->conns, c);
    event_free(c->deadline);
    event_free(c->resume);
    if (c->hangup)
        event_free(c->hangup);
    bufferevent_free(c->bev);
    tls_peer_done(&c->peer);
    free(c);
    listener_release(l);
}

/* From the logic: no further callbacks; the loop frees the connection in its next turn. */
void conn_kill(struct conn *c)
{
    c->state = CONN_DEAD;
    c->exchange.on_close = NULL;
    (void)bufferevent_disable(c->bev, EV_READ | EV_WRITE);
    event_active(c->resume, EV_READ, 0);
}

/* A write that libevent refuses ends the connection, as if the client had gone. */
void conn_write(struct conn *c, struct str bytes)
{
    if (evbuffer_add(conn_output(c), bytes.at, bytes.size) != 0)
        event_active(c->resume, EV_WRITE, 0);
}

static void conn_write_buf(struct conn *c, const struct buf *b)
{
    conn_write(c, (struct str){.at = b->at, .size = b->size});
}

/* All bytes are with the kernel: signals the end and waits for the client to close. */
void conn_flushed(struct conn *c)
{
    SSL *ssl = listener_ssl(c->listener, c->bev);

    if (ssl)
        (void)SSL_shutdown(ssl); /* best effort: the connection ends either way */
    (void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
    conn_set_deadline(c, LINGER_S);
}

static void linger_begin(struct conn *c)
{
    c->state = CONN_LINGER;
    (void)evbuffer_drain(conn_input(c), evbuffer_get_length(conn_input(c)));
    conn_set_deadline(c, FLUSH_S);
    if (evbuffer_get_length(conn_output(c)) == 0)
        conn_flushed(c);
}

/* The reply is complete: closes, or waits for the next request. */
static void reply_finished(struct conn *c)
{
    forget_request(c);
    if (c->state == CONN_DEAD)
        return;
    if (c->form.wants_close) {
        linger_begin(c);
        return;
    }
    c->state = CONN_HEAD;
    c->has_deadline = false;
    c->scanned = 0;
    conn_set_deadline(c, IDLE_S);
    if (!c->is_advancing)
        event_active(c->resume, EV_READ, 0);
}

static struct conn *conn_of(struct exchange *x)
{
    return (struct conn *)(void *)((char *)x - offsetof(struct conn, exchange));
}

static void exchange_reply(struct exchange *x, const struct api_reply *r)
{
    AUTO(buf_done) struct buf b = {0};
    struct conn *c = conn_of(x);

    assert(c->state == CONN_BUSY || c->state == CONN_HEAD || c->state == CONN_BODY);
    reply_add_whole(&b, &c->form, r);
    conn_write_buf(c, &b);
    reply_finished(c);
}

static void exchange_begin(struct exchange *x, const struct api_reply *r)
{
    AUTO(buf_done) struct buf b = {0};
    struct conn *c = conn_of(x);

    assert(c->state == CONN_BUSY);
    reply_add_stream_head(&b, &c->form, r);
    c->state = CONN_STREAM;
    conn_write_buf(c, &b);
    forget_request(c);
}

static void exchange_piece(struct exchange *x, struct str piece)
{
    struct conn *c = conn_of(x);
    bool is_chunked = reply_is_chunked(&c->form);
    char size[24];

    if (c->form.is_head || piece.size == 0)
        return;
    (void)snprintf(size, sizeof(size), "%zx\r\n", piece.size);
    if (is_chunked)
        conn_write(c, str_of(size));
    conn_write(c, piece);
    if (is_chunked)
        conn_write(c, STR("\r\n"));
}

static void exchange_end(struct exchange *x)
{
    struct conn *c = conn_of(x);

    if (reply_is_chunked(&c->form) && !c->form.is_head)
        conn_write(c, STR("0\r\n\r\n"));
    reply_finished(c);
}

static void exchange_cut(struct exchange *x)
{
    conn_kill(conn_of(x));
}

static size_t exchange_backlog(const struct exchange *x)
{
    const struct conn *c =
        (const struct conn *)(const void *)((const char *)x - offsetof(struct conn, exchange));

    return evbuffer_get_length(conn_output(c));
}

static struct channel *exchange_upgrade(struct exchange *x, const struct upgrade *u)
{
    const struct timeval patience = {.tv_sec = STILL_S};
    AUTO(buf_done) struct buf b = {0};
    struct conn *c = conn_of(x);

    assert(c->state == CONN_BUSY);
    buf_printf(&b,
               "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s\r\n",
               u->protocol, u->headers ? u->headers : "");
    if (u->may_stand_still)
        (void)bufferevent_set_timeouts(c->bev, NULL, &patience);
    conn_write_buf(c, &b);
    if (u->is_local) {
        c->is_local = true;
        c->from.uid = u->uid;
        c->opened_with = x->credentials[0];
        c->form = (struct reply_form){0};
        reply_finished(c);
        return NULL;
    }
    forget_request(c);
    c->state = CONN_UPGRADED;
    event_active(c->resume, EV_READ, 0);
    return &c->channel;
}

const struct exchange_ops conn_exchange_ops = {
    .reply = exchange_reply,
    .begin = exchange_begin,
    .piece = exchange_piece,
    .end = exchange_end,
    .cut = exchange_cut,
    .backlog = exchange_backlog,
    .upgrade = exchange_upgrade,
};

static struct conn *conn_of_channel(struct channel *ch)
{
    return (struct conn *)(void *)((char *)ch - offsetof(struct conn, channel));
}

static void channel_write(struct channel *ch, struct str bytes)
{
    conn_write(conn_of_channel(ch), bytes);
}

static size_t channel_backlog(const struct channel *ch)
{
    const struct conn *c =
        (const struct conn *)(const void *)((const char *)ch - offsetof(struct conn, channel));

    return evbuffer_get_length(conn_output(c));
}

/* A paused channel's client has gone: noticed without reading its bytes. */
static void on_hangup(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    conn_free(arg);
}

static void channel_pause(struct channel *ch, bool is_paused)
{
    struct conn *c = conn_of_channel(ch);

    c->is_paused = is_paused;
    if (is_paused && !c->hangup)
        c->hangup = event_new(c->server->base, bufferevent_getfd(c->bev), EV_CLOSED, on_hangup, c);
    if (is_paused && c->hangup)
        (void)event_add(c->hangup, NULL);
    if (!is_paused && c->hangup)
        (void)event_del(c->hangup);
    if (!is_paused)
        event_active(c->resume, EV_READ, 0);
}

static void channel_finish(struct channel *ch)
{
    struct conn *c = conn_of_channel(ch);

    if (c->is_paused)
        channel_pause(ch, false);
    linger_begin(c);
}

static void channel_close(struct channel *ch)
{
    conn_kill(conn_of_channel(ch));
}

const struct channel_ops conn_channel_ops = {
    .write = channel_write,
    .backlog = channel_backlog,
    .pause = channel_pause,
    .finish = channel_finish,
    .close = channel_close,
};

bool conn_refuse(struct conn *c, int http, const char *reason, const char *message)
{
    AUTO_FREE char *text = status_format_plain(http, reason, message);
    const struct api_reply r = {.status = http, .body = str_of(text), .retry_after_s = http == 503};

    c->form.wants_close = true;
    exchange_reply(&c->exchange, &r);
    return false;
}

bool conn_refuse_error(struct conn *c, struct err *taken)
{
    AUTO(err_freep) struct err *e = taken;

    return conn_refuse(c, err_http(e), err_reason(e), err_message(e));
}
