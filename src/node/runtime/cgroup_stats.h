/* cgroup_stats.h - what an attempt uses, from its cgroup, and what this machine does
 * (cgroup_stats_linux.c) */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* -1: this kernel does not tell. */
struct cgroup_stats {
    int64_t cpu_ns;            /* since the cgroup was made */
    int64_t memory_bytes;      /* working set: without the page cache that is not in use */
    int64_t memory_peak_bytes; /* the most there ever was, page cache and all */
};

/*
 * Of `path` ("/mete/ID", as cgroupsPath has it) below `root` (CGROUP_ROOT; tests have another): v2
 * where the root has cgroup.controllers, else the v1 hierarchies cpuacct and memory, of a hybrid
 * layout too. ERR_NOT_FOUND where there is no such cgroup.
 */
struct err *cgroup_stats_read(const char *root, const char *path,
                              struct cgroup_stats *ret) MUST_CHECK;

struct machine_load {
    int64_t cpu_ns;       /* of all cores since the boot */
    int64_t memory_bytes; /* in use: all but what is available */
};

/* Of `proc` ("/proc"). */
struct err *machine_load_read(const char *proc, struct machine_load *ret) MUST_CHECK;
