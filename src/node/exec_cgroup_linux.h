/*
 * exec_cgroup_linux.h - a command's own cgroup, below its container's: what it started is in it,
 * whoever its parent is by now and whatever session it leads
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Makes one for the command NUMBER of this process below `path` ("/mete/ID") of the cgroups at
 * `root` (CGROUP_ROOT). Gives its directory, and the word that `runc exec --cgroup` has for it.
 * Free both. Removes those that former commands left empty: `is_used` (NULL: none is) says of a
 * directory that it belongs to a command that has not ended, and may not have joined it yet.
 */
struct err *exec_cgroup_make(const char *root, const char *path, uint64_t number,
                             bool (*is_used)(void *arg, const char *dir), void *arg, char **ret_dir,
                             char **ret_word) MUST_CHECK;

/* SIGKILL for all that is in it, again for what forks meanwhile. Returns how many were there at
 * first; they may take a moment to be gone. `dir` may be NULL: nothing. */
size_t exec_cgroup_kill(const char *dir);

/* Where it is empty; what a command leaves running stays in it until the container ends. */
void exec_cgroup_remove(const char *dir);
