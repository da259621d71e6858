/*
 * worker.h - one thread for what may block on a disk: a message goes in, the loop gets it back done
 *
 * Jobs run one after the other, in the order they were given, and share nothing with the loop but
 * their own message. As a seam: tests give one that works at once (worker_inline).
 */
#pragma once

#include "base/err.h"
#include "base/loop.h"

struct worker;

/* In the thread: touches nothing but `message`. */
typedef struct err *(*worker_work_fn)(void *message);
/* In the loop; `e` is borrowed. */
typedef void (*worker_done_fn)(void *message, const struct err *e);

struct worker_ops {
    void (*give)(void *self, worker_work_fn work, worker_done_fn done, void *message);
    void (*free)(void *self);
};

struct worker {
    const struct worker_ops *ops;
    void *self;
};

static inline void worker_give(struct worker *w, worker_work_fn work, worker_done_fn done,
                               void *message)
{
    w->ops->give(w->self, work, done, message);
}

struct err *worker_new(struct loop *l, struct worker **ret) MUST_CHECK; /* worker_linux.c */
/* What was given is finished first; `done` is called for all of it. Accepts NULL. */
void worker_free(struct worker *w);
