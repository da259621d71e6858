/*
 * sacct_use.h - the fields of sacct about what a job used
 *
 * sacct_put_use gives a row the members "cpuNs", "memoryPeakBytes", "gpuBusyNs",
 * "gpuMemoryPeakBytes" and "energyMj", as far as an account has them.
 */
#pragma once

#include "slurm/columns.h"

void sacct_put_use(json_t *row, const json_t *account);

/* Write a field of a row, as struct slurm_column says. */
typedef void sacct_field_fn(const json_t *row, const struct slurm_view *v, struct buf *out);
sacct_field_fn sacct_max_rss, sacct_max_rss_node, sacct_max_rss_task;
sacct_field_fn sacct_total_cpu, sacct_ave_cpu, sacct_min_cpu, sacct_min_cpu_node,
    sacct_min_cpu_task, sacct_tasks;
sacct_field_fn sacct_energy, sacct_energy_raw;
sacct_field_fn sacct_tres_amount, sacct_tres_node, sacct_tres_task;
