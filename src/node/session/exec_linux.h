/*
 * exec_linux.h - commands in running attempts (exec_linux.c), and clients attached to a
 * container's own stdin and output (attach_linux.c)
 *
 * In a container, a command is a `crun exec` process that stays until the command has ended. Its
 * descriptors are our pipes, or for a terminal the master side that crun sends us. Its files are in
 * DATA/node/exec/<n>/. runc takes the same arguments. In a native attempt the process becomes the
 * command itself (native_exec_linux.c).
 */
#pragma once

#include "node/runtime/proc_tree_linux.h"
#include "node/runtime/runtime.h"
#include "node/worker.h"

struct crun;
struct exec_child;

/* The commands of one runtime. */
struct exec_set {
    struct loop *loop;
    struct worker *walker;  /* walks over /proc and cgroups */
    struct exec_child *all; /* exec_private_linux.h */
    uint64_t n;             /* commands begun by this process so far */
};

struct exec *crun_exec(void *self, const struct runtime_exec *e);
struct exec *crun_attach(void *self, const struct runtime_exec *e);

/* Ends all commands, and all attached clients; no callback comes afterwards. */
void exec_end_all(struct exec_set *set);
void crun_end_attached(struct crun *r);

/*
 * exec_walk_linux.c: walks /proc once in the worker `set->walker`, and kills all descendants of
 * `root` (the process of command NUMBER; {0}: none) and all processes in `cgroup` (NULL: none).
 * `done` comes from the loop; the command may be gone by then.
 */
typedef void (*exec_walked_fn)(struct exec_set *set, uint64_t number, size_t n_killed);
void exec_walk(struct exec_set *set, uint64_t number, struct proc_root root, const char *cgroup,
               exec_walked_fn done);

/* At the start, in a worker: kills commands that an earlier node process left in containers, and
 * removes their files in `dir`, DATA/node/exec. */
struct err *exec_sweep(const char *dir) MUST_CHECK;
