/* slurm_env.h - the variables SLURM_* of a batch script, over those of the submission */
#pragma once

#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_pod.h"

/* The switches in the labels of a node, the widest first: "core.rack1."; "": none. The caller frees
 * it. */
char *slurm_switches_text(const json_t *labels);

/* Puts SLURM_TOPOLOGY_ADDR and its pattern for a node below these switches into `env`. */
void slurm_topology_put(const char *switches, const char *node, json_t *env);

/* The value of SLURM_ENVIRONMENT_ANNOTATION. The caller frees it. */
char *slurm_env(const struct slurm_element *e, const struct slurm_ask *ask);
