/* cgroup_remove_linux.h - removes cgroups of containers that the OCI runtime no longer knows */
#pragma once

#include <stdbool.h>

/*
 * Removes the cgroup `path` ("/mete/ID") with its children from the hierarchies at `root`
 * (CGROUP_ROOT): v2 if the root has cgroup.controllers, else each v1 hierarchy. Processes in it get
 * SIGKILL. False: some processes have not ended yet; call again.
 */
bool cgroup_remove(const char *root, const char *path);
