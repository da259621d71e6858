/* deadline.c - limits the time until an answer begins */

#include "api/deadline.h"

#include "api/routes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "http/relay.h"

/* The longest timeout that the server grants: kube-apiserver's default --request-timeout. */
static const int64_t longest_ns = 60 * NS_PER_SEC;

struct deadline {
    struct relay relay;       /* from the handler's exchange to the client's */
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

static void deadline_free(struct relay *r)
{
    struct deadline *d = (struct deadline *)(void *)r;

    loop_timer_free(d->timer);
    free(d);
}

/* The deadline is for the beginning of an answer. */
static void deadline_begin(struct exchange *own, const struct api_reply *reply)
{
    struct deadline *d = (struct deadline *)(void *)relay_of(own);

    loop_timer_free(d->timer);
    d->timer = NULL;
    relay_begin(own, reply);
}

static const struct exchange_ops deadline_ops = RELAY_OPS(relay_reply, deadline_begin);

static void deadline_on_time(void *arg)
{
    struct deadline *d = arg;
    AUTO(err_freep)
    struct err *e = err_new(ERR_TIMEOUT, "the request did not complete within the allotted time");

    d->relay.x->on_close = NULL;
    if (d->relay.own.on_close)
        d->relay.own.on_close(d->relay.own.arg);
    reply_error(d->relay.x, e, &(struct status_about){0});
    deadline_free(&d->relay);
}

struct exchange *deadline_new(struct loop *loop, struct exchange *x, int64_t ns)
{
    struct deadline *d = mem_alloc(sizeof(*d));

    relay_init(&d->relay, &deadline_ops, x, deadline_free);
    d->timer = loop_timer_new(loop, deadline_on_time, d);
    loop_timer_set(d->timer, ns);
    return &d->relay.own;
}
