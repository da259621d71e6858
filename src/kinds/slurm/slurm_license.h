/*
 * slurm_license.h - licences: what the cluster has, and what a job asks for
 *
 * Licences are counted across all nodes. The key Licenses of the SlurmConfig lists them.
 */
#pragma once

#include "base/json.h"
#include "model/slurm_tres.h"

/* Reads NAME[:COUNT] with commas, as sbatch and slurm.conf have it; names twice are added up.
 * ERR_INVALID: "Invalid license specification". `*ret`, which must be empty, changes on success
 * only. */
struct err *slurm_licenses_parse(struct str text, struct slurm_tres *ret) MUST_CHECK;

/*
 * The licences of a job: as above, all of them, or with '|' in the place of commas one of them.
 * ERR_INVALID also where both are there.
 */
struct err *slurm_licenses_ask(struct str text, struct slurm_tres *ret,
                               bool *ret_is_any) MUST_CHECK;

/* Has the cluster, as the settings of the SlurmConfig say, as many licences as the job's `spec`
 * asks for? ERR_INVALID: "Invalid license specification". */
struct err *slurm_licenses_admit(const json_t *settings, const json_t *spec) MUST_CHECK;
