/*
 * replay_srtf.c - SRTF with all durations known
 *
 * In each second the jobs, sorted by remaining time, fill the number of gpus greedily. Running jobs
 * left out are preempted and pay; chosen waiting jobs start if they can be placed. Changes happen
 * only at events: arrivals, ends, and the times at which a running job's remaining time falls below
 * that of a chosen job that could not be placed.
 *
 * On equal remaining times waiting jobs come before running jobs, each in the order in which the
 * jobs began to wait or run.
 *
 * The published simulator notices an end one second late, so each job holds its gpus one second
 * longer than it runs. The replay does the same, so that the averages agree.
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
    struct line running;      /* by end */
    VEC(struct place) chosen; /* in a fill */
    VEC(uint32_t) left_out;
    uint64_t turn;
    int64_t now_s;
    int64_t crossing_s; /* the next time at which a running job passes a chosen job without a place;
                           NEVER */
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

/* Walks all jobs by remaining time. Chooses jobs while gpus remain; other running jobs are left
 * out. */
static void srtf_fill(struct srtf *s)
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

static void srtf_preempt(struct srtf *s, uint32_t job)
{
    struct replay_job *done = &s->r->done[job];
    const int64_t cost = replay_preemption_cost(gpus_of(s, job));
    const int64_t remain = done->end_s - SEEN_LATER_S - s->now_s + cost;

    line_remove(&s->running, job);
    replay_stop(s->r, job, s->now_s);
    done->lost_s += cost;
    add_waiting(s, job, remain);
}

/* Notes the next second at which a running job is before `w`, which has no place. */
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

static void srtf_step(struct srtf *s)
{
    s->crossing_s = NEVER;
    srtf_fill(s);
    VEC_EACH (&s->left_out, job)
        srtf_preempt(s, *job);
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
        srtf_step(&s);
    }
    waiting_done(&s.waiting);
    line_done(&s.running);
    vec_done(&s.chosen);
    vec_done(&s.left_out);
}
