/* slurm_diag.c - the figures of sdiag: what became of jobs, and the cycles of the scheduler */

#include "control/slurm/slurm_private.h"

static void count_waiting(void *arg, const struct scheduler_waiting *w)
{
    int64_t *n = arg;

    (void)w;
    (*n)++;
}

static void diag_put_scheduler(json_t *row, const struct scheduler *s)
{
    struct scheduler_cycles cycles = scheduler_cycles(s);
    int64_t n_waiting = 0;

    scheduler_each_waiting(s, count_waiting, &n_waiting);
    json_put_int(row, "cycles", cycles.n);
    json_put_int(row, "cycleLastMicros", cycles.last_ns / 1000);
    json_put_int(row, "cycleMostMicros", cycles.most_ns / 1000);
    json_put_int(row, "cycleSumMicros", cycles.sum_ns / 1000);
    json_put_int(row, "waiting", n_waiting);
}

json_t *slurm_diag_row(const struct slurm_jobs *s)
{
    json_t *row = json_object();
    int64_t n_pending = 0;
    int64_t n_running = 0;

    VEC_EACH (&s->by_id, at) {
        const struct sjob *j = *at;
        size_t n_left = j->all.count - j->completed.count - j->failed.count - j->cancelled.count;

        n_running += (int64_t)j->n_running;
        if (n_left > j->n_running + j->n_over)
            n_pending += (int64_t)(n_left - j->n_running - j->n_over);
    }
    json_put_int(row, "since", s->diag.since_ns / NS_PER_SEC);
    json_put_int(row, "submitted", s->diag.submitted);
    json_put_int(row, "started", s->diag.started);
    json_put_int(row, "completed", s->diag.completed);
    json_put_int(row, "cancelled", s->diag.cancelled);
    json_put_int(row, "failed", s->diag.failed);
    json_put_int(row, "pending", n_pending);
    json_put_int(row, "running", n_running);
    if (s->options.scheduler)
        diag_put_scheduler(row, s->options.scheduler);
    return row;
}
