/*
 * slurm_hide.h - what of a Slurm job only its user and administrators may read
 *
 * All readers of a namespace see the jobs in it, as under Slurm. The script, the environment and
 * the submit line are for the user of the job.
 */
#pragma once

#include "base/json.h"

/* Is `object` a SlurmJob, or the pod of one, that another user than `user` submitted? */
bool slurm_is_of_another(const json_t *object, const char *user);

/* A copy of a SlurmJob, or of the pod of one, without what only its user may read. New reference.
 */
json_t *slurm_hide(const json_t *object);

/* Drops from the facts of SLURM_ACCOUNT_ANNOTATION what only the user may read. */
void slurm_hide_facts(json_t *facts);
