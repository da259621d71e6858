/*
 * replay.h - replays of a trace's jobs on a pool of gpus, in the time of the trace
 *
 * Jobs are rigid: they start with all their gpus at once, and run for their recorded duration on
 * any nodes. Time is in whole seconds. In each second, ending jobs release their gpus, then
 * arrivals queue, then jobs start. This is the protocol of the published Helios simulator (QSSF, SC
 * '21), event by event.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/job_trace.h"
#include "sim/pool.h"

enum replay_policy {
    REPLAY_FIFO,   /* by submit time; no job passes one that does not fit */
    REPLAY_SJF,    /* by true duration, with the same rule */
    REPLAY_SRTF,   /* by true remaining time, with preemption and its cost */
    REPLAY_METE,   /* by size, from estimates only: see replay_mete.c */
    REPLAY_ENGINE, /* the same order, by the real engine: see replay_engine.c */
    REPLAY_EASY,   /* the engine by submit time with EASY backfill; estimates are time limits */
    REPLAY_CONSERVATIVE, /* the same, with conservative backfill */
};

struct replay_options {
    const struct sim_job *jobs;
    size_t n;
    uint32_t nodes;
    uint32_t gpus_per_node;
    double gpus; /* of all nodes, if nodes differ; 0: nodes x gpus_per_node */
    /* Called now and then with the number of ended jobs; may be NULL. */
    void (*progress)(void *arg, size_t ended);
    void *arg;
    /* Called when a job begins to run, ends or is preempted, in the order of time; may be NULL. */
    void (*moved)(void *arg, int64_t at_s, uint32_t job, bool runs);
    void *moved_arg;
};

static inline double replay_gpus(const struct replay_options *o)
{
    return o->gpus > 0 ? o->gpus : (double)o->nodes * o->gpus_per_node;
}

/* The outcome of a job. */
struct replay_job {
    int64_t start_s; /* first start */
    int64_t end_s;
    int64_t lost_s; /* time paid for preemptions */
    uint32_t preemptions;
};

/* Reads "fifo", "sjf", "srtf", "mete", "engine", "easy" or "conservative". ERR_INVALID lists
 * these. */
struct err *replay_policy_parse(struct str text, enum replay_policy *ret) MUST_CHECK;
const char *replay_policy_name(enum replay_policy policy);

/* Replays the jobs. Fills `ret`, one entry for each job. ERR_INVALID: a job is larger than the
 * pool. */
struct err *replay_run(enum replay_policy policy, const struct replay_options *options,
                       struct replay_job *ret) MUST_CHECK;
