/*
 * submit_het.h - the components of heterogeneous submissions: `sbatch A : B`, "#SBATCH hetjob"
 *
 * Options of a component hold for those behind it, but for the requests of resources:
 * https://slurm.schedmd.com/heterogeneous_jobs.html
 */
#pragma once

#include "slurm/submit.h"

/* Begins the component behind `before`. The caller applies its options, and calls
 * slurm_submit_done.
 */
void slurm_submit_component_begin(const struct slurm_submit *before, struct slurm_submit *next);

/*
 * Adds the component to the spec of the job. ERR_INVALID: a member of the whole job differs from
 * that of the first component, or there are too many components.
 */
struct err *slurm_submit_component_end(struct slurm_submit *job,
                                       const struct slurm_submit *component) MUST_CHECK;
