/*
 * loop_linux.c - the event loop on libevent
 *
 * libevent runs with a precise clock and without cached time. By its default, coarse clock a timer
 * may fire up to a tick before CLOCK_MONOTONIC, which our callers read, has reached the deadline.
 */

#include "base/loop_linux.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <time.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"

struct timer {
    struct event *event;
    loop_fn fn;
    void *arg;
};

struct io {
    struct event *event;
    loop_io_fn fn;
    void *arg;
};

struct linux_loop {
    struct loop loop;
    struct event_base *base;
    VEC(struct timer *) signals;
    bool is_stopped;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static int64_t now_ns(void *self)
{
    (void)self;
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t wall_ns(void *self)
{
    (void)self;
    return clock_ns(CLOCK_REALTIME);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    const struct timer *t = arg;

    (void)fd;
    (void)what;
    t->fn(t->arg);
}

/* Makes an event for a signal, or with -1 for a timeout. */
static struct timer *event_timer_new(struct event_base *base, int signal, loop_fn fn, void *arg)
{
    struct timer *t = mem_alloc(sizeof(*t));
    short what = signal < 0 ? 0 : EV_SIGNAL | EV_PERSIST;

    t->fn = fn;
    t->arg = arg;
    t->event = event_new(base, signal, what, on_timer, t);
    assert(t->event);
    return t;
}

static void *timer_new(void *self, loop_fn fn, void *arg)
{
    struct linux_loop *l = self;

    return event_timer_new(l->base, -1, fn, arg);
}

static void timer_set(void *self, void *timer, int64_t delay_ns)
{
    const struct timer *t = timer;
    int64_t delay_us = delay_ns / 1000 + (delay_ns % 1000 > 0); /* never early */
    struct timeval delay = {.tv_sec = delay_us / 1000000, .tv_usec = delay_us % 1000000};
    int failed = event_add(t->event, &delay);

    (void)self;
    assert(failed == 0);
    (void)failed;
}

static void timer_stop(void *self, void *timer)
{
    const struct timer *t = timer;

    (void)self;
    (void)event_del(t->event); /* fails only for an invalid event */
}

static void timer_free(void *self, void *timer)
{
    struct timer *t = timer;

    (void)self;
    event_free(t->event);
    free(t);
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
    const struct io *io = arg;

    io->fn(io->arg, fd, what & EV_READ, what & EV_WRITE);
}

static void *io_new(void *self, int fd, loop_io_fn fn, void *arg)
{
    struct linux_loop *l = self;
    struct io *io = mem_alloc(sizeof(*io));

    io->fn = fn;
    io->arg = arg;
    io->event = event_new(l->base, fd, EV_READ | EV_PERSIST, on_io, io);
    assert(io->event);
    return io;
}

static void io_want(void *self, void *io, bool readable, bool writable)
{
    struct linux_loop *l = self;
    struct io *x = io;
    short what = (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0) | EV_PERSIST);
    int failed;

    if (event_pending(x->event, EV_READ | EV_WRITE, NULL) == (what & (EV_READ | EV_WRITE)))
        return;
    (void)event_del(x->event); /* fails only for an invalid event */
    if (!readable && !writable)
        return;
    failed = event_assign(x->event, l->base, event_get_fd(x->event), what, on_io, x);
    assert(failed == 0);
    failed = event_add(x->event, NULL);
    assert(failed == 0); /* a closed descriptor, or one that epoll refuses: a bug in the caller */
    (void)failed;
}

static void io_free(void *self, void *io)
{
    struct io *x = io;

    (void)self;
    event_free(x->event);
    free(x);
}

static const struct loop_ops ops = {
    .now_ns = now_ns,
    .wall_ns = wall_ns,
    .timer_new = timer_new,
    .timer_set = timer_set,
    .timer_stop = timer_stop,
    .timer_free = timer_free,
    .io_new = io_new,
    .io_want = io_want,
    .io_free = io_free,
};

struct loop *loop_linux_new(void)
{
    struct linux_loop *l = mem_alloc(sizeof(*l));
    struct event_config *config = event_config_new();

    assert(config);
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME);
    l->base = event_base_new_with_config(config);
    event_config_free(config);
    assert(l->base); /* without epoll no process of Mete can work */
    l->loop = (struct loop){.ops = &ops, .self = l};
    (void)signal(SIGPIPE, SIG_IGN);
    return &l->loop;
}

void loop_linux_free(struct loop *l)
{
    struct linux_loop *self;

    if (!l)
        return;
    self = l->self;
    VEC_EACH (&self->signals, t)
        timer_free(self, *t);
    vec_done(&self->signals);
    event_base_free(self->base);
    free(self);
}

struct err *loop_linux_run(struct loop *l)
{
    struct linux_loop *self = l->self;

    while (!self->is_stopped)
        if (event_base_loop(self->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            return err_errno(errno, "wait for events");
    self->is_stopped = false;
    return NULL;
}

void loop_linux_stop(struct loop *l)
{
    struct linux_loop *self = l->self;

    self->is_stopped = true;
    (void)event_base_loopbreak(self->base); /* fails only without a base */
}

void loop_linux_on_signal(struct loop *l, int signal, loop_fn fn, void *arg)
{
    struct linux_loop *self = l->self;
    struct timer *t = event_timer_new(self->base, signal, fn, arg);
    int failed = event_add(t->event, NULL);

    assert(failed == 0);
    (void)failed;
    vec_add(&self->signals, t);
}

struct event_base *loop_linux_base(struct loop *l)
{
    struct linux_loop *self = l->self;

    return self->base;
}
