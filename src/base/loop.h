/*
 * loop.h - the event loop of a process, a seam: real (loop_linux.c, libevent) or simulated
 *
 * One thread, one loop. Logic takes a `struct loop *` and does not know the implementation.
 * Callbacks are short and never run the loop themselves.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_timer;
struct loop_io;

typedef void (*loop_fn)(void *arg);
typedef void (*loop_io_fn)(void *arg, int fd, bool readable, bool writable);

struct loop_ops {
    int64_t (*now_ns)(void *self);  /* monotonic */
    int64_t (*wall_ns)(void *self); /* since 1970 */
    void *(*timer_new)(void *self, loop_fn fn, void *arg);
    void (*timer_set)(void *self, void *timer, int64_t delay_ns); /* re-arms; fires once */
    void (*timer_stop)(void *self, void *timer);
    void (*timer_free)(void *self, void *timer);
    void *(*io_new)(void *self, int fd, loop_io_fn fn, void *arg);
    void (*io_want)(void *self, void *io, bool readable, bool writable);
    void (*io_free)(void *self, void *io);
};

struct loop {
    const struct loop_ops *ops;
    void *self;
};

static inline int64_t loop_now_ns(const struct loop *l)
{
    return l->ops->now_ns(l->self);
}

static inline int64_t loop_wall_ns(const struct loop *l)
{
    return l->ops->wall_ns(l->self);
}

/* Makes a timer, not set. Free it before `arg` dies; freeing stops it. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn fn, void *arg);
void loop_timer_set(struct loop_timer *t, int64_t delay_ns);
void loop_timer_stop(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* accepts NULL */

/* Watches a descriptor (socket, pipe, pidfd, eventfd, inotify), which the caller still owns. */
struct loop_io *loop_io_new(struct loop *l, int fd, loop_io_fn fn, void *arg);
void loop_io_want(struct loop_io *io, bool readable, bool writable);
void loop_io_free(struct loop_io *io); /* accepts NULL; call it before closing the descriptor */
