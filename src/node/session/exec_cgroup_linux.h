/*
 * exec_cgroup_linux.h - the cgroup of one command, below its container's: contains all processes
 * that the command started, also reparented processes and other sessions
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define EXEC_CGROUP_COMMAND "exec-"
#define EXEC_CGROUP_STEP    "step-" /* of Slurm's steps, whose processes get signals of their own */

struct exec_cgroup_options {
    const char *root;   /* CGROUP_ROOT */
    const char *path;   /* "/mete/ID" */
    const char *prefix; /* EXEC_CGROUP_COMMAND, EXEC_CGROUP_STEP */
    uint64_t number;    /* of the command in this process */
    /* Has a command not ended yet that may not have joined its cgroup `dir`? NULL: none. */
    bool (*is_used)(void *arg, const char *dir);
    void *arg;
};

/*
 * Makes the cgroup of a command below `path`. Gives its directory, and its name for `runc exec
 * --cgroup`; the caller frees both. Also removes empty cgroups of former commands. ERR_NOT_FOUND:
 * there is no `path`.
 */
struct err *exec_cgroup_make(const struct exec_cgroup_options *o, char **ret_dir,
                             char **ret_word) MUST_CHECK;

/* Is `name` one of a command's cgroup? */
bool exec_cgroup_is_name(const char *name);

/* Sends SIGKILL to all processes in the cgroup, again to those that fork meanwhile. Returns the
 * number of processes at first; they may take a moment to end. `dir` NULL: does nothing. */
size_t exec_cgroup_kill(const char *dir);

/* Sends the signal once to all processes in the cgroup; 0: only counts them. Returns their number.
 */
size_t exec_cgroup_signal(const char *dir, int signal);

/* Removes the cgroup if it is empty. Processes that a command leaves behind keep it until the
 * container ends. */
void exec_cgroup_remove(const char *dir);
