/*
 * SRTF with all durations known. At each second all jobs, sorted by remaining time, fill the number
 * of gpus greedily; running ones left out are preempted and pay, waiting ones chosen start where
 * they can be placed. Nothing changes between two events: arrivals, ends, and the moments at which
 * a running job's remaining time falls below that of a chosen one that could not be placed.
 *
 * Equal remaining times: waiting before running, each in the order in which they came to wait or
 * run. Waiting jobs stand in one sorted array a size, longest first: those that a fill looks at are
 * few, and at the end of the array, where insertion and removal are cheap.
 *
 * The published simulator sees that nothing remains one second after the last one, so each job
 * holds its gpus a second longer than it runs. That is kept, or the averages would not be the same.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"
#include "sim/replay_private.h"

struct waiting {
    int64_t remain_s;
    uint64_t turn; /* of coming to wait */
    uint32_t job;
};

/* The waiting jobs of one size. */
struct size_class {
    uint32_t gpus;
    VEC(struct waiting) jobs; /* the shortest last */
    size_t at;                /* in a fill: how many are not looked at yet */
};

struct running {
    int64_t done_s; /* when nothing remains */
    uint64_t turn;
    uint32_t job;
};

struct srtf {
    struct replay *r;
    VEC(struct size_class) classes;
    VEC(struct running) running; /* by what remains, then turn */
    VEC(struct waiting) chosen;  /* in a fill */
    VEC(uint32_t) left_out;
    uint64_t turn;
    int64_t now_s;
    int64_t crossing_s; /* when a running job passes a chosen one that has no place; NEVER */
};

enum {
    SEEN_LATER_S = 1
};

static int64_t cost_of(uint32_t gpus)
{
    if (gpus == 1)
        return 7;
    return gpus <= 8 ? 30 : 60;
}

static struct size_class *class_of(struct srtf *s, uint32_t gpus)
{
    VEC_EACH (&s->classes, c)
        if (c->gpus == gpus)
            return c;
    vec_add(&s->classes, (struct size_class){.gpus = gpus});
    return &s->classes.at[s->classes.n - 1];
}

static bool waits_before(const struct waiting *a, const struct waiting *b)
{
    return a->remain_s != b->remain_s ? a->remain_s < b->remain_s : a->turn < b->turn;
}

/* Where `w` stands, or would, in the array that has the shortest last. */
static size_t find_place(const struct size_class *c, const struct waiting *w)
{
    size_t low = 0;
    size_t high = c->jobs.n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (waits_before(w, &c->jobs.at[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void wait_for_turn(struct srtf *s, uint32_t job, int64_t remain_s)
{
    struct size_class *c = class_of(s, s->r->options->jobs[job].gpus);
    const struct waiting w = {.remain_s = remain_s, .turn = s->turn++, .job = job};
    const size_t at = find_place(c, &w);

    vec_add(&c->jobs, w);
    memmove(&c->jobs.at[at + 1], &c->jobs.at[at], (c->jobs.n - 1 - at) * sizeof(w));
    c->jobs.at[at] = w;
}

static void stop_waiting(struct srtf *s, const struct waiting *w)
{
    struct size_class *c = class_of(s, s->r->options->jobs[w->job].gpus);
    const size_t at = find_place(c, w);

    assert(at < c->jobs.n && c->jobs.at[at].job == w->job);
    vec_remove(&c->jobs, at);
}

static void run_now(struct srtf *s, const struct waiting *w)
{
    const struct running new = {.done_s = s->now_s + w->remain_s, .turn = s->turn++, .job = w->job};
    size_t at = s->running.n;

    vec_add(&s->running, new);
    while (at > 0 && s->running.at[at - 1].done_s > new.done_s) {
        s->running.at[at] = s->running.at[at - 1];
        at--;
    }
    s->running.at[at] = new;
}

static void forget_running(struct srtf *s, uint32_t job)
{
    for (size_t i = 0; i < s->running.n; i++) {
        if (s->running.at[i].job == job) {
            vec_remove(&s->running, i);
            return;
        }
    }
    assert(!"a job that runs is among those that run");
}

static void on_end(void *arg, uint32_t job)
{
    struct srtf *s = arg;

    forget_running(s, job);
    s->r->done[job].lost_s += SEEN_LATER_S;
}

/* The shortest waiting job that is not looked at yet and within `quota`; NULL: none. */
static const struct waiting *next_waiting(struct srtf *s, uint32_t quota)
{
    const struct waiting *best = NULL;

    VEC_EACH (&s->classes, c) {
        if (c->gpus > quota || c->at == 0)
            continue;
        if (!best || waits_before(&c->jobs.at[c->at - 1], best))
            best = &c->jobs.at[c->at - 1];
    }
    return best;
}

/* Walks all jobs by remaining time: who may run is chosen, who runs and may not is left out. */
static void fill(struct srtf *s)
{
    const struct sim_job *jobs = s->r->options->jobs;
    uint32_t quota = pool_gpus(s->r->pool);
    size_t at = 0;

    vec_clear(&s->chosen);
    vec_clear(&s->left_out);
    VEC_EACH (&s->classes, c)
        c->at = c->jobs.n;
    for (;;) {
        const struct waiting *w = next_waiting(s, quota);
        const struct running *r = at < s->running.n ? &s->running.at[at] : NULL;

        if (w && (!r || w->remain_s <= r->done_s - s->now_s)) {
            quota -= jobs[w->job].gpus;
            vec_add(&s->chosen, *w);
            class_of(s, jobs[w->job].gpus)->at--;
        } else if (r) {
            if (jobs[r->job].gpus <= quota)
                quota -= jobs[r->job].gpus;
            else
                vec_add(&s->left_out, r->job);
            at++;
        } else {
            return;
        }
    }
}

static void preempt(struct srtf *s, uint32_t job)
{
    struct replay_job *done = &s->r->done[job];
    const int64_t cost = cost_of(s->r->options->jobs[job].gpus);
    const int64_t remain = done->end_s - SEEN_LATER_S - s->now_s + cost;

    forget_running(s, job);
    replay_stop(s->r, job);
    done->lost_s += cost;
    wait_for_turn(s, job, remain);
}

/* The next second at which some running job is ahead of `w`, which has no place. */
static void note_crossing(struct srtf *s, const struct waiting *w)
{
    VEC_EACH (&s->running, r) {
        if (r->done_s - s->now_s < w->remain_s)
            continue;
        if (r->done_s - w->remain_s + 1 < s->crossing_s)
            s->crossing_s = r->done_s - w->remain_s + 1;
        return;
    }
}

static void step(struct srtf *s)
{
    VEC(struct waiting) stuck = {0};

    fill(s);
    VEC_EACH (&s->left_out, job)
        preempt(s, *job);
    VEC_EACH (&s->chosen, w) {
        if (replay_start(s->r, w->job, s->now_s, w->remain_s + SEEN_LATER_S)) {
            stop_waiting(s, w);
            run_now(s, w);
        } else {
            vec_add(&stuck, *w);
        }
    }
    s->crossing_s = NEVER;
    VEC_EACH (&stuck, w)
        note_crossing(s, w);
    vec_done(&stuck);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void replay_srtf(struct replay *r)
{
    struct srtf s = {.r = r, .crossing_s = NEVER};

    while (r->ended < r->options->n) {
        s.now_s = least(s.crossing_s, least(replay_next_arrival(r), replay_next_end(r)));
        replay_release(r, s.now_s, on_end, &s);
        for (; replay_next_arrival(r) == s.now_s; r->arrived++)
            wait_for_turn(&s, (uint32_t)r->arrived, r->options->jobs[r->arrived].duration_s);
        step(&s);
    }
    VEC_EACH (&s.classes, c)
        vec_done(&c->jobs);
    vec_done(&s.classes);
    vec_done(&s.running);
    vec_done(&s.chosen);
    vec_done(&s.left_out);
}
