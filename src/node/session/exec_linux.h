/*
 * exec_linux.h - commands in running containers (exec_linux.c), and clients attached to a
 * container's own stdin and output (attach_linux.c): for runtime_crun_linux.c
 *
 * A command is a `crun exec` process that stays until the command has ended. Its descriptors are
 * our pipes, or for a terminal the master side that crun sends us. Its files are in
 * DATA/node/exec/<n>/. runc takes the same arguments.
 */
#pragma once

#include "node/runtime/proc_tree_linux.h"
#include "node/runtime/runtime.h"

struct crun;

struct exec *crun_exec(void *self, const struct runtime_exec *e);
struct exec *crun_attach(void *self, const struct runtime_exec *e);

/* Ends all commands, and all attached clients; no callback comes afterwards. */
void crun_end_execs(struct crun *r);
void crun_end_attached(struct crun *r);

/*
 * exec_walk_linux.c: walks /proc once in the worker `r->walker`, and kills all descendants of
 * `root` (the runtime process of command NUMBER) and all processes in `cgroup` (NULL: none). `done`
 * comes from the loop; the command may be gone by then.
 */
typedef void (*exec_walked_fn)(struct crun *r, uint64_t number, size_t n_killed);
void exec_walk(struct crun *r, uint64_t number, struct proc_root root, const char *cgroup,
               exec_walked_fn done);

/* At the start, in a worker: kills commands that an earlier node process left in containers, and
 * removes their files in `dir`, DATA/node/exec. */
struct err *exec_sweep(const char *dir) MUST_CHECK;
