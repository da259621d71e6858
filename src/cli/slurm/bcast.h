/* bcast.h - copies of a file to the nodes of a job: sbcast, and srun --bcast */
#pragma once

#include "cli/slurm/slurm_command.h"

struct bcast {
    const char *ns;      /* of the job's pods */
    const json_t *nodes; /* of SLURM_REPORT_PATH, "allocation": node, pod */
    const char *source;
    const char *target; /* absolute; the same on each node */
    bool replaces;      /* a file that exists there */
    bool keeps_times;
};

/*
 * Copies the file to all nodes at once, as the user of the job; mode bits are kept. `*ret_failed`:
 * the copy failed on a node, for each of which a message was printed. ERR: the source cannot be
 * read, or a connection cannot be opened.
 */
struct err *bcast_run(struct slurm_command *s, const struct bcast *b, bool *ret_failed) MUST_CHECK;

/* The absolute name of a copy: `target`, in which a last '/' stands for the name of the source. The
 * caller frees it. */
char *bcast_target(const char *cwd, const char *source, const char *target);
