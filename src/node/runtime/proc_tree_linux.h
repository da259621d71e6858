/*
 * proc_tree_linux.h - a process and its descendants
 *
 * Each call walks all of /proc: for a worker, not the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* The identity of a process: the kernel reuses a pid once its process is reaped. {0} is none. */
struct proc_root {
    pid_t pid;
    int64_t start; /* in clock ticks since the boot: proc(5) */
};

/* The identity of `pid`, a child that is not reaped yet; {0}: unreadable. */
struct proc_root proc_root_of(pid_t pid);

/*
 * Sends SIGKILL to all descendants of `root`, and to all processes in the sessions that `root` and
 * they lead, but not to `root` itself. Returns their number; 0 if `root` was reaped. May miss
 * processes that fork meanwhile: call again until 0.
 */
size_t proc_tree_kill(struct proc_root root);

/* The same for each process of the user root whose arguments (each ended by NUL) contain `words`;
 * kills these processes too. */
void proc_tree_sweep(struct str words);
