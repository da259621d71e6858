/* cgroup_freeze.h - stops and continues all processes of a cgroup (cgroup_freeze_linux.c) */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * Stops the processes in the cgroup `path` ("/mete/ID") below `root` (CGROUP_ROOT) and in its
 * children, or lets them go on. v2: cgroup.freeze. v1: the freezer hierarchy, which the processes
 * are moved into; without one SIGSTOP and SIGCONT. Walks over the processes: for a worker. A cgroup
 * that is gone is no error.
 */
struct err *cgroup_freeze(const char *root, const char *path, bool is_frozen) MUST_CHECK;
