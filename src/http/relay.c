/* relay.c - the functions of an exchange that passes all on to another */

#include "http/relay.h"

void relay_init(struct relay *r, const struct exchange_ops *ops, struct exchange *x,
                void (*free_fn)(struct relay *r))
{
    r->own.ops = ops;
    r->own.request = x->request;
    r->x = x;
    r->free = free_fn;
    x->arg = r;
    x->on_close = relay_on_close;
    x->on_drain = relay_on_drain;
}

void relay_reply(struct exchange *own, const struct api_reply *reply)
{
    struct relay *r = relay_of(own);

    r->x->ops->reply(r->x, reply);
    r->free(r);
}

void relay_begin(struct exchange *own, const struct api_reply *reply)
{
    struct relay *r = relay_of(own);

    r->x->ops->begin(r->x, reply);
}

void relay_piece(struct exchange *own, struct str piece)
{
    struct relay *r = relay_of(own);

    r->x->ops->piece(r->x, piece);
}

void relay_end(struct exchange *own)
{
    struct relay *r = relay_of(own);

    r->x->ops->end(r->x);
    r->free(r);
}

void relay_cut(struct exchange *own)
{
    struct relay *r = relay_of(own);

    r->x->ops->cut(r->x);
    r->free(r);
}

size_t relay_backlog(const struct exchange *own)
{
    const struct relay *r = (const struct relay *)(const void *)own;

    return r->x->ops->backlog(r->x);
}

struct channel *relay_upgrade(struct exchange *own, const struct upgrade *u)
{
    struct relay *r = relay_of(own);
    struct channel *channel = r->x->ops->upgrade(r->x, u);

    r->free(r);
    return channel;
}

void relay_on_close(void *arg)
{
    struct relay *r = arg;

    if (r->own.on_close)
        r->own.on_close(r->own.arg);
    r->free(r);
}

void relay_on_drain(void *arg)
{
    struct relay *r = arg;

    if (r->own.on_drain)
        r->own.on_drain(r->own.arg);
}
