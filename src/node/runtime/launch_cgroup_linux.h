/*
 * launch_cgroup_linux.h - the cgroup of a native attempt, as its waiter makes, watches and removes
 * it
 *
 * v2: one directory, which the first process is cloned into. v1 and hybrid: one directory in each
 * hierarchy that limits or counts; the first process joins them before it runs the program.
 */
#pragma once

#include "node/runtime/cgroup_stats.h"
#include "node/runtime/native_plan.h"

enum {
    LAUNCH_JOINS_MAX = 8
};

struct launch_cgroup {
    const char *root; /* CGROUP_ROOT; tests use another */
    const char *path; /* "/mete/ID" */
    bool is_v2;
    int dir_fd;                          /* v2: of the directory; -1 in v1 */
    int join_fds[LAUNCH_JOINS_MAX];      /* v1: the first process writes "0" to each */
    const char *joins[LAUNCH_JOINS_MAX]; /* names of these hierarchies */
    size_t n_joins;
};

/* The cgroup of an attempt that is there already, with no descriptor open. */
struct launch_cgroup launch_cgroup_of(const char *root, const char *path);
/* Makes the directories, and sets limits and devices. */
struct err *launch_cgroup_make(const char *root, const struct native_plan *p,
                               struct launch_cgroup *ret) MUST_CHECK;
/* Joins the cgroup `name` of a command below `path` ("/mete/ID"). ERR_NOT_FOUND: it is gone. */
struct err *launch_cgroup_enter(const char *root, const char *path, const char *name) MUST_CHECK;
/* In the first process: joins the v1 hierarchies. Async-signal-safe. */
bool launch_cgroup_join(const struct launch_cgroup *c);

/* Sends SIGKILL to all processes. Returns how many there were. */
size_t launch_cgroup_kill(const struct launch_cgroup *c);
/* Sends the signal to the processes of a step (its number; NULL: of all); 0: only counts them.
 * Returns their number. */
size_t launch_cgroup_signal_steps(const struct launch_cgroup *c, const char *step, int signal);
/* CPU time and peak of memory; -1: unknown. */
void launch_cgroup_sample(const struct launch_cgroup *c, struct cgroup_stats *ret);
/* Has the kernel ended a process at the memory limit? */
bool launch_cgroup_had_oom(const struct launch_cgroup *c);
/* Removes the directories, and kills what commands left in theirs. False: some process is left. */
bool launch_cgroup_remove(const struct launch_cgroup *c);
