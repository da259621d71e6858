/* parallel_linux.c - a crew of threads */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "sim/parallel.h"

struct crew {
    size_t n;
    atomic_size_t next;
    void (*fn)(void *arg, size_t i);
    void *arg;
    pthread_mutex_t lock; /* of `done` */
    pthread_cond_t ended;
    size_t done;
};

size_t parallel_width(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return n > 0 ? (size_t)n : 1;
}

static void *crew_work(void *arg)
{
    struct crew *c = arg;

    for (;;) {
        const size_t i = atomic_fetch_add(&c->next, 1);

        if (i >= c->n)
            return NULL;
        c->fn(c->arg, i);
        (void)pthread_mutex_lock(&c->lock); /* cannot fail: this thread does not hold the lock */
        c->done++;
        (void)pthread_cond_signal(&c->ended);
        (void)pthread_mutex_unlock(&c->lock);
    }
}

/* Waits until more than `seen` calls are done. Returns their number. */
static size_t crew_wait(struct crew *c, size_t seen)
{
    size_t done;

    (void)pthread_mutex_lock(&c->lock);
    while (c->done == seen)
        (void)pthread_cond_wait(&c->ended, &c->lock);
    done = c->done;
    (void)pthread_mutex_unlock(&c->lock);
    return done;
}

static void run_alone(struct crew *c, void (*between)(void *arg, size_t done))
{
    for (size_t i = 0; i < c->n; i++) {
        c->fn(c->arg, i);
        if (between)
            between(c->arg, i + 1);
    }
}

void parallel_run(size_t n, size_t width, void (*fn)(void *arg, size_t i),
                  void (*between)(void *arg, size_t done), void *arg)
{
    struct crew c = {.n = n,
                     .fn = fn,
                     .arg = arg,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .ended = PTHREAD_COND_INITIALIZER};
    AUTO_FREE pthread_t *threads = NULL;
    size_t started = 0;

    width = width < n ? width : n;
    threads = mem_alloc(width * sizeof(*threads) + 1);
    while (width > 1 && started < width &&
           pthread_create(&threads[started], NULL, crew_work, &c) == 0)
        started++;
    if (started == 0) {
        run_alone(&c, between);
        return;
    }
    for (size_t done = 0; done < n;) {
        done = crew_wait(&c, done);
        if (between)
            between(arg, done);
    }
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}
