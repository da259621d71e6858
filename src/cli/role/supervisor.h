/* supervisor.h - the children of `mete up`: started, started again when they end, ended together
 * (supervisor_linux.c) */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

enum {
    CHILD_FDS_MAX = 8,
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
    /* A child ended and will be started again: `how` is "killed by SIGSEGV", `quick` how often in a
     * row it lived under 10 s. */
    void (*on_end)(void *arg, const char *name, const char *how, unsigned quick);
    void *arg;
};

struct supervisor;

struct supervisor *supervisor_new(const struct supervisor_options *o);
struct err *supervisor_add(struct supervisor *s, const struct child_spec *spec) MUST_CHECK;

/* SIGTERM to all, SIGKILL after 10 s; `fn` when all are gone, never from inside. */
void supervisor_stop(struct supervisor *s, loop_fn fn, void *arg);
void supervisor_free(struct supervisor *s); /* forgets children that still run */

/* How long a child waits that lived under 10 s `quick` times in a row: the first time not at all, 5
 * s at most. */
int64_t supervisor_delay_ns(unsigned quick);
