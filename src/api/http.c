/*
 * A connection is one state machine over a bufferevent: read a head, read a body, hand the request
 * over, write what comes back, begin again. Reading stays enabled in every state, so that a client
 * that goes away is noticed at once, also in the middle of a watch that has nothing to say. Nothing
 * frees a connection but its own events: what the logic ends from outside is marked dead and freed
 * by `resume`.
 */
#include "api/http.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/http_head.h"
#include "api/http_reply.h"
#include "api/status.h"
#include "api/tls.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"

enum {
    INPUT_MAX = 128 << 10,    /* unread bytes of one connection */
    BODIES_MAX = 64 << 20,    /* bodies of all requests that are read or answered */
    CONNECTIONS_MAX = 10000,  /* a listener */
    DESCRIPTORS_SPARED = 128, /* of RLIMIT_NOFILE, for the rest of the process */
    READ_SIZE = 16384,
    IDLE_S = 180, /* between two requests */
    HANDSHAKE_S = 15,
    HEAD_S = 15, /* from its first byte to its last */
    BODY_S = 60,
    WRITE_S = 60, /* without any progress */
    LINGER_S = 5, /* for the client to read a last reply */
};

enum conn_state {
    CONN_HEAD,     /* waits for or reads a request's head */
    CONN_BODY,     /* reads its body */
    CONN_BUSY,     /* the logic has the request */
    CONN_STREAM,   /* the logic writes pieces */
    CONN_UPGRADED, /* the logic has the connection */
    CONN_LINGER,   /* the last reply is written, the rest of the input dropped */
    CONN_DEAD,     /* `resume` frees it */
};

struct http_server;

struct listener {
    struct http_server *server;
    struct evconnlistener *ev;
    struct event *retry; /* accepts again after a failure */
    SSL_CTX *tls;        /* NULL: the unix socket */
    size_t n_conns;
};

/* What is kept while a request is read or answered. */
struct request {
    struct http_head head;
    struct http_chunks chunks;
    struct buf body;
    char *text;
};

struct conn {
    struct exchange exchange;
    struct channel channel;
    struct listener *listener;
    struct bufferevent *bev;
    struct event *deadline;
    struct event *resume;
    struct request *request;
    struct tls_peer peer;
    enum conn_state state;
    uint32_t uid;
    bool is_peer_read;
    bool is_advancing; /* conn_advance is on the stack */
    bool has_deadline; /* of the head that is being read */
    struct reply_form form;
    size_t scanned; /* bytes of the input known not to hold the head's end */
    size_t held;    /* what this connection counts in server->held */
    struct conn *prev, *next;
};

struct http_server {
    struct event_base *base;
    request_fn handle;
    void *arg;
    struct listener unix_door;
    struct listener tls_door;
    struct conn *conns;
    size_t conns_max; /* a listener */
    size_t held;      /* bytes of bodies */
};

static struct evbuffer *conn_input(const struct conn *c)
{
    return bufferevent_get_input(c->bev);
}

static struct evbuffer *conn_output(const struct conn *c)
{
    return bufferevent_get_output(c->bev);
}

static void set_deadline(struct conn *c, int seconds)
{
    const struct timeval after = {.tv_sec = seconds};

    (void)event_add(c->deadline, &after);
}

static void request_free(struct conn *c)
{
    struct request *r = TAKE(c->request);

    c->listener->server->held -= c->held;
    c->held = 0;
    c->exchange.request = (struct api_request){0};
    if (!r)
        return;
    buf_done(&r->body);
    free(r->text);
    free(r);
}

static void listener_resume(struct listener *l)
{
    if (l->ev && l->n_conns < l->server->conns_max)
        (void)evconnlistener_enable(l->ev);
}

static void conn_free(struct conn *c)
{
    struct listener *l = c->listener;
    enum conn_state state = c->state;

    c->state = CONN_DEAD;
    if ((state == CONN_BUSY || state == CONN_STREAM) && c->exchange.on_close)
        c->exchange.on_close(c->exchange.arg);
    if (state == CONN_UPGRADED && c->channel.on_close)
        c->channel.on_close(c->channel.arg);
    request_free(c);
    LIST_REMOVE(l->server->conns, c);
    event_free(c->deadline);
    event_free(c->resume);
    bufferevent_free(c->bev);
    tls_peer_done(&c->peer);
    free(c);
    l->n_conns--;
    listener_resume(l);
}

/* From the logic's side: nothing is called back any more, the memory goes when the loop comes
 * round. */
static void conn_kill(struct conn *c)
{
    c->state = CONN_DEAD;
    c->exchange.on_close = NULL;
    (void)bufferevent_disable(c->bev, EV_READ | EV_WRITE);
    event_active(c->resume, EV_READ, 0);
}

/* A write that libevent does not take breaks the connection, as if the client had gone. */
static void conn_write(struct conn *c, struct str bytes)
{
    if (evbuffer_add(conn_output(c), bytes.at, bytes.size) != 0)
        event_active(c->resume, EV_WRITE, 0);
}

static void conn_write_buf(struct conn *c, const struct buf *b)
{
    conn_write(c, (struct str){.at = b->at, .size = b->size});
}

/* Everything is with the kernel: says so to the client and waits for it to close. */
static void linger_flushed(struct conn *c)
{
    SSL *ssl = c->listener->tls ? bufferevent_openssl_get_ssl(c->bev) : NULL;

    if (ssl)
        (void)SSL_shutdown(ssl); /* best effort: the connection ends either way */
    (void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
    set_deadline(c, LINGER_S);
}

static void linger_begin(struct conn *c)
{
    c->state = CONN_LINGER;
    (void)evbuffer_drain(conn_input(c), evbuffer_get_length(conn_input(c)));
    set_deadline(c, WRITE_S);
    if (evbuffer_get_length(conn_output(c)) == 0)
        linger_flushed(c);
}

/* The reply is written as far as we are concerned. */
static void reply_finished(struct conn *c)
{
    request_free(c);
    if (c->state == CONN_DEAD)
        return;
    if (c->form.wants_close) {
        linger_begin(c);
        return;
    }
    c->state = CONN_HEAD;
    c->has_deadline = false;
    c->scanned = 0;
    set_deadline(c, IDLE_S);
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
    request_free(c);
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

static struct channel *exchange_upgrade(struct exchange *x, const char *protocol)
{
    AUTO(buf_done) struct buf b = {0};
    struct conn *c = conn_of(x);

    assert(c->state == CONN_BUSY);
    buf_printf(&b, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
               protocol);
    request_free(c);
    c->state = CONN_UPGRADED;
    conn_write_buf(c, &b);
    event_active(c->resume, EV_READ, 0);
    return &c->channel;
}

static const struct exchange_ops exchange_ops = {
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

static void channel_close(struct channel *ch)
{
    conn_kill(conn_of_channel(ch));
}

static const struct channel_ops channel_ops = {
    .write = channel_write,
    .backlog = channel_backlog,
    .close = channel_close,
};

/* Answers what never reaches the logic; the connection is closed after it. */
static bool refuse(struct conn *c, int http, const char *reason, const char *message)
{
    AUTO_FREE char *text = status_format_plain(http, reason, message);
    const struct api_reply r = {.status = http, .body = str_of(text), .retry_after_s = http == 503};

    c->form.wants_close = true;
    exchange_reply(&c->exchange, &r);
    return false;
}

static bool refuse_error(struct conn *c, struct err *taken)
{
    AUTO(err_freep) struct err *e = taken;

    return refuse(c, err_http(e), err_reason(e), err_message(e));
}

/* Hands the request over. Returns whether another may follow at once. */
static bool dispatch(struct conn *c)
{
    const struct http_head *head = &c->request->head;
    bool is_head = text_equal(head->method, "HEAD");

    if (c->listener->tls && !c->is_peer_read) {
        struct err *e = tls_peer_read(bufferevent_openssl_get_ssl(c->bev), &c->peer);

        if (e)
            return refuse_error(c, e);
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
        .peer = {.is_unix = !c->listener->tls,
                 .uid = c->uid,
                 .cert_user = c->peer.user,
                 .cert_groups = (const char *const *)c->peer.groups,
                 .n_cert_groups = c->peer.n_groups},
    };
    c->state = CONN_BUSY;
    (void)event_del(c->deadline);
    c->listener->server->handle(c->listener->server->arg, &c->exchange);
    return c->state == CONN_HEAD;
}

/* Counts the body's memory. False: all bodies together are too much, the request was refused. */
static bool account(struct conn *c)
{
    struct http_server *s = c->listener->server;
    size_t held = c->request->body.room;

    s->held = s->held - c->held + held;
    c->held = held;
    if (s->held <= BODIES_MAX)
        return true;
    return refuse(c, 503, "ServiceUnavailable", "too many large requests at once, try again later");
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
        if (!account(c))
            return false;
    }
    return want == 0 && dispatch(c);
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
            return refuse_error(c, e);
        (void)evbuffer_drain(conn_input(c), used);
        if (!account(c))
            return false;
    }
    return dispatch(c);
}

/* The head is read: is there a body, and may it come? */
static bool begin_body(struct conn *c)
{
    struct request *r = c->request;

    r->body.cap = API_BODY_MAX;
    if (r->head.content_length > API_BODY_MAX)
        return refuse(c, 413, "RequestEntityTooLarge", "request body is larger than 3145728 bytes");
    if (!r->head.is_chunked && r->head.content_length <= 0)
        return dispatch(c);
    c->state = CONN_BODY;
    set_deadline(c, BODY_S);
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
        return refuse(c, 500, "InternalError", "the request could not be read");
    e = http_head_parse(r->text, size, &r->head);
    c->form = (struct reply_form){.wants_close = r->head.wants_close,
                                  .is_http10 = r->head.is_http10,
                                  .is_head = !e && text_equal(r->head.method, "HEAD")};
    if (e)
        return refuse_error(c, e);
    return begin_body(c);
}

/* Empty lines before a request are passed over (RFC 9112, 2.2). False: what is there may become
 * one. */
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
        set_deadline(c, HEAD_S);
    }
    (void)evbuffer_ptr_set(in, &at, c->scanned, EVBUFFER_PTR_SET);
    at = evbuffer_search(in, "\r\n\r\n", 4, &at);
    c->form = (struct reply_form){0};
    if (at.pos + 4 > API_HEAD_MAX || (at.pos < 0 && size >= API_HEAD_MAX))
        return refuse(c, 431, "RequestHeaderFieldsTooLarge",
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

/* Input of an upgraded connection, in bounded portions; the logic may end the connection at any. */
static void deliver(struct conn *c)
{
    char bytes[READ_SIZE];

    while (c->state == CONN_UPGRADED) {
        int n = evbuffer_remove(conn_input(c), bytes, sizeof(bytes));

        if (n <= 0)
            return;
        c->channel.on_data(c->channel.arg, (struct str){.at = bytes, .size = (size_t)n});
    }
}

static void on_input(struct conn *c)
{
    size_t size = evbuffer_get_length(conn_input(c));

    switch (c->state) {
    case CONN_HEAD:
    case CONN_BODY:
        conn_advance(c);
        break;
    case CONN_STREAM:
        /* Reading must not stop, or the client's end would go unseen: who sends more than a little
         * is cut. */
        if (size > API_HEAD_MAX)
            conn_free(c);
        break;
    case CONN_UPGRADED:
        deliver(c);
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
    on_input(arg);
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (c->state == CONN_STREAM && c->exchange.on_drain)
        c->exchange.on_drain(c->exchange.arg);
    else if (c->state == CONN_UPGRADED && c->channel.on_drain)
        c->channel.on_drain(c->channel.arg);
    else if (c->state == CONN_LINGER)
        linger_flushed(c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (what & BEV_EVENT_CONNECTED) {
        set_deadline(c, IDLE_S);
        return;
    }
    conn_free(c);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;

    (void)fd;
    (void)what;
    if (c->state == CONN_BODY || (c->state == CONN_HEAD && c->has_deadline))
        (void)refuse(c, 408, "Timeout", "the request did not arrive in time");
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
        on_input(c);
}

static uint32_t peer_uid(int fd)
{
    struct ucred cred = {.uid = UINT32_MAX};
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0)
        return UINT32_MAX; /* nobody has this uid */
    return cred.uid;
}

/* A watcher whose machine lost its power is noticed by keep-alive probes. */
static void set_tcp_options(int fd)
{
    const int on = 1;
    const int idle_s = 60;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
}

static struct bufferevent *bufferevent_of(struct listener *l, int fd)
{
    struct event_base *base = l->server->base;
    struct bufferevent *bev;
    SSL *ssl;

    if (!l->tls)
        return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    set_tcp_options(fd);
    ssl = SSL_new(l->tls);
    if (!ssl)
        return NULL;
    bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                         BEV_OPT_CLOSE_ON_FREE);
    if (!bev)
        SSL_free(ssl);
    else
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

static void conn_start(struct conn *c)
{
    const struct timeval write_limit = {.tv_sec = WRITE_S};

    bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, INPUT_MAX);
    (void)bufferevent_set_timeouts(c->bev, NULL, &write_limit);
    set_deadline(c, c->listener->tls ? HANDSHAKE_S : IDLE_S);
    if (bufferevent_enable(c->bev, EV_READ | EV_WRITE) != 0)
        conn_kill(c);
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *arg)
{
    struct listener *l = arg;
    struct bufferevent *bev = bufferevent_of(l, fd);
    struct conn *c;

    (void)address;
    (void)size;
    if (!bev) {
        (void)close(fd);
        return;
    }
    c = mem_alloc(sizeof(*c));
    c->exchange.ops = &exchange_ops;
    c->channel.ops = &channel_ops;
    c->listener = l;
    c->bev = bev;
    c->uid = l->tls ? 0 : peer_uid(fd);
    c->deadline = event_new(l->server->base, -1, 0, on_deadline, c);
    c->resume = event_new(l->server->base, -1, 0, on_resume, c);
    LIST_ADD(l->server->conns, c);
    if (++l->n_conns >= l->server->conns_max)
        (void)evconnlistener_disable(ev); /* the others wait in the backlog */
    conn_start(c);
}

static void on_accept_error(struct evconnlistener *ev, void *arg)
{
    const struct timeval pause = {.tv_usec = 200000};
    struct listener *l = arg;

    LOG(WARN, "accept failed", S("why", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())));
    (void)evconnlistener_disable(ev);
    (void)event_add(l->retry, &pause);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    listener_resume(arg);
}

static struct err *listener_init(struct listener *l, struct http_server *s, int fd)
{
    l->server = s;
    if (fd < 0)
        return NULL;
    if (evutil_make_socket_nonblocking(fd) != 0)
        return err_new(ERR_INTERNAL, "cannot use listening socket %d", fd);
    l->ev = evconnlistener_new(s->base, on_accept, l, LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    l->retry = event_new(s->base, -1, 0, on_retry, l);
    if (!l->ev || !l->retry)
        return err_new(ERR_INTERNAL, "cannot wait for connections on socket %d", fd);
    evconnlistener_set_error_cb(l->ev, on_accept_error);
    return NULL;
}

static void listener_done(struct listener *l)
{
    if (l->ev)
        evconnlistener_free(l->ev);
    if (l->retry)
        event_free(l->retry);
    SSL_CTX_free(l->tls);
    *l = (struct listener){0};
}

static size_t connections_max(void)
{
    struct rlimit limit = {.rlim_cur = 1024};
    size_t half;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    half = limit.rlim_cur > 2 * DESCRIPTORS_SPARED ? (limit.rlim_cur - DESCRIPTORS_SPARED) / 2 : 64;
    return half < CONNECTIONS_MAX ? half : CONNECTIONS_MAX;
}

struct err *http_server_new(const struct http_options *o, struct http_server **ret)
{
    struct http_server *s = mem_alloc(sizeof(*s));
    struct err *e = NULL;

    s->base = loop_linux_base(o->loop);
    s->handle = o->handle;
    s->arg = o->arg;
    s->conns_max = connections_max();
    if (o->tls_fd >= 0)
        e = tls_context_new(o->pki_dir, &s->tls_door.tls);
    if (!e)
        e = listener_init(&s->unix_door, s, o->unix_fd);
    if (!e)
        e = listener_init(&s->tls_door, s, o->tls_fd);
    if (e) {
        http_server_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void http_server_free(struct http_server *s)
{
    struct conn *c;

    if (!s)
        return;
    s->conns_max = 0;
    LIST_EACH (s->conns, c)
        conn_free(c);
    listener_done(&s->unix_door);
    listener_done(&s->tls_door);
    free(s);
}
