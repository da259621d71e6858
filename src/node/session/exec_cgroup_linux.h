/*
 * exec_cgroup_linux.h - a command's own cgroup, below its container's: what it started is in it,
 * whoever its parent is by now and whatever session it leads
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The commands that have not ended; one that was just started may not have joined its own yet. */
struct exec_cgroup_users {
    bool (*has)(void *arg, const char *dir);
    void *arg;
};

/*
 * Makes one for the command NUMBER of this process below `path` ("/mete/ID") of the cgroups at
 * `root` (CGROUP_ROOT). Gives its directory, and the word that `runc exec --cgroup` has for it.
 * Free both. Removes those that former commands left empty, but for those of `users` (may be NULL).
 */
struct err *exec_cgroup_make(const char *root, const char *path, uint64_t number,
                             const struct exec_cgroup_users *users, char **ret_dir,
                             char **ret_word) MUST_CHECK;

/* SIGKILL for all that is in it, again for what forks meanwhile. Returns how many were there at
 * first; they may take a moment to be gone. `dir` may be NULL: nothing. */
size_t exec_cgroup_kill(const char *dir);

/* Where it is empty; what a command leaves running stays in it until the container ends. */
void exec_cgroup_remove(const char *dir);
