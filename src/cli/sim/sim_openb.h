/* sim_openb.h - the FGD experiments: runs of a variant, compared with what was published */
#pragma once

#include "cli/sim/sim_compare.h"
#include "sim/openb_run.h"

/* One policy with one seed. */
struct openb_trial {
    const char *policy; /* in the comparison's list */
    uint64_t seed;
    struct openb_curves curves;
    struct err *failed;
    int64_t took_ns;
};

/* One variant: {0}, then sim_compare_read, then the files, then sim_openb_trials. */
struct openb_comparison {
    struct sim_compare compare; /* first */
    struct openb_trial *runs;
};

void sim_openb_trials(struct openb_comparison *p);
struct err *sim_openb_run(struct cli *c, struct openb_comparison *p) MUST_CHECK;
void sim_openb_done(struct openb_comparison *p);

/*
 * Adds a row for each metric and seed of policy `i` ({metric, policy, seed, largest, at, allowed,
 * ok}); of random, one of what the mean of the seeds allocates. ERR_INVALID: nothing was published
 * of it.
 */
struct err *sim_openb_differences(const struct openb_comparison *p, size_t i, json_t *rows,
                                  bool *ret_is_good) MUST_CHECK;

/* Prints each difference, of --check; not as published is exit code 1. */
struct err *sim_openb_check(struct cli *c, const struct openb_comparison *p,
                            int64_t took_ns) MUST_CHECK;

/* --published DIR: all variants there, one table. */
struct err *sim_openb_published(struct cli *c) MUST_CHECK;

/* The published curve, or NULL. */
const struct openb_published *sim_openb_find(const struct openb *o, enum openb_metric metric,
                                             const char *policy, uint64_t seed);
