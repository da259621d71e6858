/* launch_program_linux.h - Slurm's Prolog and Epilog: programs of root around a native attempt */
#pragma once

#include "base/err.h"
#include "node/runtime/native_plan.h"

/*
 * Runs the programs that `pattern` of the plan's site names (shell pattern; several in reverse
 * order of their names, as Slurm), one after the other, as root and outside of the job's cgroup.
 * Programs see only variables that Mete made: none of the job's user. `context` is "prolog" or
 * "epilog". An error says what program failed; the rest is not run. The caller blocks SIGCHLD.
 */
struct err *launch_programs_run(const struct native_plan *p, const char *pattern,
                                const char *context) MUST_CHECK;
