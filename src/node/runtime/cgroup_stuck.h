/* cgroup_stuck.h - the process that keeps a cgroup from ending (cgroup_stuck_linux.c) */
#pragma once

/*
 * Describes a process of the cgroup `path` ("/mete/ID") below `root` (CGROUP_ROOT), in state D if
 * there is one: "process 4711 (python) waits in the kernel, at nvidia_ioctl". NULL: the cgroup has
 * no process. The caller frees it. `proc` is "/proc"; tests use others.
 */
char *cgroup_stuck(const char *root, const char *proc, const char *path);
