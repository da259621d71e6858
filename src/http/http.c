/*
 * http.c - the state machine of a connection
 *
 * A connection is a state machine over a bufferevent: read a head, read a body, pass the request to
 * the logic, write the reply, begin again. Reading stays enabled in every state, so that the end of
 * a client is noticed at once, also during a silent watch. Only its own events free a connection:
 * if the logic ends one, it is marked dead, and `resume` frees it.
 */

#include "http/http.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <string.h>

#include "base/list.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "http/http_conn_linux.h"

enum {
    INPUT_MAX = 128 << 10, /* unread bytes of one connection */
    BODIES_MAX = 32 << 20, /* bodies of all requests that are being read or answered */
    SMALL_BODY = 64 << 10, /* accepted also past BODIES_MAX, so that large slow uploads do not block
                              other clients */
    READ_SIZE = 16384,
    HANDSHAKE_S = 15,
    HEAD_S = 15, /* from the first byte of a head to the last */
    BODY_S = 60,
    WRITE_S = 60, /* without progress */
};

/* Passes the request to the logic. May the next request follow at once? */
static bool conn_dispatch(struct conn *c)
{
    const struct http_head *head = &c->request->head;
    bool is_head = text_equal(head->method, "HEAD");
    SSL *ssl = listener_ssl(c->listener, c->bev);

    if (ssl && !c->is_peer_read && !c->door->is_anonymous) {
        struct err *e = tls_peer_read(ssl, &c->peer);

        if (e)
            return conn_refuse_error(c, e);
        c->is_peer_read = true;
    }
    c->exchange.on_close = NULL;
    c->exchange.on_drain = NULL;
    c->exchange.request = (struct api_request){
        .method = is_head ? "GET" : head->method,
        .path = head->path,
        .query = head->query,
        .is_head = is_head,
        .headers = head->headers,
        .n_headers = head->n_headers,
        .body = {.at = c->request->body.at, .size = c->request->body.size},
        .peer = {.is_unix = c->door->is_unix || c->is_local,
                 .uid = c->from.uid,
                 .address = *c->from.address ? c->from.address : NULL},
    };
    if (!c->is_local) {
        c->exchange.request.peer.cert_user = c->peer.user;
        c->exchange.request.peer.cert_groups = (const char *const *)c->peer.groups;
        c->exchange.request.peer.n_cert_groups = c->peer.n_groups;
        c->exchange.request.peer.cert_issuer = c->peer.issuer;
    }
    c->state = CONN_BUSY;
    (void)event_del(c->deadline);
    c->door->handle(c->door->arg, &c->exchange);
    return c->state == CONN_HEAD;
}

/* Counts the body's memory. False: all bodies together exceed BODIES_MAX, and the request was
 * refused. */
static bool conn_account(struct conn *c)
{
    struct http_server *s = c->server;
    size_t held = c->request->body.room;

    s->held = s->held - c->held + held;
    c->held = held;
    if (s->held <= BODIES_MAX || held <= SMALL_BODY)
        return true;
    return conn_refuse(c, 503, "ServiceUnavailable",
                       "too many large requests at once, try again later");
}

static bool step_plain_body(struct conn *c)
{
    struct request *r = c->request;
    size_t want = (size_t)r->head.content_length - r->body.size;
    char bytes[READ_SIZE];

    while (want > 0) {
        int n = evbuffer_remove(conn_input(c), bytes, want < sizeof(bytes) ? want : sizeof(bytes));

        if (n <= 0)
            break;
        buf_add(&r->body, bytes, (size_t)n);
        want -= (size_t)n;
        if (!conn_account(c))
            return false;
    }
    return want == 0 && conn_dispatch(c);
}

static bool step_chunked_body(struct conn *c)
{
    struct request *r = c->request;
    char bytes[READ_SIZE];

    while (r->chunks.state != CHUNK_DONE) {
        ev_ssize_t n = evbuffer_copyout(conn_input(c), bytes, sizeof(bytes));
        struct err *e;
        size_t used = 0;

        if (n <= 0)
            return false;
        e = http_chunks_read(&r->chunks, (struct str){.at = bytes, .size = (size_t)n}, &r->body,
                             &used);
        if (e)
            return conn_refuse_error(c, e);
        (void)evbuffer_drain(conn_input(c), used);
        if (!conn_account(c))
            return false;
    }
    return conn_dispatch(c);
}

/* After the head: starts reading the body, if the request has one and may send it. */
static bool begin_body(struct conn *c)
{
    struct request *r = c->request;

    r->body.cap = API_BODY_MAX;
    if (r->head.content_length > API_BODY_MAX)
        return conn_refuse(c, 413, "RequestEntityTooLarge",
                           "request body is larger than 3145728 bytes");
    if (!r->head.is_chunked && r->head.content_length <= 0)
        return conn_dispatch(c);
    c->state = CONN_BODY;
    conn_set_deadline(c, BODY_S);
    if (r->head.wants_continue) {
        conn_write(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    }
    return c->state == CONN_BODY;
}

static bool take_head(struct conn *c, size_t size)
{
    struct request *r = mem_alloc(sizeof(*r));
    struct err *e;

    c->request = r;
    r->text = mem_alloc(size + 1);
    if (evbuffer_remove(conn_input(c), r->text, size) != (int)size)
        return conn_refuse(c, 500, "InternalError", "the request could not be read");
    e = http_head_parse(r->text, size, &r->head);
    c->form = (struct reply_form){.wants_close = r->head.wants_close,
                                  .is_http10 = r->head.is_http10,
                                  .is_head = !e && text_equal(r->head.method, "HEAD")};
    if (e)
        return conn_refuse_error(c, e);
    return begin_body(c);
}

/* Skips empty lines before a request (RFC 9112, 2.2). False: the input may be the start of an empty
 * line. */
static bool skip_empty_lines(struct conn *c)
{
    struct evbuffer *in = conn_input(c);
    char line[2] = "";

    while (evbuffer_copyout(in, line, 2) == 2 && memcmp(line, "\r\n", 2) == 0)
        (void)evbuffer_drain(in, 2);
    return evbuffer_get_length(in) > 1 || line[0] != '\r';
}

static bool step_head(struct conn *c)
{
    struct evbuffer *in = conn_input(c);
    struct evbuffer_ptr at;
    size_t size;

    if (c->scanned == 0 && !skip_empty_lines(c))
        return false;
    size = evbuffer_get_length(in);
    if (size == 0)
        return false;
    if (!c->has_deadline) {
        c->has_deadline = true;
        conn_set_deadline(c, HEAD_S);
    }
    (void)evbuffer_ptr_set(in, &at, c->scanned, EVBUFFER_PTR_SET);
    at = evbuffer_search(in, "\r\n\r\n", 4, &at);
    c->form = (struct reply_form){0};
    if (at.pos + 4 > API_HEAD_MAX || (at.pos < 0 && size >= API_HEAD_MAX))
        return conn_refuse(c, 431, "RequestHeaderFieldsTooLarge",
                           "the request's head is larger than 65536 bytes");
    if (at.pos < 0) {
        c->scanned = size > 3 ? size - 3 : 0;
        return false;
    }
    return take_head(c, (size_t)at.pos + 4);
}

static bool conn_step(struct conn *c)
{
    if (c->state == CONN_HEAD)
        return step_head(c);
    if (c->state != CONN_BODY)
        return false;
    return c->request->head.is_chunked ? step_chunked_body(c) : step_plain_body(c);
}

static void conn_advance(struct conn *c)
{
    if (c->is_advancing)
        return;
    c->is_advancing = true;
    while (conn_step(c))
        continue;
    c->is_advancing = false;
}

/* Gives the logic an upgraded connection's input, in bounded portions; each of them may end the
 * connection. */
static void conn_deliver(struct conn *c)
{
    char bytes[READ_SIZE];

    while (c->state == CONN_UPGRADED && !c->is_paused) {
        int n = evbuffer_remove(conn_input(c), bytes, sizeof(bytes));

        if (n <= 0)
            return;
        c->channel.on_data(c->channel.arg, (struct str){.at = bytes, .size = (size_t)n});
    }
}

static void http_on_input(struct conn *c)
{
    size_t size = evbuffer_get_length(conn_input(c));

    switch (c->state) {
    case CONN_HEAD:
    case CONN_BODY:
        conn_advance(c);
        break;
    case CONN_STREAM:
        /* Reading must not stop, or the client's end would go unnoticed. A client that sends more
         * than a request's head is cut. */
        if (size > API_HEAD_MAX)
            conn_free(c);
        break;
    case CONN_UPGRADED:
        conn_deliver(c);
        break;
    case CONN_LINGER:
        (void)evbuffer_drain(conn_input(c), size);
        break;
    case CONN_BUSY:
    case CONN_DEAD:
        break;
    }
}

static void on_read(struct bufferevent *bev, void *arg)
{
    (void)bev;
    http_on_input(arg);
}

static void http_on_written(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (c->state == CONN_STREAM && c->exchange.on_drain)
        c->exchange.on_drain(c->exchange.arg);
    else if (c->state == CONN_UPGRADED && c->channel.on_drain)
        c->channel.on_drain(c->channel.arg);
    else if (c->state == CONN_LINGER)
        conn_flushed(c);
}

static void http_on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (what & BEV_EVENT_CONNECTED) {
        conn_set_deadline(c, IDLE_S);
        return;
    }
    conn_free(c);
}

static void http_on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;

    (void)fd;
    (void)what;
    if (c->state == CONN_BODY || (c->state == CONN_HEAD && c->has_deadline))
        (void)conn_refuse(c, 408, "Timeout", "the request did not arrive in time");
    else
        conn_free(c);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;

    (void)fd;
    if (c->state == CONN_DEAD || (what & EV_WRITE))
        conn_free(c);
    else
        http_on_input(c);
}

static void conn_start(struct conn *c)
{
    const struct timeval write_limit = {.tv_sec = WRITE_S};

    bufferevent_setcb(c->bev, on_read, http_on_written, http_on_event, c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, INPUT_MAX);
    (void)bufferevent_set_timeouts(c->bev, NULL, &write_limit);
    conn_set_deadline(c, listener_ssl(c->listener, c->bev) ? HANDSHAKE_S : IDLE_S);
    if (bufferevent_enable(c->bev, EV_READ | EV_WRITE) != 0)
        conn_kill(c);
}

static void on_connection(void *arg, struct listener *l, struct bufferevent *bev,
                          const struct listener_peer *peer)
{
    const struct door *d = arg;
    struct http_server *s = d->server;
    struct conn *c = mem_alloc(sizeof(*c));

    c->exchange.ops = &conn_exchange_ops;
    c->channel.ops = &conn_channel_ops;
    c->server = s;
    c->door = d;
    c->listener = l;
    c->bev = bev;
    c->from = *peer;
    c->deadline = event_new(s->base, -1, 0, http_on_deadline, c);
    c->resume = event_new(s->base, -1, 0, on_resume, c);
    LIST_ADD(s->conns, c);
    conn_start(c);
}

/* Opens a door on a listening socket; `fd` -1: none. */
static struct err *door_open(struct http_server *s, const struct door *made, int fd,
                             const char *pki_dir, const struct tls_files *files)
{
    struct door *d = &s->doors[s->n_doors];
    struct listener_options o = {.base = s->base,
                                 .fd = fd,
                                 .is_unix = made->is_unix,
                                 .on_connection = on_connection,
                                 .arg = d};
    struct err *e;

    if (fd < 0)
        return NULL;
    *d = *made;
    d->server = s;
    if (files)
        TRY(tls_context_new_files(files, &o.tls));
    else if (pki_dir)
        TRY(tls_context_new(pki_dir, &o.tls));
    e = listener_new(&o, &d->listener);
    if (e)
        SSL_CTX_free(o.tls); /* accepts NULL */
    else
        s->n_doors++;
    return e;
}

static struct err *open_doors(struct http_server *s, const struct http_options *o)
{
    const struct door of_uids = {.handle = o->handle, .arg = o->arg, .is_unix = true};
    const struct door of_tls = {.handle = o->handle, .arg = o->arg};

    assert(o->n_doors <= HTTP_DOORS_MAX);
    TRY(door_open(s, &of_uids, o->unix_fd, NULL, NULL));
    TRY(door_open(s, &of_tls, o->tls_fd, o->pki_dir, NULL));
    if (o->pods_fd > 0)
        TRY(door_open(s, &of_tls, o->pods_fd, o->pki_dir, NULL));
    for (size_t i = 0; i < o->n_doors; i++) {
        const struct http_door *at = &o->doors[i];
        const struct door other = {.handle = at->handle, .arg = at->arg, .is_anonymous = true};

        TRY(door_open(s, &other, at->fd,
                      !at->is_tls   ? NULL
                      : at->pki_dir ? at->pki_dir
                                    : o->pki_dir,
                      at->files));
    }
    return NULL;
}

struct err *http_server_new(const struct http_options *o, struct http_server **ret)
{
    struct http_server *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->base = loop_linux_base(o->loop);
    e = open_doors(s, o);
    if (e) {
        http_server_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void http_server_cut(struct http_server *s, uint64_t credential)
{
    struct conn *c;

    LIST_EACH (s->conns, c)
        if (c->exchange.credentials[0] == credential || c->exchange.credentials[1] == credential ||
            c->opened_with == credential)
            event_active(c->resume, EV_WRITE, 0);
}

void http_server_free(struct http_server *s)
{
    struct conn *c;

    if (!s)
        return;
    LIST_EACH (s->conns, c)
        conn_free(c);
    for (size_t i = 0; i < s->n_doors; i++)
        listener_free(s->doors[i].listener);
    free(s);
}
