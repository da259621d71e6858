/* srun.h - the parts of srun: the command, the run of a step, its output */
#pragma once

#include "cli/slurm/allocate.h"
#include "slurm/step_make.h"

/* What srun writes to: labels, and files of -o and -e. */
struct srun_output;

struct srun_output_options {
    const struct slurm_submit *submit; /* borrowed, as is `make` */
    const struct step_make *make;
    bool is_terminal[2]; /* stdout and stderr of srun */
};

/* ERR: a file of -o or -e cannot be opened. */
struct err *srun_output_new(const struct srun_output_options *o,
                            struct srun_output **ret) MUST_CHECK;
/* `stream` 0: stdout of the task, 1: its stderr. */
struct err *srun_output_write(struct srun_output *o, size_t stream, uint32_t rank,
                              struct str bytes) MUST_CHECK;
/* Writes lines without an end, and frees; accepts NULL. */
void srun_output_free(struct srun_output *o);

/* How the step ended. */
struct srun_end {
    int code;        /* of srun: the highest of its tasks */
    int task_code;   /* highest exit code of a task */
    int task_signal; /* highest signal that ended one */
    bool is_cancelled;
    json_t *usage; /* owned; NULL: unknown */
};

struct srun_run_options {
    struct slurm_command *s;
    const struct slurm_submit *submit;
    struct step_make *make;
    const char *ns;
};

/* Starts the tasks of the registered step, and runs the loop until all are over. */
struct err *srun_run_step(const struct srun_run_options *o, struct srun_end *ret) MUST_CHECK;
