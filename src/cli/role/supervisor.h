/* supervisor.h - the children of `mete up`: starts, restarts and ends them (supervisor_linux.c) */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

enum {
    CHILD_FDS_MAX = 11,
    CHILD_ARGS_MAX = 160
};

struct child_spec {
    const char *name; /* "server" */
    const char
        *argv[CHILD_ARGS_MAX]; /* NULL-terminated; the texts live as long as the supervisor */
    int fds[CHILD_FDS_MAX];    /* as in struct proc_options */
    size_t n_fds;
    uid_t uid; /* 0: root */
    gid_t gid;
};

struct supervisor_options {
    struct loop *loop;
    /* Called when a child ended and will be restarted: `how` is "killed by SIGSEGV", `quick` the
     * number of times in a row that the child lived under 10 s. */
    void (*on_end)(void *arg, const char *name, const char *how, unsigned quick);
    void *arg;
};

struct supervisor;

struct supervisor *supervisor_new(const struct supervisor_options *o);
struct err *supervisor_add(struct supervisor *s, const struct child_spec *spec) MUST_CHECK;

/* Sends SIGTERM to all, SIGKILL after 10 s; calls `fn` when all have ended, never from within this
 * call. */
void supervisor_stop(struct supervisor *s, loop_fn fn, void *arg);
void supervisor_free(struct supervisor *s); /* does not end running children */

/* The delay before the restart of a child that lived under 10 s `quick` times in a row: none the
 * first time, at most 5 s. */
int64_t supervisor_delay_ns(unsigned quick);
