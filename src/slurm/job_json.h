/* job_json.h - jobs as documents: of squeue, scontrol and slurmrestd, and of the accounting */
#pragma once

#include "slurm/columns.h"
#include "slurm/document.h"

/* {"jobs": [...], "last_update", "meta", "errors", "warnings"}. New reference. */
json_t *slurm_jobs_document(const json_t *rows, const struct slurm_view *v);

/* The same of the accounting: rows of sacct, where the steps of a job follow it (member "step").
 * New reference. */
json_t *slurm_accounts_document(const json_t *rows, const struct slurm_view *v);

/* {"status", "return_code", "signal"} of the code and the signal in two members. New reference. */
json_t *slurm_exit_code(const json_t *row, const char *key, const char *signal_key);

/* ["RUNNING", "COMPLETING"]. New reference. */
json_t *slurm_states_array(const json_t *row);
