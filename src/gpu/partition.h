/*
 * partition.h - the steps that make a gpu's MIG instances those that are wanted
 *
 * Only the difference is changed: instances that pods hold stay, wanted instances that are there
 * stay, and others go. That the result fits is proven by model/mig.h before the first step. A plan
 * is made from what the driver has, so after a crash at any step a new plan completes the change.
 */
#pragma once

#include "base/json.h"
#include "gpu/gpu_wish.h"

enum partition_op {
    PARTITION_ENABLE, /* MIG mode on */
    PARTITION_DISABLE,
    PARTITION_DESTROY, /* gpu_instance */
    PARTITION_CREATE   /* profile, start, size */
};

enum {
    PARTITION_STEPS_MAX = 2 * GPU_SLICES_MAX + 2
};

struct partition_step {
    enum partition_op op;
    char profile[GPU_PROFILE_SIZE];
    unsigned start;
    unsigned size; /* in memory slices */
    unsigned gpu_instance;
};

/* A value; {0}: nothing is to be done. */
struct partition_plan {
    struct partition_step steps[PARTITION_STEPS_MAX];
    size_t n;
};

/*
 * Makes the plan for `g`, as the driver lists it. A wish that was not asked for (is_asked) changes
 * nothing. GPU_WISH_FLEXIBLE: the slices that pods hold have to be there, MIG goes off for a pod
 * that holds the gpu whole, and all else stays; if a change of MIG needs a reset of the gpu, MIG
 * goes on first, when no pod holds the gpu. ERR_CONFLICT: a holder is in the way, by name.
 * ERR_INVALID: the gpu cannot have these instances. `*ret` changes on success only.
 */
struct err *partition_plan_make(const struct gpu *g, const struct gpu_wish *w,
                                const struct gpu_holding *holdings, size_t n,
                                struct partition_plan *ret) MUST_CHECK;

/* The plan as a JSON array of steps, and back. */
json_t *partition_plan_format(const struct partition_plan *p);
struct err *partition_step_parse(const json_t *j, struct partition_step *ret) MUST_CHECK;
