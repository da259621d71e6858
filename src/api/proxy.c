/*
 * proxy.c - pods/proxy and services/proxy: HTTP requests to ports of pods
 *
 * The request goes over the node's stream, as a forwarded port does, so that it also reaches pods
 * of other machines; the node connects from inside the pod. Each request has a connection of its
 * own. The request's body comes whole (API_BODY_MAX); the answer's is passed on at the client's
 * pace, and what follows an Upgrade (a WebSocket) at the pace of both. As in kube-apiserver the
 * caller's credentials stay here, and Location is rewritten; pages of HTML are not.
 */

#include "api/handlers.h"
#include "api/proxy_private.h"
#include "base/mem.h"
#include "http/handshake.h"
#include "http/tls_pipe.h"

enum {
    PROXY_INPUT_HIGH = 256 << 10, /* above so much input for the node, do not read the client */
};

struct proxy {
    struct exchange *x;      /* NULL: the connection was upgraded */
    struct channel *channel; /* the upgraded connection */
    struct forward_target *target;
    struct forward *forward;  /* NULL: ended */
    struct loop_timer *timer; /* frees the proxy, outside of the forward's callbacks */
    struct tls_pipe *tls;     /* NULL: plain HTTP */
    struct http_answer answer;
    struct err *failed; /* of the answer's bytes */
    struct buf body;    /* bytes of the answer's body that have just come */
    char *prefix;       /* of struct proxy_names */
    char *host;
    char *place;
    char *protocol; /* that the client asks to upgrade to; NULL: none */
    bool is_begun;  /* the client has the head of the answer */
    bool is_held;   /* of an upgraded connection: reading is paused */
    bool is_over;   /* the client's exchange has ended */
};

static void proxy_free(struct proxy *p)
{
    forward_free(p->forward);
    forward_target_free(p->target);
    loop_timer_free(p->timer);
    tls_pipe_free(p->tls);
    err_free(p->failed);
    http_answer_done(&p->answer);
    buf_done(&p->body);
    free(p->prefix);
    free(p->host);
    free(p->place);
    free(p->protocol);
    free(p);
}

static void proxy_on_timer(void *arg)
{
    proxy_free(arg);
}

static void proxy_leave(struct proxy *p)
{
    p->is_over = true;
    loop_timer_set(p->timer, 0);
}

/* ---- to the client ---- */

static void proxy_fail(struct proxy *p, const char *why)
{
    AUTO(err_freep)
    struct err *e = err_new(ERR_UNAVAILABLE, "error trying to reach service: %s", why);

    if (p->channel)
        p->channel->ops->close(p->channel);
    else if (p->is_begun)
        p->x->ops->cut(p->x);
    else
        reply_error(p->x, e, &(struct status_about){0});
    proxy_leave(p);
}

static void proxy_begin_answer(struct proxy *p)
{
    const struct proxy_names names = {.prefix = p->prefix, .host = p->host, .place = p->place};
    const struct http_answer *a = &p->answer;
    AUTO(buf_done) struct buf headers = {0};
    struct api_reply r = {.status = a->status, .is_foreign = true};

    proxy_add_answer_headers(&headers, a, &names);
    r.headers = text_or_empty(headers.at);
    r.has_length = !a->is_chunked && (a->left >= 0 || a->state == ANSWER_OVER);
    p->is_begun = true;
    p->x->ops->begin(p->x, &r);
}

/* The pod has sent what it will. */
static void proxy_end(struct proxy *p)
{
    AUTO(err_freep) struct err *e = http_answer_end(&p->answer);

    if (e) {
        proxy_fail(p, err_message(e));
        return;
    }
    if (p->channel)
        p->channel->ops->finish(p->channel);
    else
        p->x->ops->end(p->x);
    proxy_leave(p);
}

static void proxy_on_drain(void *arg)
{
    struct proxy *p = arg;

    if (p->forward)
        forward_taken(p->forward);
}

static void proxy_on_close(void *arg)
{
    proxy_free(arg);
}

/* ---- an upgraded connection ---- */

static void proxy_send(void *arg, struct str bytes)
{
    struct proxy *p = arg;

    forward_send(p->forward, bytes);
}

/* Stops reading from the client while too much waits for the node. */
static void proxy_pace(struct proxy *p)
{
    bool is_held = forward_backlog(p->forward) >= PROXY_INPUT_HIGH;

    if (p->is_held == is_held)
        return;
    p->is_held = is_held;
    p->channel->ops->pause(p->channel, is_held);
}

static void proxy_on_client_data(void *arg, struct str bytes)
{
    struct proxy *p = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (p->tls)
        e = tls_pipe_send(p->tls, bytes);
    else
        forward_send(p->forward, bytes);
    if (e)
        proxy_fail(p, err_message(e));
    else
        proxy_pace(p);
}

static void proxy_on_pod_drain(void *arg)
{
    struct proxy *p = arg;

    if (p->channel && !p->is_over)
        proxy_pace(p);
}

static void proxy_upgrade(struct proxy *p)
{
    const struct proxy_names names = {.prefix = p->prefix, .host = p->host, .place = p->place};
    AUTO(buf_done) struct buf headers = {0};
    struct upgrade u = {.protocol = p->protocol, .may_stand_still = true};

    proxy_add_answer_headers(&headers, &p->answer, &names);
    u.headers = text_or_empty(headers.at);
    p->is_begun = true;
    p->channel = p->x->ops->upgrade(p->x, &u);
    p->x = NULL;
    p->channel->on_data = proxy_on_client_data;
    p->channel->on_drain = proxy_on_drain;
    p->channel->on_close = proxy_on_close;
    p->channel->arg = p;
}

/* ---- from the pod ---- */

static size_t proxy_backlog(const struct proxy *p)
{
    return p->channel ? p->channel->ops->backlog(p->channel) : p->x->ops->backlog(p->x);
}

/* Takes bytes of the answer; `failed` is set if they are malformed. */
static void proxy_take(void *arg, struct str bytes)
{
    struct proxy *p = arg;

    if (p->is_over || p->failed)
        return;
    p->failed = http_answer_read(&p->answer, bytes, &p->body);
    if (!p->failed && p->answer.status == 101 && !p->protocol)
        p->failed = err_new(ERR_UNAVAILABLE, "the pod changes the protocol unasked");
    if (p->failed)
        return;
    if (!p->is_begun && p->answer.status == 101)
        proxy_upgrade(p);
    else if (!p->is_begun && p->answer.state != ANSWER_HEAD)
        proxy_begin_answer(p);
    if (p->body.size > 0 && p->channel)
        p->channel->ops->write(p->channel, (struct str){p->body.at, p->body.size});
    else if (p->body.size > 0)
        p->x->ops->piece(p->x, (struct str){p->body.at, p->body.size});
    buf_clear(&p->body);
    if (p->answer.state == ANSWER_OVER)
        proxy_end(p);
}

static void proxy_on_data(void *arg, struct str bytes)
{
    struct proxy *p = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (p->is_over)
        return;
    if (p->tls)
        e = tls_pipe_take(p->tls, bytes);
    else
        proxy_take(p, bytes);
    if (p->is_over)
        return;
    if (p->failed || e)
        proxy_fail(p, err_message(p->failed ? p->failed : e));
    else if (proxy_backlog(p) < API_BACKLOG_MAX / 2)
        forward_taken(p->forward);
}

static void proxy_on_data_end(void *arg)
{
    struct proxy *p = arg;

    if (!p->is_over)
        proxy_end(p);
}

static void proxy_on_end(void *arg, const char *message)
{
    struct proxy *p = arg;

    p->forward = NULL;
    if (p->is_over)
        return;
    if (message)
        proxy_fail(p, message);
    else
        proxy_end(p);
}

/* ---- the request ---- */

/* Does the header stay here: of the connection, of the caller's identity, or written anew? */
static bool stays(const struct api_request *r, const char *name)
{
    static const char *const names[] = {"authorization", "content-length",  "expect",
                                        "host",          "x-forwarded-uri", "x-forwarded-for"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(name, names[i]))
            return true;
    return proxy_is_hop(name) || text_starts_with(name, "impersonate-") ||
           handshake_lists(r, "connection", name);
}

/* "10.0.0.7:51234" without its port. */
static struct str address_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');

    return (struct str){peer, colon ? (size_t)(colon - peer) : strlen(peer)};
}

static void add_request(struct buf *b, const struct call *c, const struct proxy *p)
{
    const struct api_request *r = &c->x->request;
    const char *path = *c->rest ? c->rest : "/";

    buf_printf(b, "%s %s%s%s HTTP/1.1\r\nHost: %s\r\n", r->is_head ? "HEAD" : r->method, path,
               *r->query ? "?" : "", r->query, p->host ? p->host : p->place);
    if (p->protocol)
        buf_printf(b, "Connection: Upgrade\r\nUpgrade: %s\r\n", p->protocol);
    else
        buf_add_text(b, "Connection: close\r\n");
    buf_printf(b, "X-Forwarded-Uri: %s%s\r\n", p->prefix, path);
    if (r->peer.address)
        buf_printf(b, "X-Forwarded-For: " STR_FMT "\r\n", STR_ARG(address_of(r->peer.address)));
    for (size_t i = 0; i < r->n_headers; i++)
        if (!stays(r, r->headers[i].name))
            buf_printf(b, "%s: %s\r\n", r->headers[i].name, r->headers[i].value);
    if (r->body.size > 0 || text_starts_with(r->method, "P")) /* POST, PUT, PATCH */
        buf_printf(b, "Content-Length: %zu\r\n", r->body.size);
    buf_add_text(b, "\r\n");
    buf_add(b, r->body.at, r->body.size);
}

/* Sends the request; with TLS it waits for the handshake. */
static struct err *proxy_send_request(struct proxy *p, struct str request, bool is_tls)
{
    const struct tls_pipe_options o = {.send = proxy_send, .data = proxy_take, .arg = p};

    if (!is_tls) {
        forward_send(p->forward, request);
        return NULL;
    }
    TRY(tls_pipe_new(&o, &p->tls));
    return tls_pipe_send(p->tls, request);
}

static struct proxy *proxy_new(struct call *c, const struct proxy_target *t)
{
    const struct api_request *r = &c->x->request;
    const char *host = request_header(r, "host");
    const char *protocol = request_header(r, "upgrade");
    struct proxy *p = mem_alloc(sizeof(*p));

    *p = (struct proxy){.x = c->x,
                        .target = forward_target_new(c, t->object, t->pod),
                        .answer = {.is_of_head = r->is_head, .keeps_headers = true}};
    p->timer = loop_timer_new(core_loop(c->core), proxy_on_timer, p);
    p->prefix = mem_strndup(r->path, (size_t)(c->rest - r->path));
    p->host = host ? mem_strdup(host) : NULL;
    if (protocol && handshake_lists(r, "connection", "upgrade"))
        p->protocol = mem_strdup(protocol);
    p->answer.takes_upgrade = p->protocol != NULL;
    p->place = mem_format("%s:%u", text_or_empty(json_text_at(t->object, "status", "podIP", NULL)),
                          (unsigned)t->port);
    return p;
}

static struct err *proxy_open(struct call *c, const struct proxy_target *t)
{
    struct proxy *p = proxy_new(c, t);
    const struct forward_options o = {.target = p->target,
                                      .port = t->port,
                                      .on_data = proxy_on_data,
                                      .on_data_end = proxy_on_data_end,
                                      .on_drain = proxy_on_pod_drain,
                                      .on_end = proxy_on_end,
                                      .arg = p};
    struct err *e = forward_open(&o, &p->forward);
    AUTO(buf_done) struct buf request = {0};

    if (!e) {
        add_request(&request, c, p);
        e = proxy_send_request(p, (struct str){request.at, request.size}, t->is_tls);
    }
    if (e) {
        proxy_free(p);
        return err_wrap(e, "error trying to reach service");
    }
    p->x->arg = p;
    p->x->on_close = proxy_on_close;
    p->x->on_drain = proxy_on_drain;
    return NULL;
}

/* As kube-apiserver: relative links of a page need the slash. */
static void redirect_to_slash(const struct call *c)
{
    const struct api_request *r = &c->x->request;
    const struct api_reply reply = {.status = 301,
                                    .headers =
                                        arena_format(c->arena, "Location: %s/%s%s\r\n", r->path,
                                                     *r->query ? "?" : "", r->query)};

    c->x->ops->reply(c->x, &reply);
}

static struct err *proxy_handle(struct call *c,
                                struct err *(*find)(struct call *c, struct proxy_target *ret))
{
    const struct api_request *r = &c->x->request;
    struct proxy_target t = {0};
    AUTO(json_freep) json_t *pod = NULL;

    /* A pod's page would be of the web page's origin, and act with its session. */
    if (r->peer.page)
        return err_new(ERR_FORBIDDEN, "the web page leads to no pods: use kubectl proxy");
    TRY(find(c, &t));
    pod = t.object;
    TRY(call_check_pod_user(c, pod));
    if (!*c->rest && text_equal(r->method, "GET") && !handshake_lists(r, "connection", "upgrade")) {
        redirect_to_slash(c);
        return NULL;
    }
    return proxy_open(c, &t);
}

struct err *handle_pod_proxy(struct call *c)
{
    return proxy_handle(c, proxy_find_pod);
}

struct err *handle_service_proxy(struct call *c)
{
    return proxy_handle(c, proxy_find_service);
}
