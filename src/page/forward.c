/* forward.c - exchanges between the page and the API */

#include "page/forward.h"

#include <strings.h>

#include "base/mem.h"
#include "base/vec.h"
#include "http/ask.h"
#include "http/relay.h"

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
    struct ask *ask; /* NULL: answered, or inside forward_get */
    struct forward_copy copy;
    struct api_request request;
    char *method;
    char *address; /* of the browser; NULL: unknown */
    char *agent;   /* its User-Agent; NULL: none */
    char *path;
    char *query;
    bool is_inside; /* forward_get is on the stack */
    bool is_over;
    forward_done_fn done;
    void *arg;
};

static void get_free(struct forward_get *g)
{
    copy_done(&g->copy);
    free(g->method);
    free(g->address);
    free(g->agent);
    free(g->path);
    free(g->query);
    free(g);
}

static void get_done(void *arg, int status, struct str body)
{
    struct forward_get *g = arg;

    g->is_over = true;
    g->done(g->arg, status, body);
    if (!g->is_inside)
        get_free(g);
}

static char *copy_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

void forward_get(const struct forward_target *t, const struct credential *who,
                 const struct forward_question *q, struct forward_get **ret)
{
    struct forward_get *g = mem_alloc(sizeof(*g));
    struct api_request r = {0};

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
    copy_begin(&g->copy, who, &r, &g->request);
    g->is_inside = true;
    ask_begin(&(struct ask_target){t->handle, t->arg}, &g->request, get_done, g, &g->ask);
    g->is_inside = false;
    *ret = g->is_over ? NULL : g;
    if (g->is_over)
        get_free(g);
}

void forward_cancel(struct forward_get *g)
{
    if (!g)
        return;
    ask_cancel(g->ask);
    get_free(g);
}
