/*
 * srun_het.h - the groups of a command line `srun A : B`, and the parts of a step in a
 * heterogeneous job
 *
 * A group runs its program on one component, or on those of --het-group. Each component of the step
 * is a part of it.
 */
#pragma once

#include "cli/slurm/srun.h"

/* The words between two ":", and what they say. The texts of the first group are borrowed. */
struct srun_group {
    const struct slurm_words *words;
    const struct slurm_submit *submit;
    struct slurm_words own_words;
    struct slurm_submit own_submit;
};

struct srun_part {
    struct slurm_submit submit; /* with the request of the component */
    json_t *allocation;         /* with the nodes of the component */
    struct step_make make;
};

struct srun_het {
    VEC(struct srun_group *) groups; /* at least one */
    VEC(struct srun_part *) parts;
};

/* Splits the words at ":"; `first` keeps those before. */
struct err *srun_het_split(struct srun_het *h, const struct slurm_option *options,
                           struct slurm_words *first, const struct slurm_submit *submit) MUST_CHECK;

/* The program of a group: its own, or that of the next group that has one. NULL: none. */
const struct slurm_words *srun_het_program(const struct srun_het *h, size_t group);

/* Adds the requests of the groups behind the first one to a new job. */
struct err *srun_het_put_components(const struct srun_het *h, struct slurm_submit *job) MUST_CHECK;

/* Does the step need the parts: is the job heterogeneous, or are there several groups? */
bool srun_het_is_needed(const struct srun_het *h, const json_t *allocation);

/* Makes the parts, and joins them in `make`, whose allocation and caller are set. */
struct err *srun_het_make(struct srun_het *h, const struct caller *caller,
                          struct step_make *make) MUST_CHECK;

void srun_het_done(struct srun_het *h);
