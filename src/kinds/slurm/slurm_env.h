/* slurm_env.h - the environment of a batch script: the variables of the submission, and SLURM_* */
#pragma once

#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_pod.h"

/* The `env` of a container: a new array. */
json_t *slurm_env(const struct slurm_element *e, const struct slurm_ask *ask);
