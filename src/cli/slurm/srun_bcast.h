/* srun_bcast.h - srun --bcast: copies the program of a step to its nodes */
#pragma once

#include "cli/slurm/slurm_command.h"
#include "slurm/submit.h"

struct srun_bcast {
    struct slurm_command *s;
    const struct slurm_submit *submit;
    const char *ns;      /* of the job's pods */
    const json_t *nodes; /* as in bcast.h */
    const char *cwd;
    const char *program; /* the first word of the command */
    int64_t job;
    int64_t step;
    bool is_het;
};

/* Copies the program if --bcast asks for it: `*ret` is then the path that the tasks run, which the
 * caller frees. ERR: it was not copied to all nodes. */
struct err *srun_bcast(const struct srun_bcast *o, char **ret) MUST_CHECK;
