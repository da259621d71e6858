/* steps.h - steps in tables: squeue -s, scontrol show step, the rows of sacct and sstat */
#pragma once

#include "slurm/columns.h"
#include "slurm/show.h"

/* Of squeue -s; ends with a NULL header. */
extern const struct slurm_column slurm_step_columns[];
extern const char slurm_step_format[]; /* what squeue -s prints by default */

/* Adds one record with the empty line behind it. */
void slurm_show_step(const struct slurm_show *s, const json_t *row, struct buf *out);

/*
 * The rows "steps" whose names are in `list`, "12,13.0,14_3.1" (NULL: all). New reference.
 * ERR_INVALID: a malformed name.
 */
struct err *slurm_steps_choose(const json_t *rows, const char *list, json_t **ret) MUST_CHECK;

/* The numbers of the jobs in such a list, as slurm_ids_parse has them: "12,13,14_3". */
struct err *slurm_steps_jobs(const char *list, struct buf *out) MUST_CHECK;

/* A row of sacct for a step, from the rows of its job and of the step. New reference. */
json_t *slurm_step_account(const json_t *job, const json_t *step);

/* The steps of live jobs and those in the rows of accounting, each once, in the order of jobs and
 * numbers. New reference. */
json_t *slurm_steps_join(const json_t *live, const json_t *accounts);
