/* summary.h - the figures of a replay */
#pragma once

#include "sim/replay.h"

/* Times in seconds; percentiles are those of the nearest rank. */
struct summary {
    size_t jobs;
    double mean_jct_s;  /* from submit to end */
    double mean_wait_s; /* part of it without gpus */
    int64_t p50_wait_s, p95_wait_s, p99_wait_s, max_wait_s;
    int64_t p50_jct_s, p95_jct_s, p99_jct_s;
    double utilization; /* gpu time of the jobs / gpu time from the first submit to the last end */
    uint64_t preemptions;
    int64_t makespan_s;
    double gpu_s;  /* gpu time of the jobs */
    double lost_s; /* further gpu time, paid for preemptions */
};

void summary_make(const struct replay_options *options, const struct replay_job *done,
                  struct summary *ret);

int64_t replay_job_wait(const struct sim_job *job, const struct replay_job *done);
