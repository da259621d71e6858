/*
 * job_trace.h - jobs that were once submitted: when, for how long, with how many gpus
 *
 * Three formats, told apart by their header:
 *   own     submit_s,duration_s,gpus and, each if wanted, user,queue,priority,limit_s
 * (docs/simulator.md) itp job,submit_s,duration_s,num_gpu,model,batch_size,iterations,deadline_s
 *   philly  submit_s,duration_s,num_gpu,vc
 */
#pragma once

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
    uint32_t gpus;      /* at least 1 */
    uint32_t user;      /* index into `users` */
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

/* Users that the trace names; one, "", where it names none. */
size_t job_trace_user_count(const struct job_trace *t);
const char *job_trace_user(const struct job_trace *t, size_t i);

/*
 * What users would have said: the true duration times a log-normal error with median 1 and the
 * `sigma` of its logarithm (in 1/1000), the same for the same seed. 0: the truth.
 */
void job_trace_estimate(struct job_trace *t, int64_t sigma_milli, uint64_t seed);
