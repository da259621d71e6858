/*
 * exec_cgroup_linux.h - the cgroup of one command, below its container's: contains all processes
 * that the command started, also reparented processes and other sessions
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The commands that have not ended; a new command may not have joined its cgroup yet. */
struct exec_cgroup_users {
    bool (*has)(void *arg, const char *dir);
    void *arg;
};

/*
 * Makes the cgroup of command NUMBER of this process, below `path` ("/mete/ID") at `root`
 * (CGROUP_ROOT). Gives its directory, and its name for `runc exec --cgroup`; the caller frees both.
 * Also removes empty cgroups of former commands, except those of `users` (may be NULL).
 */
struct err *exec_cgroup_make(const char *root, const char *path, uint64_t number,
                             const struct exec_cgroup_users *users, char **ret_dir,
                             char **ret_word) MUST_CHECK;

/* Sends SIGKILL to all processes in the cgroup, again to those that fork meanwhile. Returns the
 * number of processes at first; they may take a moment to end. `dir` NULL: does nothing. */
size_t exec_cgroup_kill(const char *dir);

/* Removes the cgroup if it is empty. Processes that a command leaves behind keep it until the
 * container ends. */
void exec_cgroup_remove(const char *dir);
