/*
 * replay_mete.c - the policy "mete"
 *
 * The order by size (engine/queue/sizes.h) uses estimates only: a job's size is its estimated gpu
 * time.
 *
 * In this order jobs fill the pool, also around a job that does not fit. A running job without a
 * place in the filled pool is preempted and pays. A job that outlives its estimate is expected to
 * run a quarter longer, which may make it larger: so late jobs move back, and errors of estimates
 * do not last.
 */

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"
#include "engine/queue/sizes.h"
#include "sim/line.h"
#include "sim/replay_private.h"

enum {
    ROUNDS = 2
};

/* The state of a job. */
struct known_pod {
    int64_t estimate_s;
    int64_t run_s; /* progress in earlier runs */
    struct replay_run run;
    struct place place;
};

struct order {
    struct replay *r;
    struct known_pod *known; /* of each job */
    struct waiting waiting;
    struct line running;
    struct sizes sizes;
    struct pool *plan; /* the pool as planned, filled anew at each step */
    VEC(struct place) chosen;
    VEC(uint32_t) left_out;
    uint64_t turn;
    int64_t now_s;
};

static uint32_t gpus_of(const struct order *o, uint32_t job)
{
    return o->r->options->jobs[job].gpus;
}

static int64_t size_of(const struct order *o, uint32_t job)
{
    return o->known[job].estimate_s * gpus_of(o, job);
}

static int64_t key_of(const struct order *o, uint32_t job)
{
    return sizes_due(&o->sizes, size_of(o, job), o->r->options->jobs[job].submit_s);
}

static void set_place(struct order *o, uint32_t job)
{
    o->known[job].place = (struct place){.key = key_of(o, job), .turn = o->turn++, .job = job};
}

static void order_submit(struct order *o, uint32_t job)
{
    const struct sim_job *j = &o->r->options->jobs[job];

    o->known[job] = (struct known_pod){.estimate_s = j->estimate_s, .run.remain_s = j->duration_s};
    sizes_add(&o->sizes, size_of(o, job));
    set_place(o, job);
    waiting_add(&o->waiting, j->gpus, &o->known[job].place);
}

static void on_end(void *arg, uint32_t job)
{
    struct order *o = arg;

    line_remove(&o->running, job);
}

/* The time at which a running job outlives its estimate. */
static int64_t outlives_at(const struct known_pod *k)
{
    return k->run.began_s + k->run.paying_s + k->estimate_s - k->run_s;
}

static void estimate_late_ones(struct order *o)
{
    for (size_t i = 0; i < o->running.places.n;) {
        const uint32_t job = o->running.places.at[i].job;
        struct known_pod *k = &o->known[job];

        if (outlives_at(k) > o->now_s) {
            i++;
            continue;
        }
        k->estimate_s = sizes_estimate(k->estimate_s, k->estimate_s, 60);
        line_remove(&o->running, job);
        set_place(o, job);
        line_add(&o->running, &k->place);
        i = 0;
    }
}

static int64_t next_outlived(const struct order *o)
{
    int64_t next = NEVER;

    VEC_EACH (&o->running.places, p)
        if (outlives_at(&o->known[p->job]) < next)
            next = outlives_at(&o->known[p->job]);
    return next;
}

static bool fits_plan(const void *plan, uint32_t gpus)
{
    return pool_fits(plan, gpus);
}

static void order_choose(struct order *o, const struct place *w)
{
    const uint32_t gpus = gpus_of(o, w->job);

    pool_take_near(o->plan, o->r->pool, gpus, &o->r->holds[w->job]);
    vec_add(&o->chosen, *w);
    waiting_pass(&o->waiting, gpus);
}

/* Chooses the jobs to run: all jobs in order, each on its present gpus or on free ones. */
static void order_plan(struct order *o)
{
    const struct place *w;
    size_t at = 0;

    vec_clear(&o->chosen);
    vec_clear(&o->left_out);
    pool_clear(o->plan);
    waiting_rewind(&o->waiting);
    w = waiting_peek(&o->waiting, fits_plan, o->plan);
    for (;;) {
        const struct place *r = at < o->running.places.n ? &o->running.places.at[at] : NULL;

        if (r && (!w || r->key <= w->key)) {
            if (!pool_take_same(o->plan, &o->r->holds[r->job]))
                vec_add(&o->left_out, r->job);
            at++;
            continue;
        }
        if (!w)
            return;
        if (pool_fits(o->plan, gpus_of(o, w->job))) /* also after the jobs chosen since */
            order_choose(o, w);
        w = waiting_peek(&o->waiting, fits_plan, o->plan);
    }
}

static void order_preempt(struct order *o, uint32_t job)
{
    struct known_pod *k = &o->known[job];

    line_remove(&o->running, job);
    k->run_s += replay_preempt(o->r, job, &k->run, o->now_s);
    k->estimate_s = sizes_estimate(k->estimate_s, k->run_s, 60);
    set_place(o, job);
    waiting_add(&o->waiting, gpus_of(o, job), &k->place);
}

static void order_start(struct order *o, const struct place *w)
{
    struct known_pod *k = &o->known[w->job];

    waiting_remove(&o->waiting, gpus_of(o, w->job), w);
    k->run.began_s = o->now_s;
    replay_start_planned(o->r, w->job, o->now_s, k->run.remain_s);
    line_add(&o->running, &k->place);
}

/* Plans, preempts and starts. In the second round, jobs preempted in the first may fit elsewhere.
 */
static void order_step(struct order *o)
{
    for (int i = 0; i < ROUNDS; i++) {
        order_plan(o);
        VEC_EACH (&o->left_out, job)
            order_preempt(o, *job);
        VEC_EACH (&o->chosen, w)
            order_start(o, w);
        if (o->left_out.n == 0)
            return;
    }
}

static int64_t next_event(struct order *o)
{
    int64_t next = next_outlived(o);

    if (replay_next_arrival(o->r) < next)
        next = replay_next_arrival(o->r);
    return replay_next_end(o->r) < next ? replay_next_end(o->r) : next;
}

void replay_mete(struct replay *r)
{
    struct order o = {.r = r};

    o.known = mem_alloc(r->options->n * sizeof(*o.known));
    o.plan = pool_new(r->options->nodes, r->options->gpus_per_node);
    while (r->ended < r->options->n) {
        o.now_s = next_event(&o);
        replay_release(r, o.now_s, on_end, &o);
        estimate_late_ones(&o);
        for (; replay_next_arrival(r) == o.now_s; r->arrived++)
            order_submit(&o, (uint32_t)r->arrived);
        order_step(&o);
    }
    free(o.known);
    pool_free(o.plan);
    waiting_done(&o.waiting);
    line_done(&o.running);
    vec_done(&o.chosen);
    vec_done(&o.left_out);
}
