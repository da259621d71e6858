/* fake_exec.h - commands in containers that do not exist: what they do is said by the test */
#pragma once

#include "base/vec.h"
#include "node/runtime/runtime.h"

struct fake_exec {
    struct exec exec;
    struct fake_execs *set;
    struct runtime_exec asked; /* its callbacks; id and process are these copies: */
    char *id;
    json_t *process;
    bool is_attach;
    uint16_t port; /* of a connection to one; its: */
    void (*output_end)(void *arg);
    bool is_input_ended;
    bool is_paused;
    bool is_cancelled;
    bool is_over;     /* ended or cancelled */
    struct buf input; /* what it was given */
    size_t backlog;   /* what it says that it has not taken */
    uint16_t columns;
    uint16_t rows;
    struct loop_timer *timer; /* its end, or its deadline */
};

/* {.loop = l}, then the knobs; at the end fake_execs_done. */
struct fake_execs {
    struct loop *loop;
    VEC(struct fake_exec *) all; /* all there ever were */
    bool is_held;                /* they go on until the test ends them, or their deadline */
    int code;                    /* else they end in the next turn with this code, */
    const char *output;          /* this on stdout (NULL: nothing), */
    const char *error;           /* or with this error, ERR_NOT_FOUND (NULL: none) */
};

struct exec *fake_exec_new(struct fake_execs *f, const struct runtime_exec *e, bool is_attach);
/* Its id is that of the pod's last container. */
struct exec *fake_exec_forward(struct fake_execs *f, const struct runtime_forward *o);
/* What one that is held does. */
void fake_exec_output(struct fake_exec *x, int fd, const char *text);
void fake_exec_end(struct fake_exec *x, int code);
void fake_execs_done(struct fake_execs *f);
