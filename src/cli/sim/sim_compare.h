/* sim_compare.h - runs of several policies with several seeds, in parallel, for openb and churn */
#pragma once

#include "cli/sim/sim.h"
#include "mete/engine.h"
#include "sim/openb.h"
#include "sim/value_table.h"

enum {
    SIM_SEEDS_MAX = 1000,
    SIM_POLICIES_MAX = 16
};

/* {0} before sim_compare_read; free with sim_compare_done. */
struct sim_compare {
    struct openb *trace;
    struct value_table *values; /* of policy mete, if compared */
    struct mete_values view;
    char *policies[SIM_POLICIES_MAX];
    size_t n_policies;
    uint64_t seeds[SIM_SEEDS_MAX];
    size_t n_seeds;
    size_t n_runs; /* policies × seeds, by policy */
    struct sim_progress progress;
};

/* Reads --policies (default `fallback`) and --seeds; the trace stays empty. */
struct err *sim_compare_read(struct cli *c, struct sim_compare *p, const char *fallback) MUST_CHECK;
void sim_compare_done(struct sim_compare *p);

typedef struct err *(*sim_read_fn)(struct openb *o, const char *file, struct str text);

/* Reads the file of the required flag `flag` into the trace. */
struct err *sim_compare_file(struct cli *c, struct sim_compare *p, const char *flag,
                             sim_read_fn read) MUST_CHECK;

/* Sets the values of policy mete, if the policy is compared: from --values, or learned from the
 * trace. */
struct err *sim_compare_values(struct cli *c, struct sim_compare *p) MUST_CHECK;

/* Calls `run(arg, i)` for each run, --threads at a time. `arg` begins with a struct sim_compare. */
struct err *sim_compare_run(struct cli *c, void (*run)(void *arg, size_t i), void *arg) MUST_CHECK;
