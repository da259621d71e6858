/*
 * proc_tree_linux.h - a process and all that came of it
 *
 * Each call walks over all of /proc: a worker makes it, not the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* A process for good: a pid alone is another's once its process was reaped. {0} is none. */
struct proc_root {
    pid_t pid;
    int64_t start; /* in clock ticks since the boot: proc(5) */
};

/* Reads that of `pid`, of a child that was not reaped yet; {0} where it cannot be read. */
struct proc_root proc_root_of(pid_t pid);

/*
 * SIGKILL for all descendants of `root` and for the sessions that they and it lead, not for `root`
 * itself. Returns how many there were; none where `root` was reaped. What forks meanwhile may be
 * missed: call again until 0.
 */
size_t proc_tree_kill(struct proc_root root);

/* The same for each process of root's whose arguments, each ended by NUL, have `words` among them;
 * and for these processes too. */
void proc_tree_sweep(struct str words);
