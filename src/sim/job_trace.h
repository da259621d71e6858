/*
 * job_trace.h - jobs that were once submitted: when, for how long, with how many gpus
 *
 * Three formats, told apart by their header:
 *   own     submit_s,duration_s,gpus and, each if wanted, those of docs/simulator.md
 *   itp     job,submit_s,duration_s,num_gpu,model,batch_size,iterations,deadline_s
 *   philly  submit_s,duration_s,num_gpu,vc (whose users are the virtual clusters)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* What a field may be at most; sums over all jobs stay within int64. */
#define JOB_TIME_MAX_S (INT64_C(1) << 33)
enum {
    JOB_GPUS_MAX = 1 << 16,
    JOBS_MAX = 1 << 22
};

/* A value. */
struct sim_job {
    int64_t submit_s;
    int64_t duration_s; /* at least 1 */
    int64_t estimate_s; /* what is known of the duration before it ran; at least 1 */
    int64_t milli;      /* gpus of all its pods, in 1/1000 */
    uint32_t gpus;      /* of all its pods, at least 1; each may be a share */
    uint32_t user;      /* index into `users` */
    uint32_t ask;       /* index into what is asked for */
};

static inline double sim_job_gpus(const struct sim_job *j)
{
    return (double)j->milli / 1000;
}

/* What a job says beside: the pool of equal nodes has none of it, a cluster has. */
struct sim_ask {
    const char *queue;    /* "": none */
    const char *model;    /* "": any */
    const char *mig;      /* "": none; else `gpus` counts slices of this profile */
    int64_t limit_s;      /* 0: none; it is ended then */
    int64_t gpu_bytes;    /* of each gpu, with a share; 0: as large a part as of the compute */
    int64_t cpu_milli;    /* of each pod */
    int64_t memory_bytes; /* of each pod */
    int32_t priority;
    uint32_t gpu_milli; /* of each gpu; 1000: all of it */
    uint32_t pods;      /* a gang; 0: as the cluster's nodes make it */
    uint32_t min_pods;  /* 0: all */
    bool is_preemptible;
};

/* Jobs by submit time, those of one second as in the file. */
struct job_trace;

struct job_trace_options {
    const char *vc; /* of philly: this virtual cluster only; NULL: all */
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

/* Of sim_job.ask. The first is what jobs ask for that say nothing. */
const struct sim_ask *job_trace_asks(const struct job_trace *t);

/* The first column of the header that a pool of equal nodes cannot replay; NULL: none. */
const char *job_trace_needs_cluster(const struct job_trace *t);

/* Users that the trace names; one, "", where it names none. */
size_t job_trace_user_count(const struct job_trace *t);
const char *job_trace_user(const struct job_trace *t, size_t i);

/*
 * What users would have said: the true duration times a log-normal error with median 1 and the
 * `sigma` of its logarithm (in 1/1000), the same for the same seed. 0: the truth.
 */
void job_trace_estimate(struct job_trace *t, int64_t sigma_milli, uint64_t seed);
