/* summary.c - means and percentiles of a replay */

#include "sim/summary.h"

#include "base/mem.h"
#include "sim/groups.h"

int64_t replay_job_wait(const struct sim_job *job, const struct replay_job *done)
{
    return done->end_s - job->submit_s - job->duration_s - done->lost_s;
}

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The value at rank pct % of n, rounded down, of `n` sorted values: as in the published figures. */
static int64_t nearest_rank(const int64_t *sorted, size_t n, unsigned pct)
{
    const size_t rank = n * pct / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

static double mean_of(const int64_t *values, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return (double)sum / (double)n;
}

static void add_waits(struct summary *s, int64_t *waits, size_t n)
{
    s->mean_wait_s = mean_of(waits, n);
    qsort(waits, n, sizeof(*waits), compare_int64);
    s->p50_wait_s = nearest_rank(waits, n, 50);
    s->p95_wait_s = nearest_rank(waits, n, 95);
    s->p99_wait_s = nearest_rank(waits, n, 99);
    s->max_wait_s = waits[n - 1];
}

static void add_jcts(struct summary *s, int64_t *jcts, size_t n)
{
    s->mean_jct_s = mean_of(jcts, n);
    qsort(jcts, n, sizeof(*jcts), compare_int64);
    s->p50_jct_s = nearest_rank(jcts, n, 50);
    s->p95_jct_s = nearest_rank(jcts, n, 95);
    s->p99_jct_s = nearest_rank(jcts, n, 99);
}

/* Fills all figures but makespan and utilization, for the `n` jobs in `which`. */
static void summary_fill(const struct replay_options *options, const struct replay_job *done,
                         const uint32_t *which, size_t n, struct summary *ret)
{
    AUTO_FREE int64_t *values = mem_alloc(n * sizeof(*values) + 1);

    *ret = (struct summary){.jobs = n};
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct sim_job *job = &options->jobs[which[i]];
        const struct replay_job *d = &done[which[i]];

        values[i] = replay_job_wait(job, d);
        ret->gpu_s += sim_job_gpus(job) * (double)job->duration_s;
        ret->lost_s += sim_job_gpus(job) * (double)d->lost_s;
        ret->preemptions += d->preemptions;
    }
    add_waits(ret, values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = done[which[i]].end_s - options->jobs[which[i]].submit_s;
    add_jcts(ret, values, n);
}

void summary_of_group(const struct replay_options *options, const struct replay_job *done,
                      const uint32_t *of, uint32_t group, struct summary *ret)
{
    AUTO_FREE uint32_t *which = mem_alloc((options->n + 1) * sizeof(*which));
    size_t n = 0;

    for (uint32_t i = 0; i < options->n; i++)
        if (of[i] == group)
            which[n++] = i;
    summary_fill(options, done, which, n, ret);
}

void summary_make(const struct replay_options *options, const struct replay_job *done,
                  struct summary *ret)
{
    AUTO_FREE uint32_t *which = mem_alloc((options->n + 1) * sizeof(*which));
    int64_t last_s = 0;

    for (uint32_t i = 0; i < options->n; i++) {
        which[i] = i;
        last_s = done[i].end_s > last_s ? done[i].end_s : last_s;
    }
    summary_fill(options, done, which, options->n, ret);
    ret->makespan_s = last_s - options->jobs[0].submit_s;
    ret->utilization = ret->gpu_s / (replay_gpus(options) * (double)ret->makespan_s);
}
