/* submit_options.h - the table of options of sbatch, salloc and srun */
#pragma once

#include "slurm/submit.h"

struct submit_option {
    const char *name;
    char letter;
    enum slurm_takes takes;
    const char *variable; /* behind "SBATCH_" and "SALLOC_"; NULL: none */
    unsigned commands;    /* enum slurm_submitter; 0: all */
    /* Applies a value; NULL: none was given. */
    struct err *(*read)(struct slurm_submit *s, const struct submit_option *o, const char *value);
    const char *key; /* member of the spec; of refused and harmless options: the reason */
};

/* Ends with a NULL name. */
extern const struct submit_option submit_options[];

/* Values of options (submit_values.c): each puts the member `key`. */
typedef struct err *submit_read_fn(struct slurm_submit *s, const struct submit_option *o,
                                   const char *value);
submit_read_fn submit_text, submit_count, submit_memory, submit_time, submit_moment, submit_on;
submit_read_fn submit_off, submit_gres, submit_gpus, submit_hosts, submit_array, submit_nodes;
submit_read_fn submit_exclusive, submit_signal, submit_nice, submit_chdir, submit_open_mode;
submit_read_fn submit_mail_type, submit_hold, submit_kill_on_invalid, submit_container;
submit_read_fn submit_tres_per_task, submit_no_kill, submit_nodefile, submit_export_file;
submit_read_fn submit_switches, submit_tmp;
/* Reads "N[@TIME]" into `switches` and `switchesWait`, which is SLURM_SWITCH_WAIT_S at most. */
struct err *slurm_switches_read(struct str text, json_t *spec) MUST_CHECK;
/* The same for members of the step. */
submit_read_fn submit_step_text, submit_step_on, submit_step_seconds;

/* The variables that srun reads: those of the environment of jobs among them. Ends with NULL. */
struct submit_variable {
    const char *name;
    const char *option;
};
extern const struct submit_variable srun_variables[];

/* Adds the warning "--NAME: REASON". */
void submit_warn(struct slurm_submit *s, const struct submit_option *o, const char *reason);
