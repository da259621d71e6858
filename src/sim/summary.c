#include "sim/summary.h"

#include "base/mem.h"

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

/* Of `n` sorted values the one at rank pct % of n, cut to a whole number: as the published averages
 * have it. */
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

void summary_make(const struct replay_options *options, const struct replay_job *done,
                  struct summary *ret)
{
    const size_t n = options->n;
    AUTO_FREE int64_t *values = mem_alloc(n * sizeof(*values));
    const double gpus = (double)options->nodes * options->gpus_per_node;
    double gpu_s = 0;
    int64_t last_s = 0;

    *ret = (struct summary){.jobs = n};
    for (size_t i = 0; i < n; i++) {
        values[i] = replay_job_wait(&options->jobs[i], &done[i]);
        gpu_s += (double)options->jobs[i].gpus * (double)options->jobs[i].duration_s;
        last_s = done[i].end_s > last_s ? done[i].end_s : last_s;
        ret->preemptions += done[i].preemptions;
    }
    add_waits(ret, values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = done[i].end_s - options->jobs[i].submit_s;
    add_jcts(ret, values, n);
    ret->makespan_s = last_s - options->jobs[0].submit_s;
    ret->utilization = gpu_s / (gpus * (double)ret->makespan_s);
}
