/* exec_private_linux.h - a command under way, for exec_linux.c and the two runtimes */
#pragma once

#include "base/loop_linux.h"
#include "base/proc.h"
#include "node/runtime/oci.h"
#include "node/session/console_linux.h"
#include "node/session/exec_linux.h"
#include "node/session/feed_linux.h"

/* A descriptor with output. */
struct source {
    struct exec_child *child;
    int number;  /* 1 or 2 */
    int fd;      /* -1: ended, or not open yet */
    size_t left; /* after the command's end: bytes that may still be read */
    struct loop_io *io;
};

/* What differs between the runtimes. */
struct exec_backend {
    /* Prepares the command, of which `e` has id and process, before the first `enter`. */
    struct err *(*prepare)(struct exec_child *c, const struct runtime_exec *e);
    /* Starts the process, or sets `is_waiting` and the timer, to be called again. */
    struct err *(*enter)(struct exec_child *c);
    /* The error of a process that ended with `code` before it ran the command; NULL: it ran. */
    struct err *(*failure)(const struct exec_child *c, int code);
    /* Is the process the command itself, or else one that waits for the command? */
    bool is_direct;
};

struct exec_child {
    struct exec exec;
    struct exec_child *prev;
    struct exec_child *next;
    struct exec_set *set;
    const struct exec_backend *backend;
    void *runtime;         /* struct crun, struct native */
    struct runtime_exec o; /* without id and process */
    char *id;              /* of the attempt */
    uint64_t number;       /* of the command */
    enum oci_kind kind;    /* crun: the attempt's runtime */
    char *dir;             /* NULL: none */
    char *cgroup;          /* of the command's processes; NULL with crun: found by their parents */
    json_t *args;          /* native: the command */
    int failure_fd;        /* native: the process tells here why the command cannot run; -1: none */
    bool is_ended_all;     /* what the command leaves behind is killed, too */
    int64_t begun_ns;      /* monotonic */
    struct proc *proc;
    struct proc_root root; /* the identity of `proc` */
    struct feed feed;
    struct source sources[2];
    struct console *console; /* until the terminal comes */
    int terminal;            /* descriptor to set the size; -1: none */
    bool is_relayed;         /* the runtime relays the terminal, and must learn its size */
    struct loop_timer *deadline;
    struct loop_timer *timer; /* for actions from the loop: begin, kills, end */
    struct err *failed;
    int kill_rounds;
    int status;
    bool is_paused;
    bool is_waiting; /* for the container's program to begin */
    bool has_exited; /* or will never begin */
    bool is_timed_out;
    bool is_cancelled;
    bool is_being_killed; /* a walk is under way */
};

/* ---- exec_start_linux.c ---- */

/* Creates pipes for the streams that `c->o` wants, calls `run` with the command's ends (-1: none),
 * and opens ours. */
struct err *exec_start_with_pipes(struct exec_child *c,
                                  struct err *(*run)(struct exec_child *c,
                                                     const int fds[3])) MUST_CHECK;
/* Takes `fd`, the master side of the command's terminal. */
struct err *exec_take_terminal(struct exec_child *c, int fd) MUST_CHECK;

/* ---- exec_linux.c ---- */

/* Begins the command `e` of a runtime. */
struct exec *exec_new(struct exec_set *set, const struct exec_backend *backend, void *runtime,
                      const struct runtime_exec *e);

/* Is `dir` the cgroup of a command of `set` (struct exec_set) under way? */
bool exec_has_cgroup(void *set, const char *dir);
/* Reads the output of `fd`, which it takes over, from now on. */
void exec_source_open(struct source *s, int fd);
void exec_on_end(void *child, const struct proc_end *end);
void exec_resize(struct exec *x, uint16_t columns, uint16_t rows);
/* Kills the command's processes; again from the timer until the runtime process has ended. */
void exec_kill_round(struct exec_child *c);
