/*
 * replay.h - the jobs of a trace through a queue onto a pool, in the time of the trace
 *
 * Jobs are rigid, start with all their gpus at once and run for their recorded duration wherever
 * they are placed. Time is whole seconds; at each, jobs that end release, arrivals queue up, then
 * jobs start. The protocol of the published Helios simulator (QSSF, SC '21), event by event.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/job_trace.h"
#include "sim/pool.h"

enum replay_policy {
    REPLAY_FIFO,   /* by submit time; starts end at the first that does not fit */
    REPLAY_SJF,    /* by true duration, likewise */
    REPLAY_SRTF,   /* by true remaining time, with preemption and its cost */
    REPLAY_METE,   /* by size, knowing estimates only: see replay_mete.c */
    REPLAY_ENGINE, /* the same order, by the engine as a server runs it: see replay_engine.c */
    REPLAY_EASY,   /* the engine by submit time, backfill around the first; estimates as limits */
    REPLAY_CONSERVATIVE, /* the same, with a plan for all that wait */
};

struct replay_options {
    const struct sim_job *jobs;
    size_t n;
    uint32_t nodes;
    uint32_t gpus_per_node;
    double gpus; /* of all nodes, where these are not alike; 0: nodes x gpus_per_node */
    /* Called now and then with how many jobs have ended; may be NULL. */
    void (*progress)(void *arg, size_t ended);
    void *arg;
    /* Called when a job begins to run and when it ends or is preempted, by time; may be NULL. */
    void (*moved)(void *arg, int64_t at_s, uint32_t job, bool runs);
    void *moved_arg;
};

static inline double replay_gpus(const struct replay_options *o)
{
    return o->gpus > 0 ? o->gpus : (double)o->nodes * o->gpus_per_node;
}

/* What became of a job. */
struct replay_job {
    int64_t start_s; /* for the first time */
    int64_t end_s;
    int64_t lost_s; /* paid for preemptions */
    uint32_t preemptions;
};

/* "fifo", "sjf", "srtf", "mete", "engine", "easy", "conservative". ERR_INVALID: what is known. */
struct err *replay_policy_parse(struct str text, enum replay_policy *ret) MUST_CHECK;
const char *replay_policy_name(enum replay_policy policy);

/*
 * Fills `ret`, one for each job. ERR_INVALID: a job is larger than the pool.
 */
struct err *replay_run(enum replay_policy policy, const struct replay_options *options,
                       struct replay_job *ret) MUST_CHECK;
