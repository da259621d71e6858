/*
 * openb_run.h - the pods of an openb trace through the real engine, each tried once, without ends
 *
 * A run has one policy and one seed, which selects the order of arrival and the ranks of nodes;
 * ranks break ties. A pod that does not fit is dropped, but counts as arrived.
 */
#pragma once

#include <stdbool.h>

#include "mete/engine.h"
#include "sim/openb.h"

enum openb_metric {
    OPENB_ALLOC_PCT,      /* allocated gpu in % of the capacity */
    OPENB_FRAG_RATIO_PCT, /* fragmented share of the idle gpu */
    OPENB_FRAG_AMOUNT,    /* fragmented gpu in % of the capacity */
    OPENB_METRICS
};

/* The result of a run. Column k is the mean over the attempts after which the gpu requested so far
 * was k % of the capacity, rounded. */
struct openb_curves {
    double at[OPENB_METRICS][OPENB_COLUMNS];
    bool has[OPENB_COLUMNS];
    int64_t allocated_milli; /* at the end */
    uint64_t pods;
    uint64_t dropped;
};

struct openb_run_options {
    const char *policy; /* of the engine */
    uint64_t seed;
    const struct mete_values *values; /* of policy mete; may be NULL */
};

const char *openb_metric_name(enum openb_metric metric); /* "alloc_pct", ... */

/* ERR_INVALID: no order or ranks of that seed, or the engine refuses a call. */
struct err *openb_run(const struct openb *o, const struct openb_run_options *options,
                      struct openb_curves *ret) MUST_CHECK;
