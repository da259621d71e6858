/* loop.c - timers and descriptors over the seam of loop.h */

#include "base/loop.h"

#include "base/mem.h"

struct loop_timer {
    struct loop *loop;
    void *impl;
};

struct loop_io {
    struct loop *loop;
    void *impl;
};

struct loop_timer *loop_timer_new(struct loop *l, loop_fn fn, void *arg)
{
    struct loop_timer *t = mem_alloc(sizeof(*t));

    t->loop = l;
    t->impl = l->ops->timer_new(l->self, fn, arg);
    return t;
}

void loop_timer_set(struct loop_timer *t, int64_t delay_ns)
{
    t->loop->ops->timer_set(t->loop->self, t->impl, delay_ns > 0 ? delay_ns : 0);
}

void loop_timer_stop(struct loop_timer *t)
{
    t->loop->ops->timer_stop(t->loop->self, t->impl);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    t->loop->ops->timer_free(t->loop->self, t->impl);
    free(t);
}

struct loop_io *loop_io_new(struct loop *l, int fd, loop_io_fn fn, void *arg)
{
    struct loop_io *io = mem_alloc(sizeof(*io));

    io->loop = l;
    io->impl = l->ops->io_new(l->self, fd, fn, arg);
    return io;
}

void loop_io_want(struct loop_io *io, bool readable, bool writable)
{
    io->loop->ops->io_want(io->loop->self, io->impl, readable, writable);
}

void loop_io_free(struct loop_io *io)
{
    if (!io)
        return;
    io->loop->ops->io_free(io->loop->self, io->impl);
    free(io);
}
