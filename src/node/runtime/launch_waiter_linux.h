/* launch_waiter_linux.h - the waiter of a native attempt, and the first process of its job */
#pragma once

#include "node/runtime/launch_cgroup_linux.h"
#include "node/runtime/native_plan.h"

struct launch_task {
    const char *id;
    const char *cgroup_root;
    int fd;                  /* the attempt's file */
    bool is_oom_score_reset; /* the launcher is protected from the OOM killer, the job is not */
};

/* Runs one attempt to its end, in a process of its own. The exit status is 0 if the end was
 * written. */
int launch_wait(const struct launch_task *t);

/* Why a first process could not run its program. */
enum launch_step {
    LAUNCH_CGROUP,
    LAUNCH_IDENTITY,
    LAUNCH_DIRECTORY,
    LAUNCH_INPUT,
    LAUNCH_OUTPUT,
    LAUNCH_ERRORS,
    LAUNCH_FDS,
    LAUNCH_EXEC
};

struct launch_failure {
    enum launch_step step;
    int number; /* errno */
};

/* ---- launch_child_linux.c ---- */

/* Takes the identity for good. False: errno tells why. */
bool launch_become(const struct native_plan *p);
/* Is the process protected from the OOM killer, or exposed to it? */
bool launch_has_oom_score(void);
void launch_reset_oom_score(void);
/* Gives a forked child the default actions of signals, and unblocks them. */
void launch_reset_signals(void);
/* Runs args[0], found in the PATH of `env` if it has no '/'. Returns on failure, with errno. */
void launch_run(char *const *args, const char *const *env);

/* Becomes the job's program, in a forked child. On failure writes a
 * launch_failure to `report_fd` and exits with 127. */
_Noreturn void launch_child(const struct launch_task *t, const struct native_plan *p,
                            const struct launch_cgroup *c, int report_fd);
