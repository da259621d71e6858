/* forward.c - exchanges between the page and the API */

#include "page/forward.h"

#include <strings.h>

#include "base/mem.h"
#include "base/vec.h"
#include "http/relay.h"

enum {
    ANSWER_MAX = 8 << 20 /* of forward_get */
};

/* The request that the API sees. */
struct forward_copy {
    struct credential who;
    VEC(struct http_header) headers;
};

/* ---- requests ---- */

static bool header_passes(const char *name)
{
    static const char *const held[] = {"authorization", "cookie", "connection", "upgrade"};

    for (size_t i = 0; i < COUNT(held); i++)
        if (text_equal(name, held[i]))
            return false;
    return !text_starts_with(name, "impersonate-");
}

static void copy_begin(struct forward_copy *c, const struct credential *who,
                       const struct api_request *r, struct api_request *ret)
{
    credential_copy(&c->who, who);
    for (size_t i = 0; i < r->n_headers; i++)
        if (header_passes(r->headers[i].name))
            vec_add(&c->headers, r->headers[i]);
    if (c->who.authorization)
        vec_add(&c->headers,
                (struct http_header){.name = "authorization", .value = c->who.authorization});
    *ret = *r;
    ret->headers = c->headers.at;
    ret->n_headers = c->headers.n;
    ret->peer = (struct api_peer){.is_unix = c->who.is_unix,
                                  .uid = c->who.uid,
                                  .page = r->peer.address ? r->peer.address : "unknown",
                                  .cert_user = c->who.cert_user,
                                  .cert_groups = (const char *const *)c->who.cert_groups,
                                  .n_cert_groups = c->who.n_cert_groups};
}

static void copy_done(struct forward_copy *c)
{
    credential_done(&c->who);
    vec_done(&c->headers);
}

/* ---- the browser's requests ---- */

struct forward {
    struct relay relay; /* from the API's exchange to the browser's */
    struct forward_copy copy;
    char *security;
};

static void forward_free(struct relay *r)
{
    struct forward *f = (struct forward *)(void *)r;

    copy_done(&f->copy);
    free(f->security);
    free(f);
}

static struct api_reply with_headers(struct exchange *own, const struct api_reply *reply)
{
    const struct forward *f = (const struct forward *)(void *)relay_of(own);
    struct api_reply ret = *reply;

    ret.headers = f->security;
    return ret;
}

static void forward_reply(struct exchange *own, const struct api_reply *reply)
{
    const struct api_reply full = with_headers(own, reply);

    relay_reply(own, &full);
}

static void forward_begin(struct exchange *own, const struct api_reply *reply)
{
    const struct api_reply full = with_headers(own, reply);

    relay_begin(own, &full);
}

static const struct exchange_ops forward_ops = RELAY_OPS(forward_reply, forward_begin);

void forward_request(const struct forward_target *t, const struct credential *who,
                     struct exchange *x, const char *security)
{
    struct forward *f = mem_alloc(sizeof(*f));

    relay_init(&f->relay, &forward_ops, x, forward_free);
    f->security = mem_strdup(security);
    copy_begin(&f->copy, who, &x->request, &f->relay.own.request);
    t->handle(t->arg, &f->relay.own);
}

/* ---- our own questions ---- */

struct forward_get {
    struct exchange own;
    struct forward_copy copy;
    char *method;
    char *address; /* of the browser; NULL: unknown */
    char *agent;   /* its User-Agent; NULL: none */
    char *path;
    char *query;
    int status;
    bool is_inside; /* forward_get is on the stack */
    bool is_over;
    struct buf body;
    forward_done_fn done;
    void *arg;
};

static struct forward_get *get_of(struct exchange *x)
{
    return (struct forward_get *)(void *)((char *)x - offsetof(struct forward_get, own));
}

static void get_free(struct forward_get *g)
{
    copy_done(&g->copy);
    buf_done(&g->body);
    free(g->method);
    free(g->address);
    free(g->agent);
    free(g->path);
    free(g->query);
    free(g);
}

static void get_finish(struct forward_get *g, int status, struct str body)
{
    g->is_over = true;
    g->done(g->arg, g->body.overflow ? 502 : status, g->body.overflow ? (struct str){0} : body);
    if (!g->is_inside)
        get_free(g);
}

static void get_reply(struct exchange *x, const struct api_reply *r)
{
    get_finish(get_of(x), r->status, r->body);
}

static void get_begin(struct exchange *x, const struct api_reply *r)
{
    get_of(x)->status = r->status;
}

static void get_piece(struct exchange *x, struct str piece)
{
    buf_add(&get_of(x)->body, piece.at, piece.size);
}

static void get_end(struct exchange *x)
{
    struct forward_get *g = get_of(x);

    get_finish(g, g->status, (struct str){.at = g->body.at, .size = g->body.size});
}

static void get_cut(struct exchange *x)
{
    get_finish(get_of(x), 502, (struct str){0});
}

static size_t get_backlog(const struct exchange *x)
{
    (void)x;
    return 0;
}

static const struct exchange_ops get_ops = {
    .reply = get_reply,
    .begin = get_begin,
    .piece = get_piece,
    .end = get_end,
    .cut = get_cut,
    .backlog = get_backlog,
    /* Nothing that is asked for here upgrades its connection. */
};

static char *copy_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

void forward_get(const struct forward_target *t, const struct credential *who,
                 const struct forward_question *q, struct forward_get **ret)
{
    struct forward_get *g = mem_alloc(sizeof(*g));
    struct api_request r = {0};

    g->own.ops = &get_ops;
    g->body.cap = ANSWER_MAX;
    g->method = mem_strdup(q->method ? q->method : "GET");
    g->address = copy_or_null(q->from->peer.address);
    g->agent = copy_or_null(request_header(q->from, "user-agent"));
    g->path = mem_strdup(q->path);
    g->query = mem_strdup(q->query);
    g->done = q->done;
    g->arg = q->arg;
    r.method = g->method;
    r.peer.address = g->address;
    r.headers = &(struct http_header){.name = "user-agent", .value = g->agent};
    r.n_headers = g->agent ? 1 : 0;
    r.path = g->path;
    r.query = g->query;
    copy_begin(&g->copy, who, &r, &g->own.request);
    g->is_inside = true;
    t->handle(t->arg, &g->own);
    g->is_inside = false;
    *ret = g->is_over ? NULL : g;
    if (g->is_over)
        get_free(g);
}

void forward_cancel(struct forward_get *g)
{
    if (!g)
        return;
    if (g->own.on_close)
        g->own.on_close(g->own.arg);
    get_free(g);
}
