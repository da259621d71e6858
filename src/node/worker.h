/*
 * worker.h - a thread for work that may block on a disk: takes a message, gives it back to the loop
 *
 * Jobs run one after another, in the order given, and share only their message with the loop. A
 * seam: tests use a worker that runs each job at once (worker_inline).
 */
#pragma once

#include "base/err.h"
#include "base/loop.h"

struct worker;

/* Runs in the thread; touches only `message`. */
typedef struct err *(*worker_work_fn)(void *message);
/* Runs in the loop; `e` is borrowed. */
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
/* Finishes all given jobs first, with their calls of worker_done_fn. Accepts NULL. */
void worker_free(struct worker *w);
