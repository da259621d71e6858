/*
 * proc.h - child processes: started with clean descriptors, watched by pidfd, bounded in time
 * (proc_linux.c)
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct proc;

enum {
    PROC_FDS_MAX = 11
};

struct proc_options {
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH */
    bool is_self;            /* run the caller's own program, even if its path is out of the
                                child's reach; argv[0] is then only a name */
    const char *const *env;  /* NULL: the parent's */
    const char *cwd;         /* entered with the rights of `uid`; NULL: the parent's */

    /* fds[i] becomes descriptor i of the child; -1: /dev/null for i < 3, absent above. */
    int fds[PROC_FDS_MAX];
    size_t n_fds; /* 0: 0..2 are /dev/null, inherited, inherited */

    /* 0: unchanged; else setgid, setgroups({gid}), setuid, no_new_privs, no capabilities. */
    uid_t uid;
    gid_t gid;

    bool is_session;     /* setsid: survives the terminal */
    bool has_output;     /* stdout+stderr up to 64 KiB for the end callback; fds 1, 2 ignored */
    int64_t deadline_ns; /* 0: none; else then SIGKILL, to the whole group if is_session */
};

/* The end of a child. `status` as from waitpid; `output` is borrowed. */
struct proc_end {
    pid_t pid;
    int status;
    bool timed_out;
    struct str output;
};

typedef void (*proc_end_fn)(void *arg, const struct proc_end *end);

/*
 * Starts a child; the loop calls `fn` after the child was reaped, then the proc frees itself. The
 * child has only the named descriptors. `ret` may be NULL. Failures before the program runs (not in
 * PATH, no such directory, ...) are returned as errors.
 */
struct err *proc_start(struct loop *l, const struct proc_options *options, proc_end_fn fn,
                       void *arg, struct proc **ret) MUST_CHECK;
pid_t proc_pid(const struct proc *p);
void proc_kill(struct proc *p, int signal);

/* From now on the child's end calls `fn` with `arg`. */
void proc_hand_over(struct proc *p, proc_end_fn fn, void *arg);

/* Drops the callback; the child goes on and is reaped silently. */
void proc_abandon(struct proc *p);

/* "exited with 3" or "killed by SIGTERM"; the caller frees it. */
char *proc_format_status(int status);
