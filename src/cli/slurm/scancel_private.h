/* scancel_private.h - signals to jobs that go on, for scancel.c */
#pragma once

#include "cli/slurm/slurm_command.h"

struct scancel_signal {
    int number;       /* 0: the job ends */
    const char *to;   /* "first", "steps", "all": pods/signal */
    const char *step; /* NULL: all */
};

/* The signal that the command's words mean for a job, or for its step `step` (NULL: none), which it
 * borrows. A step without a signal is killed. */
struct scancel_signal scancel_signal_of(const struct slurm_words *w, const char *step);

/* Signals the running pods of the row's object, those of `elements` ("*": all) of an array. */
struct err *scancel_send(struct slurm_command *s, const struct scancel_signal *signal,
                         const json_t *row, const char *elements) MUST_CHECK;
