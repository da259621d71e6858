/* worker_linux.c - a worker thread with an eventfd */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/worker.h"

struct job {
    struct job *next;
    worker_work_fn work;
    worker_done_fn done;
    void *message;
    struct err *e;
};

struct queue {
    struct job *first;
    struct job *last;
};

struct thread {
    struct worker worker;
    pthread_t id;
    pthread_mutex_t lock; /* guards todo, finished, is_ending */
    pthread_cond_t more;
    struct queue todo;
    struct queue finished;
    bool is_ending;
    int fd; /* eventfd: a job is finished */
    struct loop_io *io;
};

static void queue_put(struct queue *q, struct job *j)
{
    j->next = NULL;
    if (q->last)
        q->last->next = j;
    else
        q->first = j;
    q->last = j;
}

static struct job *queue_get(struct queue *q)
{
    struct job *j = q->first;

    if (!j)
        return NULL;
    q->first = j->next;
    if (!q->first)
        q->last = NULL;
    return j;
}

static void *thread_run(void *arg)
{
    struct thread *t = arg;
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&t->lock);
    for (;;) {
        struct job *j = queue_get(&t->todo);

        if (!j && t->is_ending)
            break;
        if (!j) {
            (void)pthread_cond_wait(&t->more, &t->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&t->lock);
        j->e = j->work(j->message);
        (void)pthread_mutex_lock(&t->lock);
        queue_put(&t->finished, j);
        (void)!write(t->fd, &one, sizeof(one)); /* full: the loop knows already */
    }
    (void)pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void thread_deliver(struct thread *t)
{
    for (;;) {
        struct job *j = NULL;

        (void)pthread_mutex_lock(&t->lock);
        j = queue_get(&t->finished);
        (void)pthread_mutex_unlock(&t->lock);
        if (!j)
            return;
        j->done(j->message, j->e);
        err_free(j->e);
        free(j);
    }
}

static void on_finished(void *arg, int fd, bool readable, bool writable)
{
    uint64_t n = 0;

    (void)readable;
    (void)writable;
    (void)!read(fd, &n, sizeof(n)); /* clears it; the queue is read anyway */
    thread_deliver(arg);
}

static void thread_give(void *self, worker_work_fn work, worker_done_fn done, void *message)
{
    struct thread *t = self;
    struct job *j = mem_alloc(sizeof(*j));

    *j = (struct job){.work = work, .done = done, .message = message};
    (void)pthread_mutex_lock(&t->lock);
    queue_put(&t->todo, j);
    (void)pthread_cond_signal(&t->more);
    (void)pthread_mutex_unlock(&t->lock);
}

static void thread_free(void *self)
{
    struct thread *t = self;
    struct job *j = NULL;

    (void)pthread_mutex_lock(&t->lock);
    t->is_ending = true;
    (void)pthread_cond_signal(&t->more);
    (void)pthread_mutex_unlock(&t->lock);
    (void)pthread_join(t->id, NULL);
    thread_deliver(t);
    while ((j = queue_get(&t->todo))) { /* jobs that the last `done` gave */
        j->e = j->work(j->message);
        queue_put(&t->finished, j);
        thread_deliver(t);
    }
    loop_io_free(t->io);
    fd_close(t->fd);
    (void)pthread_cond_destroy(&t->more);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

static const struct worker_ops thread_ops = {.give = thread_give, .free = thread_free};

struct err *worker_new(struct loop *l, struct worker **ret)
{
    struct thread *t = mem_alloc(sizeof(*t));
    int r = 0;

    t->worker = (struct worker){.ops = &thread_ops, .self = t};
    t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->fd < 0) {
        struct err *e = err_errno(errno, "make an eventfd");

        free(t);
        return e;
    }
    (void)pthread_mutex_init(&t->lock, NULL); /* cannot fail with default attributes on Linux */
    (void)pthread_cond_init(&t->more, NULL);
    r = pthread_create(&t->id, NULL, thread_run, t);
    if (r != 0) {
        fd_close(t->fd);
        free(t);
        return err_errno(r, "start the worker thread");
    }
    t->io = loop_io_new(l, t->fd, on_finished, t);
    loop_io_want(t->io, true, false);
    *ret = &t->worker;
    return NULL;
}

void worker_free(struct worker *w)
{
    if (w)
        w->ops->free(w->self);
}
