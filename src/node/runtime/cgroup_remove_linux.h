/* cgroup_remove_linux.h - the cgroups of a container that the runtime does not know (any more) */
#pragma once

#include <stdbool.h>

/*
 * Removes `path` ("/mete/ID") and all below it from the hierarchies at `root` (CGROUP_ROOT): v2
 * where the root has cgroup.controllers, else each of v1. What still runs there gets SIGKILL.
 * False: not all is gone yet, as processes take a moment to end; call again.
 */
bool cgroup_remove(const char *root, const char *path);
