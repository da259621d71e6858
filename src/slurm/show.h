/* show.h - the texts of scontrol show: jobs, nodes, partitions and the configuration */
#pragma once

#include "slurm/columns.h"

struct slurm_show {
    const struct slurm_view *view;
    bool is_one_line; /* -o */
    bool is_detailed; /* -d */
};

/* Each adds one record, with the empty line behind it. */
void slurm_show_job(const struct slurm_show *s, const json_t *row, struct buf *out);
void slurm_show_node(const struct slurm_show *s, const json_t *row, struct buf *out);
void slurm_show_partition(const struct slurm_show *s, const json_t *row, struct buf *out);

/* Adds the record of a license, without an empty line. */
void slurm_show_license(const struct slurm_show *s, const json_t *row, struct buf *out);
/* A switch of topology.conf, always one line. */
void slurm_show_switch(const struct slurm_show *s, const json_t *row, struct buf *out);

/* Adds "Key = value" lines, sorted by key. */
void slurm_show_config(const struct slurm_show *s, const json_t *config, struct buf *out);
