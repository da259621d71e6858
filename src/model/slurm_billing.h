/* slurm_billing.h - what a job costs: TRESBillingWeights of slurm.conf */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Amounts of a job, or of a part of it. */
struct slurm_billed {
    int64_t cpus;
    int64_t memory_mib;
    int64_t nodes;
    int64_t gpus;
    const char *model; /* of the gpus, in lower case; "": any */
};

/* Checks "CPU=1.0,Mem=0.25G,GRES/gpu=2.0,GRES/gpu:h100=4,Node=1": K, M, G, T, P of Mem are its
 * unit. ERR_INVALID says what is wrong. */
struct err *slurm_billing_check(const char *weights) MUST_CHECK;

/* The billing in millionths: the sum of amounts times weights; `is_max` (PriorityFlags=MAX_TRES):
 * the largest of them. Without weights the cpus. At most INT64_MAX / 4. */
int64_t slurm_billing_micro(const char *weights, const struct slurm_billed *of, bool is_max);
