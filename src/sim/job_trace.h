/*
 * job_trace.h - traces of jobs: submit time, duration, gpus
 *
 * The header tells the three formats apart:
 *   own     submit_s,duration_s,gpus, and the optional columns of docs/simulator.md
 *   itp     job,submit_s,duration_s,num_gpu,model,batch_size,iterations,deadline_s
 *   philly  submit_s,duration_s,num_gpu,vc (whose users are the virtual clusters)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The largest values of fields. Sums over all jobs stay within int64. */
#define JOB_TIME_MAX_S (INT64_C(1) << 33)
enum {
    JOB_GPUS_MAX = 1 << 16,
    JOBS_MAX = 1 << 22
};

/* A value. */
struct sim_job {
    int64_t submit_s;
    int64_t duration_s; /* at least 1 */
    int64_t estimate_s; /* the duration as estimated before the run; at least 1 */
    int64_t milli;      /* gpus of all its pods, in 1/1000 */
    uint32_t gpus;      /* of all its pods, at least 1; each gpu may be a share */
    uint32_t user;      /* index into `users` */
    uint32_t ask;       /* index into job_trace_asks */
};

static inline double sim_job_gpus(const struct sim_job *j)
{
    return (double)j->milli / 1000;
}

/* A job's further requests, which a cluster knows and a pool of equal nodes does not. */
struct sim_ask {
    const char *queue;    /* "": none */
    const char *model;    /* "": any */
    const char *mig;      /* "": none; else `gpus` counts slices of this profile */
    int64_t limit_s;      /* the job ends at this limit; 0: none */
    int64_t gpu_bytes;    /* of each gpu, with a share; 0: in proportion to the compute */
    int64_t cpu_milli;    /* of each pod */
    int64_t memory_bytes; /* of each pod */
    int32_t priority;
    uint32_t gpu_milli; /* of each gpu; 1000: a whole gpu */
    uint32_t pods;      /* of a gang; 0: by the sizes of the cluster's nodes */
    uint32_t min_pods;  /* 0: all */
    bool is_preemptible;
};

/* Jobs by submit time; jobs of one second in the order of the file. */
struct job_trace;

struct job_trace_options {
    const char *vc; /* philly: only this virtual cluster; NULL: all */
};

/* `file` is for messages. ERR_INVALID: "file:line: what, and what would be right". */
struct err *job_trace_parse(const char *file, struct str text,
                            const struct job_trace_options *options,
                            struct job_trace **ret) MUST_CHECK;
void job_trace_free(struct job_trace *t);
static inline void job_trace_freep(struct job_trace **t)
{
    job_trace_free(*t);
}

size_t job_trace_count(const struct job_trace *t);
const struct sim_job *job_trace_jobs(const struct job_trace *t);

/* The requests that sim_job.ask points into. The first has no further requests. */
const struct sim_ask *job_trace_asks(const struct job_trace *t);

/* The first column that a pool of equal nodes cannot replay; NULL: none. */
const char *job_trace_needs_cluster(const struct job_trace *t);

/* The number of users in the trace. A trace without users has one, "". */
size_t job_trace_user_count(const struct job_trace *t);
const char *job_trace_user(const struct job_trace *t, size_t i);

/*
 * Sets the estimates: the true duration times a log-normal error with median 1 and the given
 * `sigma` of its logarithm (in 1/1000), equal for equal seeds. Sigma 0: the true duration.
 */
void job_trace_estimate(struct job_trace *t, int64_t sigma_milli, uint64_t seed);
