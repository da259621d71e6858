/* slurm_env.h - the variables SLURM_* of a batch script, over those of the submission */
#pragma once

#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_pod.h"

/* The value of SLURM_ENVIRONMENT_ANNOTATION. The caller frees it. */
char *slurm_env(const struct slurm_element *e, const struct slurm_ask *ask);
