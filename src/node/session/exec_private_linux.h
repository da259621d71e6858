/* exec_private_linux.h - a command in a container, for exec_linux.c and exec_start_linux.c */
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

struct exec_child {
    struct exec exec;
    struct exec_child *prev;
    struct exec_child *next;
    struct crun *r;
    struct runtime_exec o; /* without id and process */
    char *id;              /* of the attempt */
    uint64_t number;       /* of the command */
    enum oci_kind kind;    /* the attempt's runtime */
    char *dir;
    char *cgroup; /* of the command's processes; NULL with crun: found by their parents */
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

/* Starts the runtime process, with pipes or a terminal as `c->o` says. */
struct err *exec_start(struct exec_child *c) MUST_CHECK;

/* ---- exec_linux.c ---- */

/* Reads the output of `fd`, which it takes over, from now on. */
void exec_source_open(struct source *s, int fd);
void exec_on_end(void *child, const struct proc_end *end);
void exec_resize(struct exec *x, uint16_t columns, uint16_t rows);
/* Kills the command's processes; again from the timer until the runtime process has ended. */
void exec_kill_round(struct exec_child *c);
