/* slurm_env.h - the environment of a batch script: the variables of the submission, and SLURM_* */
#pragma once

#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_pod.h"

/* The value of SLURM_ENVIRONMENT_ANNOTATION. The caller frees it. */
char *slurm_env(const struct slurm_element *e, const struct slurm_ask *ask);
