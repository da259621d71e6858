/* cgroup_stats.h - the usage of an attempt, from its cgroup, and of this machine
 * (cgroup_stats_linux.c) */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* -1: this kernel does not tell the value. */
struct cgroup_stats {
    int64_t cpu_ns;            /* since the creation of the cgroup */
    int64_t memory_bytes;      /* working set: without inactive page cache */
    int64_t memory_peak_bytes; /* maximum so far, with page cache */
};

/*
 * Reads the cgroup `path` ("/mete/ID", as in cgroupsPath) below `root` (CGROUP_ROOT; tests use
 * another): v2 if the root has cgroup.controllers, else the v1 hierarchies cpuacct and memory, also
 * of a hybrid layout. ERR_NOT_FOUND: no such cgroup.
 */
struct err *cgroup_stats_read(const char *root, const char *path,
                              struct cgroup_stats *ret) MUST_CHECK;

struct machine_load {
    int64_t cpu_ns;       /* all cores, since boot */
    int64_t memory_bytes; /* in use: total minus available */
};

/* Reads the machine's load from `proc` ("/proc"). */
struct err *machine_load_read(const char *proc, struct machine_load *ret) MUST_CHECK;
