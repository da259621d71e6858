/*
 * churn.h - pods of an openb trace that come and end, through the real engine
 *
 * Pods picked at random from the trace arrive at random moments (a Poisson process), each for one
 * of the trace's running times, so that what they ask for is `load` of the gpus on average. A run
 * begins in the steady state: with pods that are under way already. A pod that has no place when it
 * arrives is rejected. The same seed gives every policy the same pods at the same moments.
 */
#pragma once

#include "mete/engine.h"
#include "sim/openb.h"

struct churn_options {
    const char *policy; /* of the engine */
    uint64_t seed;
    uint32_t load_pct;                /* 1 .. 200 */
    size_t arrivals;                  /* how many pods come after the beginning */
    const struct mete_values *values; /* of policy mete; may be NULL */
};

/* Over the last four fifths of the time. */
struct churn {
    double allocated_pct;     /* of all gpu, mean over time */
    double fragmented_pct;    /* likewise */
    double rejected_pct;      /* of the pods */
    double rejected_gpu_pct;  /* of the gpu that they asked for */
    double rejected_work_pct; /* of the gpu time */
    uint64_t pods;
};

/* ERR_INVALID: the trace does not say how long pods ran, or the engine refuses something. */
struct err *churn_run(const struct openb *o, const struct churn_options *options,
                      struct churn *ret) MUST_CHECK;
