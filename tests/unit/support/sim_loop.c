/* sim_loop.c - the loop of sim_loop.h */

#include "sim_loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/vec.h"

#define START_NS      INT64_C(1000000000)
#define START_WALL_NS INT64_C(1767225600000000000) /* 2026-01-01T00:00:00Z */
#define STEPS_MAX     10000000

struct sim_timer {
    struct sim_timer *prev;
    struct sim_timer *next;
    loop_fn fn;
    void *arg;
    bool is_set;
    int64_t due_ns;
    uint64_t order; /* in which timers were set; breaks ties */
};

struct sim_io {
    struct sim_io *prev;
    struct sim_io *next;
    int fd;
    loop_io_fn fn;
    void *arg;
    bool wants_read;
    bool wants_write;
};

struct sim_loop {
    struct loop loop;
    int64_t now_ns;
    int64_t wall_offset_ns;
    uint64_t order;
    bool is_io_turn; /* timers and descriptors take turns, so that neither starves the other */
    struct sim_timer *timers;
    struct sim_io *ios; /* the descriptor called last is last in the list */
    VEC(struct pollfd) polls;
};

static int64_t sim_now_ns(void *self)
{
    return ((struct sim_loop *)self)->now_ns;
}

static int64_t sim_wall_ns(void *self)
{
    const struct sim_loop *s = self;

    return s->now_ns + s->wall_offset_ns;
}

static void *sim_timer_new(void *self, loop_fn fn, void *arg)
{
    struct sim_loop *s = self;
    struct sim_timer *t = mem_alloc(sizeof(*t));

    *t = (struct sim_timer){.fn = fn, .arg = arg};
    LIST_ADD(s->timers, t);
    return t;
}

static void sim_timer_set(void *self, void *timer, int64_t delay_ns)
{
    struct sim_loop *s = self;
    struct sim_timer *t = timer;

    t->is_set = true;
    t->order = ++s->order;
    if (delay_ns < 0)
        delay_ns = 0;
    if (__builtin_add_overflow(s->now_ns, delay_ns, &t->due_ns))
        t->due_ns = INT64_MAX;
}

static void sim_timer_stop(void *self, void *timer)
{
    (void)self;
    ((struct sim_timer *)timer)->is_set = false;
}

static void sim_timer_free(void *self, void *timer)
{
    struct sim_loop *s = self;
    struct sim_timer *t = timer;

    LIST_REMOVE(s->timers, t);
    free(t);
}

static void *sim_io_new(void *self, int fd, loop_io_fn fn, void *arg)
{
    struct sim_loop *s = self;
    struct sim_io *io = mem_alloc(sizeof(*io));

    *io = (struct sim_io){.fd = fd, .fn = fn, .arg = arg};
    LIST_ADD(s->ios, io);
    return io;
}

static void sim_io_want(void *self, void *io, bool readable, bool writable)
{
    struct sim_io *i = io;

    (void)self;
    i->wants_read = readable;
    i->wants_write = writable;
}

static void sim_io_free(void *self, void *io)
{
    struct sim_loop *s = self;
    struct sim_io *i = io;

    LIST_REMOVE(s->ios, i);
    free(i);
}

static const struct loop_ops sim_ops = {
    .now_ns = sim_now_ns,
    .wall_ns = sim_wall_ns,
    .timer_new = sim_timer_new,
    .timer_set = sim_timer_set,
    .timer_stop = sim_timer_stop,
    .timer_free = sim_timer_free,
    .io_new = sim_io_new,
    .io_want = sim_io_want,
    .io_free = sim_io_free,
};

struct loop *sim_loop_new(void)
{
    struct sim_loop *s = mem_alloc(sizeof(*s));

    s->loop = (struct loop){.ops = &sim_ops, .self = s};
    s->now_ns = START_NS;
    s->wall_offset_ns = START_WALL_NS;
    return &s->loop;
}

void sim_loop_free(struct loop *l)
{
    struct sim_loop *s = l ? l->self : NULL;

    if (!s)
        return;
    assert(!s->timers && !s->ios);
    vec_done(&s->polls);
    free(s);
}

static struct sim_timer *first_timer(const struct sim_loop *s)
{
    struct sim_timer *first = NULL;

    for (struct sim_timer *t = s->timers; t; t = t->next) {
        if (!t->is_set)
            continue;
        if (!first || t->due_ns < first->due_ns ||
            (t->due_ns == first->due_ns && t->order < first->order))
            first = t;
    }
    return first;
}

static bool run_timer(struct sim_loop *s)
{
    struct sim_timer *t = first_timer(s);

    if (!t || t->due_ns > s->now_ns)
        return false;
    t->is_set = false;
    t->fn(t->arg); /* may free t */
    return true;
}

static short wanted_events(const struct sim_io *io)
{
    return (short)((io->wants_read ? POLLIN : 0) | (io->wants_write ? POLLOUT : 0));
}

static void call_io(struct sim_loop *s, struct sim_io *io, short events)
{
    bool is_broken = (events & (POLLERR | POLLHUP)) != 0;
    bool readable = io->wants_read && ((events & POLLIN) || is_broken);
    bool writable = io->wants_write && ((events & POLLOUT) || is_broken);

    assert(!(events & POLLNVAL)); /* closed before its io was freed */
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist; it is in the list */
    LIST_REMOVE(s->ios, io);
    LIST_ADD(s->ios, io);
    io->fn(io->arg, io->fd, readable, writable); /* may free io */
}

static bool run_io(struct sim_loop *s, int deadline_ms)
{
    struct sim_io *io = s->ios;
    int n;

    vec_clear(&s->polls);
    for (; io; io = io->next) {
        if (wanted_events(io))
            vec_add(&s->polls, (struct pollfd){.fd = io->fd, .events = wanted_events(io)});
    }
    if (s->polls.n == 0 && deadline_ms == 0)
        return false;
    do
        n = poll(s->polls.at, s->polls.n, deadline_ms);
    while (n < 0 && errno == EINTR);
    assert(n >= 0);
    if (n == 0)
        return false;
    io = s->ios;
    VEC_EACH (&s->polls, p) {
        while (!wanted_events(io))
            io = io->next;
        if (p->revents) {
            call_io(s, io, p->revents);
            return true;
        }
        io = io->next;
    }
    return false;
}

bool sim_loop_step(struct loop *l)
{
    struct sim_loop *s = l->self;

    s->is_io_turn = !s->is_io_turn;
    if (s->is_io_turn)
        return run_io(s, 0) || run_timer(s);
    return run_timer(s) || run_io(s, 0);
}

void sim_loop_run(struct loop *l)
{
    int steps = 0;

    while (sim_loop_step(l)) {
        steps++;
        assert(steps < STEPS_MAX);
    }
}

void sim_loop_advance(struct loop *l, int64_t ns)
{
    struct sim_loop *s = l->self;
    int64_t end_ns = s->now_ns + ns;
    const struct sim_timer *t;

    assert(ns >= 0);
    for (;;) {
        sim_loop_run(l);
        t = first_timer(s);
        if (!t || t->due_ns > end_ns)
            break;
        s->now_ns = t->due_ns;
    }
    s->now_ns = end_ns;
}

bool sim_loop_wait_io(struct loop *l, int deadline_ms)
{
    return run_io(l->self, deadline_ms);
}

int64_t sim_loop_next_ns(const struct loop *l)
{
    const struct sim_loop *s = l->self;
    const struct sim_timer *t = first_timer(s);

    if (!t)
        return -1;
    return t->due_ns <= s->now_ns ? 0 : t->due_ns - s->now_ns;
}

void sim_loop_step_wall(struct loop *l, int64_t ns)
{
    struct sim_loop *s = l->self;

    s->wall_offset_ns += ns;
}
