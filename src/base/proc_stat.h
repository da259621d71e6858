/* proc_stat.h - what /proc/PID/stat says of a process */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers as proc(5) has them. */
struct proc_stat {
    char name[32];
    bool is_dead; /* ended, not reaped yet */
    int64_t parent;
    int64_t session;
    int64_t flags; /* of the kernel */
    int64_t start; /* in clock ticks since the boot; with the pid, the identity of the process */
};

/* False: there is no such process. */
bool proc_stat_read(int64_t pid, struct proc_stat *ret);
