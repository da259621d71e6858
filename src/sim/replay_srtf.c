/*
 * SRTF with all durations known. At each second all jobs, sorted by remaining time, fill the number
 * of gpus greedily; running ones left out are preempted and pay, waiting ones chosen start where
 * they can be placed. Nothing changes between two events: arrivals, ends, and the moments at which
 * a running job's remaining time falls below that of a chosen one that could not be placed.
 *
 * Equal remaining times: waiting before running, each in the order in which they came to wait or
 * run.
 *
 * The published simulator sees that nothing remains one second after the last one, so each job
 * holds its gpus a second longer than it runs. That is kept, or the averages would not be the same.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "sim/line.h"
#include "sim/replay_private.h"

enum {
    SEEN_LATER_S = 1
};

struct srtf {
    struct replay *r;
    struct waiting waiting;   /* by remaining time */
    struct line running;      /* by when nothing remains */
    VEC(struct place) chosen; /* in a fill */
    VEC(uint32_t) left_out;
    uint64_t turn;
    int64_t now_s;
    int64_t crossing_s; /* when a running job passes a chosen one that has no place; NEVER */
};

static uint32_t gpus_of(const struct srtf *s, uint32_t job)
{
    return s->r->options->jobs[job].gpus;
}

static void add_waiting(struct srtf *s, uint32_t job, int64_t remain_s)
{
    const struct place p = {.key = remain_s, .turn = s->turn++, .job = job};

    waiting_add(&s->waiting, gpus_of(s, job), &p);
}

static void on_end(void *arg, uint32_t job)
{
    struct srtf *s = arg;

    line_remove(&s->running, job);
    s->r->done[job].lost_s += SEEN_LATER_S;
}

static bool is_within(const void *quota, uint32_t gpus)
{
    return gpus <= *(const uint32_t *)quota;
}

/* Walks all jobs by remaining time: who may run is chosen, who runs and may not is left out. */
static void fill(struct srtf *s)
{
    uint32_t quota = pool_gpus(s->r->pool);
    size_t at = 0;

    vec_clear(&s->chosen);
    vec_clear(&s->left_out);
    waiting_rewind(&s->waiting);
    for (;;) {
        const struct place *w = waiting_peek(&s->waiting, is_within, &quota);
        const struct place *r = at < s->running.places.n ? &s->running.places.at[at] : NULL;

        if (w && (!r || w->key <= r->key - s->now_s)) {
            quota -= gpus_of(s, w->job);
            vec_add(&s->chosen, *w);
            waiting_pass(&s->waiting, gpus_of(s, w->job));
        } else if (r) {
            if (gpus_of(s, r->job) <= quota)
                quota -= gpus_of(s, r->job);
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
    const int64_t cost = replay_preemption_cost(gpus_of(s, job));
    const int64_t remain = done->end_s - SEEN_LATER_S - s->now_s + cost;

    line_remove(&s->running, job);
    replay_stop(s->r, job, s->now_s);
    done->lost_s += cost;
    add_waiting(s, job, remain);
}

/* The next second at which some running job is ahead of `w`, which has no place. */
static void note_crossing(struct srtf *s, const struct place *w)
{
    VEC_EACH (&s->running.places, r) {
        if (r->key - s->now_s < w->key)
            continue;
        if (r->key - w->key + 1 < s->crossing_s)
            s->crossing_s = r->key - w->key + 1;
        return;
    }
}

static void start_or_get_stuck(struct srtf *s)
{
    VEC(struct place) stuck = {0};

    VEC_EACH (&s->chosen, w) {
        const struct place now = {.key = s->now_s + w->key, .turn = s->turn++, .job = w->job};

        if (replay_start(s->r, w->job, s->now_s, w->key + SEEN_LATER_S)) {
            waiting_remove(&s->waiting, gpus_of(s, w->job), w);
            line_add(&s->running, &now);
        } else {
            vec_add(&stuck, *w);
        }
    }
    VEC_EACH (&stuck, w)
        note_crossing(s, w);
    vec_done(&stuck);
}

static void step(struct srtf *s)
{
    s->crossing_s = NEVER;
    fill(s);
    VEC_EACH (&s->left_out, job)
        preempt(s, *job);
    start_or_get_stuck(s);
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
            add_waiting(&s, (uint32_t)r->arrived, r->options->jobs[r->arrived].duration_s);
        step(&s);
    }
    waiting_done(&s.waiting);
    line_done(&s.running);
    vec_done(&s.chosen);
    vec_done(&s.left_out);
}
