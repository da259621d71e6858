/* job_columns.h - the columns of squeue: cells of rows of jobs (kinds/slurm/slurm_rows.h) */
#pragma once

#include "slurm/columns.h"

/* Ends with a NULL header. */
extern const struct slurm_column slurm_job_columns[];

/* A slurm_rank_fn: numbers, times, states. */
bool slurm_job_rank(const struct slurm_column *column, const json_t *row, int64_t *ret);

/* Adds the number as clients name the job: "12", "12_3", "12_[0-9,12%4]". `v` may be NULL. */
void slurm_job_name_format(const json_t *row, const struct slurm_view *v, struct buf *out);
/* Adds the waiting elements of an array, "0-9,12%4", cut as Slurm does. `v` may be NULL. */
void slurm_job_indexes_format(const json_t *row, const struct slurm_view *v, struct buf *out);
/* Adds the numbers of all components of a heterogeneous job, "12-14". */
void slurm_het_set_format(const json_t *row, struct buf *out);

/* The seconds that the job has run. */
int64_t slurm_job_elapsed(const json_t *row, const struct slurm_view *v);

/* Rows with a row for each waiting element of an array. New reference. */
json_t *slurm_job_rows_expand(const json_t *rows);
