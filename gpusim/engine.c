/* engine.c - time-slicing of an emulated gpu, computed from its clients' work */

#include "engine.h"

#include <time.h>

/* More work than that in one queue is a scribble: a day. */
#define BACKLOG_MAX_NS (UINT64_C(86400) * 1000000000)

uint64_t clock_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void engine_load(struct engine *e, const struct view *v, unsigned gpu, unsigned engine)
{
    e->state = v->machine->gpus[gpu].engines[engine];
    e->n = 0;
    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        const struct gpusim_use *u = &v->machine->clients[i].uses[gpu];

        if (u->engine != engine || !client_uses(v, i, gpu))
            continue;
        e->slots[e->n] = i;
        e->uses[e->n] = *u;
        if (e->uses[e->n].finish_virtual_ns > e->state.virtual_ns + BACKLOG_MAX_NS)
            e->uses[e->n].finish_virtual_ns = e->state.virtual_ns + BACKLOG_MAX_NS;
        e->n++;
    }
}

void engine_save(const struct engine *e, const struct view *v, unsigned gpu, unsigned engine)
{
    v->writable->gpus[gpu].engines[engine] = e->state;
    for (unsigned i = 0; i < e->n; i++) {
        struct gpusim_use *u = &v->writable->clients[e->slots[i]].uses[gpu];

        u->finish_virtual_ns = e->uses[i].finish_virtual_ns;
        u->busy_ns = e->uses[i].busy_ns;
        for (unsigned l = 0; l < GPUSIM_LOADS_MAX; l++)
            u->loads[l] = e->uses[i].loads[l];
    }
}

/* Adds `share` of the time from `from_ns` on for `ns`. */
static void loads_add(struct gpusim_load *loads, uint64_t from_ns, uint64_t ns, unsigned share)
{
    /* Older periods have no place in the ring. */
    if (ns > GPUSIM_LOADS_MAX * GPUSIM_LOAD_NS) {
        from_ns += ns - GPUSIM_LOADS_MAX * GPUSIM_LOAD_NS;
        ns = GPUSIM_LOADS_MAX * GPUSIM_LOAD_NS;
    }
    while (ns > 0) {
        uint64_t period = from_ns / GPUSIM_LOAD_NS;
        uint64_t left = (period + 1) * GPUSIM_LOAD_NS - from_ns;
        uint64_t part = ns < left ? ns : left;
        struct gpusim_load *load = &loads[period % GPUSIM_LOADS_MAX];

        if (load->period != period)
            *load = (struct gpusim_load){.period = period};
        load->busy_ns += part / share;
        from_ns += part;
        ns -= part;
    }
}

unsigned loads_pct(const struct gpusim_load loads[GPUSIM_LOADS_MAX], uint64_t now_ns)
{
    uint64_t now = now_ns / GPUSIM_LOAD_NS;
    uint64_t window_ns = now_ns - (now + 1 - GPUSIM_LOADS_MAX) * GPUSIM_LOAD_NS;
    uint64_t busy_ns = 0;

    for (unsigned i = 0; i < GPUSIM_LOADS_MAX; i++) {
        if (now - loads[i].period < GPUSIM_LOADS_MAX && loads[i].busy_ns <= GPUSIM_LOAD_NS)
            busy_ns += loads[i].busy_ns;
    }
    return busy_ns >= window_ns ? 100 : (unsigned)((busy_ns * 100 + window_ns / 2) / window_ns);
}

/* Notes from when on how many clients share the engine. */
static void add_turn(struct gpusim_engine *s, unsigned n_active)
{
    const struct gpusim_turn *last = &s->turns[(s->n_turns - 1) % GPUSIM_TURNS_MAX];

    if (s->n_turns > 0 && last->n_active == n_active)
        return;
    s->turns[s->n_turns % GPUSIM_TURNS_MAX] =
        (struct gpusim_turn){.at_ns = s->at_ns, .virtual_ns = s->virtual_ns, .n_active = n_active};
    s->n_turns++;
}

/* Counts the clients with work left, and finds the least work. */
static unsigned count_active(const struct engine *e, uint64_t *ret_least_ns)
{
    unsigned n = 0;

    for (unsigned i = 0; i < e->n; i++) {
        uint64_t finish = e->uses[i].finish_virtual_ns;

        if (finish <= e->state.virtual_ns)
            continue;
        if (n == 0 || finish - e->state.virtual_ns < *ret_least_ns)
            *ret_least_ns = finish - e->state.virtual_ns;
        n++;
    }
    return n;
}

/* Lets `ns` of real time pass, in which `n` clients share the engine. */
static void engine_run(struct engine *e, uint64_t ns, unsigned n)
{
    struct gpusim_engine *s = &e->state;

    for (unsigned i = 0; i < e->n; i++) {
        if (e->uses[i].finish_virtual_ns <= s->virtual_ns)
            continue;
        e->uses[i].busy_ns += ns / n;
        loads_add(e->uses[i].loads, s->at_ns, ns, n);
    }
    loads_add(s->loads, s->at_ns, ns, 1);
    s->busy_ns += ns;
    s->at_ns += ns;
}

void engine_advance(struct engine *e, uint64_t now_ns)
{
    struct gpusim_engine *s = &e->state;

    if (s->at_ns > now_ns) /* the file is older than this boot */
        *s = (struct gpusim_engine){.at_ns = now_ns, .virtual_ns = s->virtual_ns};
    for (;;) {
        uint64_t least_ns = 0;
        unsigned n = count_active(e, &least_ns);

        add_turn(s, n);
        if (n == 0)
            break;
        if (now_ns - s->at_ns < least_ns * n) {
            uint64_t steps = (now_ns - s->at_ns) / n;

            engine_run(e, steps * n, n);
            s->virtual_ns += steps;
            return;
        }
        engine_run(e, least_ns * n, n);
        s->virtual_ns += least_ns;
    }
    s->at_ns = now_ns;
}

uint64_t engine_when(const struct engine *e, uint64_t virtual_ns)
{
    uint64_t at_ns = e->state.at_ns;
    uint64_t virtual_now = e->state.virtual_ns;

    while (virtual_now < virtual_ns) {
        uint64_t next = virtual_ns;
        unsigned n = 0;

        for (unsigned i = 0; i < e->n; i++) {
            uint64_t finish = e->uses[i].finish_virtual_ns;

            if (finish <= virtual_now)
                continue;
            n++;
            if (finish < next)
                next = finish;
        }
        if (n == 0)
            break;
        at_ns += (next - virtual_now) * n;
        virtual_now = next;
    }
    return at_ns;
}

uint64_t engine_was_at(const struct gpusim_engine *e, uint64_t virtual_ns)
{
    uint64_t first = e->n_turns > GPUSIM_TURNS_MAX ? e->n_turns - GPUSIM_TURNS_MAX : 0;
    uint64_t at_ns = e->at_ns;

    for (uint64_t i = e->n_turns; i > first; i--) {
        const struct gpusim_turn *t = &e->turns[(i - 1) % GPUSIM_TURNS_MAX];

        if (t->virtual_ns >= virtual_ns && i - 1 > first) {
            at_ns = t->at_ns;
            continue;
        }
        if (t->n_active == 0)
            return at_ns;
        return t->at_ns +
               (virtual_ns > t->virtual_ns ? virtual_ns - t->virtual_ns : 0) * t->n_active;
    }
    return at_ns;
}
