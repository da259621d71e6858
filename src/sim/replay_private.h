/* replay_private.h - what the replays share */
#pragma once

#include "base/stamp.h"
#include "mete/engine.h"
#include "sim/heap.h"
#include "sim/replay.h"

#define NEVER INT64_MAX

/* A replay on its way. Owned by replay_run. */
struct replay {
    const struct replay_options *options;
    struct replay_job *done; /* one for each job */
    struct pool *pool;
    struct pool_hold *holds; /* of each job */
    struct heap ends;        /* of what runs, by time; those of preempted runs stay, stale */
    size_t arrived;          /* how many jobs were submitted */
    size_t ended;
};

/* The next second at which a job is submitted; NEVER: none. */
int64_t replay_next_arrival(const struct replay *r);
/* The next second at which a job ends; NEVER: none runs. */
int64_t replay_next_end(struct replay *r);

/* Starts `job` now, for `run_s` from here. False where it does not fit. */
bool replay_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* The same on what `holds` says already, which is free. */
void replay_start_planned(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* It has started, wherever it is. */
void replay_note_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s);
/* A run of a job that may be preempted. */
struct replay_run {
    int64_t began_s;
    int64_t paying_s; /* what it begins with, for preemptions: no progress is made meanwhile */
    int64_t remain_s; /* truly, with what is to be paid */
};

/* What the protocol charges a job of that many gpus, in seconds of all of them. */
int64_t replay_preemption_cost(uint32_t gpus);
/* The job stops, and pays before it goes on. Returns the seconds of progress that it made. */
int64_t replay_preempt(struct replay *r, uint32_t job, struct replay_run *run, int64_t now_s);
/* Takes a running job's gpus away: its end is not before it starts again. */
void replay_stop(struct replay *r, uint32_t job, int64_t now_s);
/* Releases what ends at `now_s`; each job that does is told to `fn` (which may be NULL). */
void replay_release(struct replay *r, int64_t now_s, void (*fn)(void *arg, uint32_t job),
                    void *arg);

/* Seconds as the engine takes them: over 146 years is as that, so that two can be added. */
static inline int64_t replay_ns(int64_t s)
{
    return s < INT64_MAX / 2 / NS_PER_SEC ? s * NS_PER_SEC : INT64_MAX / 2;
}

/* A job as the engine takes it: one pod where a node of `most` gpus has as many, else as many whole
 * nodes as it takes and a pod for the rest. Returns how many of `ret` are filled. */
size_t replay_pod_sets(uint32_t gpus, uint32_t most, struct mete_pod_set ret[2]);

void replay_srtf(struct replay *r);
void replay_mete(struct replay *r);
void replay_engine(struct replay *r, enum replay_policy policy);
