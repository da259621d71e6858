/*
 * native_linux.h - attempts of the native runtime: their state in the node, and the launcher
 *
 * `create` commits the attempt's file (native_file_linux.h), several at a time. `start` locks and
 * marks it and queues it for the launcher (launch_helper.h), which forks a waiter. After a restart
 * the file and its lock alone tell the state:
 *
 *   an end                                   ended: the waiter wrote it once nothing of it was left
 *   no end, an intent of an earlier boot     ended, code unknown, marked or not
 *   no mark                                  intended: created anew
 *   a mark, the lock is held                 running
 *   a mark, no lock, no pid of a waiter      intended: the start was lost on its way
 *   a mark, no lock, a waiter's pid          the waiter was killed: the node empties the cgroup,
 * then it is ended, code unknown
 */
#pragma once

#include "base/map.h"
#include "base/proc.h"
#include "base/vec.h"
#include "node/runtime/native_file_linux.h"
#include "node/runtime/runtime.h"
#include "node/session/exec_linux.h"
#include "node/worker.h"

struct native_attempt;
struct native_commit;
struct native_kill;
struct native_listing;
struct refused;

/* An answer to be given from the loop. */
struct native_answer {
    runtime_done_fn done;
    void *arg;
    struct err *e;
};

struct native {
    struct runtime runtime;
    struct loop *loop;
    char *dir; /* DATA/node/native */
    char *mask_dir;
    char *boot_id;
    char *launcher_program; /* NULL: this one */
    char *cgroup_root;
    struct native_attempt *attempts;
    struct worker *worker;        /* commits and removals */
    VEC(char *) due;              /* ids of attempts to commit */
    struct native_commit *commit; /* under way; NULL: none */
    VEC(struct native_answer) answers;
    struct loop_timer *answer_timer;
    struct refused *refusals; /* execs that cannot be */
    struct exec_set execs;
    struct native_kill *kills;
    struct native_listing *listing; /* a `list` under way */

    VEC(char *) queue; /* ids of marked attempts for the launcher */
    struct proc *launcher;
    struct loop_timer *launcher_timer;
    int socket; /* to the launcher; -1: none */
    struct loop_io *socket_io;
    int report; /* from launcher and waiters */
    struct loop_io *report_io;
    struct buf report_text;
};

struct native_attempt {
    struct map_handle handle;
    struct native *n;
    char *id;
    json_t *intent;
    char *document; /* until the commit; NULL: committed */
    enum runtime_state state;
    struct runtime_exit exit;
    char *message; /* of the exit */
    struct usage usage;
    bool is_usage_read;
    int64_t usage_saved_ns; /* monotonic */
    int fd;                 /* of the marked file, until it is sent; -1: none */
    int pidfd;              /* of an adopted waiter */
    struct loop_io *pidfd_io;
    struct loop_timer *timer; /* looks again */
    bool is_suspended;
    bool is_being_removed;
    runtime_done_fn done; /* of create */
    void *done_arg;
    VEC(struct native_answer) removals;
};

/* ---- native_attempt_linux.c ---- */

struct native_attempt *native_find(struct native *n, const char *id);
struct native_attempt *native_attempt_new(struct native *n, const char *id, const json_t *intent);
void native_attempt_free(struct native_attempt *a);
char *native_attempt_path(const struct native_attempt *a);
char *native_usage_path(const struct native_attempt *a);
/* Finds the state from the file; `is_told`: a change is reported by on_change. */
void native_inspect(struct native_attempt *a, bool is_told);
/* The attempt ended as the waiter's report says. */
void native_ended(struct native_attempt *a, const json_t *end, bool is_told);
bool native_usage(void *self, const char *id, struct usage *ret);
void native_add_gpus(void *self, const char *id, const struct gpu_used *g);
/* Sends a value of LAUNCH_SIGNAL to the waiter. False: no waiter has begun yet. */
bool native_signal(struct native_attempt *a, int value);

/* ---- native_launcher_linux.c ---- */

/* Sends the queue, and starts the launcher if there is none. */
void native_flush(struct native *n);
/* Ends the launcher, not its waiters. */
void native_launcher_end(struct native *n);

/* ---- native_exec_linux.c ---- */

struct exec *native_exec(void *self, const struct runtime_exec *e);
/* Kills the commands that an earlier node process left in the attempt. */
void native_sweep_execs(const struct native_attempt *a);

/* ---- native_refuse.c: execs that end with an error ---- */

struct exec *native_refuse_attach(void *self, const struct runtime_exec *e);
struct exec *native_refuse_forward(void *self, const struct runtime_forward *f);
void native_end_refusals(struct native *n);

/* ---- runtime_native_linux.c ---- */

/* Answers from the loop; takes `e`. */
void native_answer(struct native *n, runtime_done_fn done, void *arg, struct err *e);
