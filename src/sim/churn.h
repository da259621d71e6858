/*
 * churn.h - arrivals and ends of an openb trace's pods, through the real engine
 *
 * Pods picked at random from the trace arrive as a Poisson process, each for one of the trace's
 * running times, so that their requests are `load` of the gpus on average. A run begins in the
 * steady state, with running pods. A pod that does not fit at its arrival is rejected. The same
 * seed gives every policy the same pods at the same times.
 */
#pragma once

#include "mete/engine.h"
#include "sim/openb.h"

struct churn_options {
    const char *policy; /* of the engine */
    uint64_t seed;
    uint32_t load_pct;                /* 1 .. 200 */
    size_t arrivals;                  /* pods that arrive after the beginning */
    const struct mete_values *values; /* of policy mete; may be NULL */
};

/* Figures over the last four fifths of the time. */
struct churn {
    double allocated_pct;     /* of all gpu, mean over time */
    double fragmented_pct;    /* of all gpu, mean over time */
    double rejected_pct;      /* of the pods */
    double rejected_gpu_pct;  /* of the requested gpu */
    double rejected_work_pct; /* of the requested gpu time */
    uint64_t pods;
};

/* ERR_INVALID: the trace has no running times, or the engine refuses a call. */
struct err *churn_run(const struct openb *o, const struct churn_options *options,
                      struct churn *ret) MUST_CHECK;
