/*
 * allocate.h - jobs without a script: salloc and srun make them, wait for their nodes and end them
 */
#pragma once

#include "cli/slurm/caller.h"
#include "cli/slurm/slurm_command.h"
#include "slurm/submit.h"

struct allocation {
    struct slurm_command *s; /* borrowed */
    int64_t job_id;
    char *ns; /* of the SlurmJob */
    char *name;
    json_t *report; /* SLURM_REPORT_PATH, "allocation"; NULL: not read yet */
    int signal;     /* set by the user: the wait ends with ERR_TIMEOUT */
    bool is_ours;   /* made by allocation_create, and not ended */
};

/* Creates the job; the request is `submit->spec`, which gets the texts of the caller. */
struct err *allocation_create(struct allocation *a, struct slurm_submit *submit,
                              const struct caller *caller, const char *fallback_name) MUST_CHECK;

/* Reads what the job of the number or element `id` has. ERR_NOT_FOUND: no such job. */
struct err *allocation_find(struct allocation *a, const char *id) MUST_CHECK;

/* Waits until steps can start on all nodes, and says so with the messages of Slurm. `immediate_s`
 * -1: waits without end. ERR_TIMEOUT: a signal, or the time is over; the job is then ended.
 * ERR_EXPIRED: the job ended. */
struct err *allocation_wait(struct allocation *a, int64_t immediate_s, bool is_quiet) MUST_CHECK;

/* Is the job over, as last read? */
bool allocation_has_ended(const struct allocation *a);

/* The names of its nodes, a hostlist. The caller frees it. */
char *allocation_nodes(const struct allocation *a);

/* Ends the job: its state becomes that of the exit code. */
struct err *allocation_end(struct allocation *a, int code, int signal) MUST_CHECK;

/* Runs the loop for a while, or until session_stop. */
struct err *allocation_pause(struct slurm_command *s, int64_t ms) MUST_CHECK;

void allocation_done(struct allocation *a);
