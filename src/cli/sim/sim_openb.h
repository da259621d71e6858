/* sim_openb.h - the FGD experiments: runs of a variant, and comparison with the published results
 */
#pragma once

#include "cli/sim/sim_compare.h"
#include "sim/openb_run.h"

/* A run of one policy with one seed. */
struct openb_trial {
    const char *policy; /* in the list of policies */
    uint64_t seed;
    struct openb_curves curves;
    struct err *failed;
    int64_t took_ns;
};

/* One variant. Start with {0}, then call sim_compare_read, read the files, then sim_openb_trials.
 */
struct openb_comparison {
    struct sim_compare compare; /* first member */
    struct openb_trial *runs;
};

void sim_openb_trials(struct openb_comparison *p);
struct err *sim_openb_run(struct cli *c, struct openb_comparison *p) MUST_CHECK;
void sim_openb_done(struct openb_comparison *p);

/*
 * Adds a row for each metric and seed of policy `i` ({metric, policy, seed, largest, at, allowed,
 * ok}); for policy random one row for the mean allocation over the seeds. ERR_INVALID: no
 * published results for the policy.
 */
struct err *sim_openb_differences(const struct openb_comparison *p, size_t i, json_t *rows,
                                  bool *ret_is_good) MUST_CHECK;

/* Prints the differences of --check; exit code 1 if a difference is too large. */
struct err *sim_openb_check(struct cli *c, const struct openb_comparison *p,
                            int64_t took_ns) MUST_CHECK;

/* --published DIR: runs all variants of DIR, in one table. */
struct err *sim_openb_published(struct cli *c) MUST_CHECK;

/* Returns the published curve, or NULL. */
const struct openb_published *sim_openb_find(const struct openb *o, enum openb_metric metric,
                                             const char *policy, uint64_t seed);
