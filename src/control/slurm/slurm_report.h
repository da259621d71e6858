/*
 * slurm_report.h - the report of kinds/slurm/slurm_rows.h: jobs, nodes, partitions, configuration
 *
 * Rows are made in steps from what the controller holds; nothing is read from the store.
 */
#pragma once

#include "control/slurm/slurm_jobs.h"
#include "kinds/report.h"

/* For struct report_maker; `slurm` is the struct slurm_jobs. */
struct err *slurm_report_begin(void *slurm, const struct report_question *q, report_done_fn done,
                               void *done_arg, struct report **ret) MUST_CHECK;
void slurm_report_cancel(struct report *r);
/* Of rows of jobs alone; lasts a quarter of a second, for what changes with time. */
uint64_t slurm_report_stamp(void *slurm, const struct report_question *q);
