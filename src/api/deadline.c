/* deadline.c - limits the time until an answer begins */

#include "api/deadline.h"

#include "api/routes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"

/* The longest timeout that the server grants: kube-apiserver's default --request-timeout. */
static const int64_t longest_ns = 60 * NS_PER_SEC;

struct deadline {
    struct exchange own; /* the handler's exchange */
    struct exchange *x;
    struct loop_timer *timer; /* NULL: the answer has begun */
};

static bool goes_on(const struct call *c)
{
    static const char *const subresources[] = {"attach", "exec", "log", "portforward", "proxy"};

    if (query_bool(&c->query, "watch") || !c->route || c->route->shape == ROUTE_PREFIX)
        return true;
    for (size_t i = 0; i < COUNT(subresources); i++)
        if (text_equal(c->subresource, subresources[i]))
            return true;
    return false;
}

struct err *deadline_parse(const struct call *c, int64_t *ret_ns)
{
    const char *text = query_get(&c->query, "timeout");
    AUTO(err_freep) struct err *e = NULL;
    int64_t ns = 0;

    *ret_ns = 0;
    if (!text || *text == '\0' || text_equal(text, "0") || goes_on(c))
        return NULL;
    e = num_parse_duration(str_of(text), &ns);
    if (e)
        return err_new(ERR_BAD_REQUEST,
                       "invalid timeout specified in the request URL - timeout '%.32s' is not a "
                       "duration such as 30s",
                       text);
    *ret_ns = ns < longest_ns ? ns : longest_ns;
    return NULL;
}

static struct deadline *deadline_of(struct exchange *x)
{
    return (struct deadline *)(void *)((char *)x - offsetof(struct deadline, own));
}

static void deadline_free(struct deadline *d)
{
    loop_timer_free(d->timer);
    free(d);
}

static void own_reply(struct exchange *x, const struct api_reply *r)
{
    struct deadline *d = deadline_of(x);

    d->x->ops->reply(d->x, r);
    deadline_free(d);
}

static void own_begin(struct exchange *x, const struct api_reply *r)
{
    struct deadline *d = deadline_of(x);

    loop_timer_free(d->timer);
    d->timer = NULL;
    d->x->ops->begin(d->x, r);
}

static void own_piece(struct exchange *x, struct str piece)
{
    struct deadline *d = deadline_of(x);

    d->x->ops->piece(d->x, piece);
}

static void own_end(struct exchange *x)
{
    struct deadline *d = deadline_of(x);

    d->x->ops->end(d->x);
    deadline_free(d);
}

static void own_cut(struct exchange *x)
{
    struct deadline *d = deadline_of(x);

    d->x->ops->cut(d->x);
    deadline_free(d);
}

static size_t own_backlog(const struct exchange *x)
{
    const struct deadline *d =
        (const struct deadline *)(const void *)((const char *)x - offsetof(struct deadline, own));

    return d->x->ops->backlog(d->x);
}

static struct channel *own_upgrade(struct exchange *x, const struct upgrade *u)
{
    struct deadline *d = deadline_of(x);
    struct channel *channel = d->x->ops->upgrade(d->x, u);

    deadline_free(d);
    return channel;
}

static const struct exchange_ops own_ops = {
    .reply = own_reply,
    .begin = own_begin,
    .piece = own_piece,
    .end = own_end,
    .cut = own_cut,
    .backlog = own_backlog,
    .upgrade = own_upgrade,
};

static void on_close(void *arg)
{
    struct deadline *d = arg;

    if (d->own.on_close)
        d->own.on_close(d->own.arg);
    deadline_free(d);
}

static void on_drain(void *arg)
{
    struct deadline *d = arg;

    if (d->own.on_drain)
        d->own.on_drain(d->own.arg);
}

static void deadline_on_time(void *arg)
{
    struct deadline *d = arg;
    AUTO(err_freep)
    struct err *e = err_new(ERR_TIMEOUT, "the request did not complete within the allotted time");

    d->x->on_close = NULL;
    if (d->own.on_close)
        d->own.on_close(d->own.arg);
    reply_error(d->x, e, &(struct status_about){0});
    deadline_free(d);
}

struct exchange *deadline_new(struct loop *loop, struct exchange *x, int64_t ns)
{
    struct deadline *d = mem_alloc(sizeof(*d));

    d->own.ops = &own_ops;
    d->own.request = x->request;
    d->x = x;
    d->timer = loop_timer_new(loop, deadline_on_time, d);
    loop_timer_set(d->timer, ns);
    x->arg = d;
    x->on_close = on_close;
    x->on_drain = on_drain;
    return &d->own;
}
