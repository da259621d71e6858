/*
 * exec_linux.h - commands in running containers (exec_linux.c), and who is joined to a container's
 * own input and output (attach_linux.c): for runtime_crun_linux.c
 *
 * A command is a `crun exec` that stays until it has ended; its descriptors are our pipes, or for a
 * terminal the master side that crun sends us. What it needs lies in DATA/node/exec/<n>/ meanwhile.
 * runc takes the same words.
 */
#pragma once

#include "node/runtime/proc_tree_linux.h"
#include "node/runtime/runtime.h"

struct crun;

struct exec *crun_exec(void *self, const struct runtime_exec *e);
struct exec *crun_attach(void *self, const struct runtime_exec *e);

/* Ends all of them; no callback comes after it. */
void crun_end_execs(struct crun *r);
void crun_end_attached(struct crun *r);

/* exec_walk_linux.c: one walk over /proc in the worker `r->walker`, which kills all that came of
 * `root`, the runtime of command NUMBER, and all in `cgroup` (NULL: none). `done` comes from the
 * loop; the command may be gone by then. */
typedef void (*exec_walked_fn)(struct crun *r, uint64_t number, size_t n_killed);
void exec_walk(struct crun *r, uint64_t number, struct proc_root root, const char *cgroup,
               exec_walked_fn done);

/* At the start, in a worker: ends what an earlier node left in containers, and its files in `dir`,
 * DATA/node/exec. */
struct err *exec_sweep(const char *dir) MUST_CHECK;
