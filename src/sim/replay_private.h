/* replay_private.h - types and functions that the replays share */
#pragma once

#include "base/stamp.h"
#include "mete/engine.h"
#include "sim/heap.h"
#include "sim/replay.h"

#define NEVER INT64_MAX

/* The state of a replay. replay_run owns it. */
struct replay {
    const struct replay_options *options;
    struct replay_job *done; /* one for each job */
    struct pool *pool;
    struct pool_hold *holds; /* of each job */
    struct heap ends;        /* of runs, by time; ends of preempted runs stay, stale */
    size_t arrived;          /* submitted jobs */
    size_t ended;
};

/* The next second at which a job is submitted; NEVER: none. */
int64_t replay_next_arrival(const struct replay *r);
/* The next second at which a job ends; NEVER: none runs. */
int64_t replay_next_end(struct replay *r);

/* Starts the job now, for `run_s`. False: the job does not fit. */
bool replay_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* The same, on the gpus that `holds` names, which must be free. */
void replay_start_planned(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* Notes the start of a job that already has its gpus. */
void replay_note_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* A run of a job that may be preempted. */
struct replay_run {
    int64_t began_s;
    int64_t paying_s; /* time paid for preemptions at the start of the run, without progress */
    int64_t remain_s; /* true remaining time, with the payment */
};

/* The protocol's charge for a preemption, in seconds of all gpus of the job. */
int64_t replay_preemption_cost(uint32_t gpus);
/* Stops the job, which pays at its next start. Returns the run's seconds of progress. */
int64_t replay_preempt(struct replay *r, uint32_t job, struct replay_run *run, int64_t now_s);
/* Takes a running job's gpus; its noted end no longer counts. */
void replay_stop(struct replay *r, uint32_t job, int64_t now_s);
/* Releases the gpus of jobs that end at `now_s`, and calls `fn` (may be NULL) for each. */
void replay_release(struct replay *r, int64_t now_s, void (*fn)(void *arg, uint32_t job),
                    void *arg);

/* Seconds in ns, capped at 146 years, so that two can be added. */
static inline int64_t replay_ns(int64_t s)
{
    return s < INT64_MAX / 2 / NS_PER_SEC ? s * NS_PER_SEC : INT64_MAX / 2;
}

/* The pod sets of a job: one pod if a node of `most` gpus is enough, else whole nodes and a pod for
 * the rest. Returns their number. */
size_t replay_pod_sets(uint32_t gpus, uint32_t most, struct mete_pod_set ret[2]);

void replay_srtf(struct replay *r);
void replay_mete(struct replay *r);
void replay_engine(struct replay *r, enum replay_policy policy);
