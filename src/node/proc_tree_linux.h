/* proc_tree_linux.h - a process and all that came of it */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

/*
 * SIGKILL for all descendants of `root` and for the sessions that they and it lead, not for `root`
 * itself. Returns how many there were. What forks meanwhile may be missed: call again until 0.
 */
size_t proc_tree_kill(pid_t root);

/* The same for each process of root's whose arguments, each ended by NUL, have `words` among them;
 * and for these processes too. */
void proc_tree_sweep(struct str words);
