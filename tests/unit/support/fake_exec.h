/* fake_exec.h - fake commands in containers, controlled by the test */
#pragma once

#include "base/vec.h"
#include "node/runtime/runtime.h"

struct fake_exec {
    struct exec exec;
    struct fake_execs *set;
    struct runtime_exec asked; /* the request; its id and process are the copies below */
    char *id;
    json_t *process;
    bool is_attach;
    uint16_t port; /* for a connection to a port, with output_end */
    void (*output_end)(void *arg);
    bool is_input_ended;
    bool is_paused;
    bool is_cancelled;
    bool is_over;     /* ended or cancelled */
    struct buf input; /* all input so far */
    size_t backlog;   /* reported bytes of input not yet taken */
    uint16_t columns;
    uint16_t rows;
    struct loop_timer *timer; /* the command's end or deadline */
};

/* {.loop = l}, then the knobs; at the end fake_execs_done. */
struct fake_execs {
    struct loop *loop;
    VEC(struct fake_exec *) all; /* also the ended ones */
    bool is_held;       /* commands run until the test ends them, or until their deadline */
    int code;           /* else commands end in the next turn with this code, */
    const char *output; /* this on stdout (NULL: nothing), */
    const char *error;  /* or with this error, ERR_NOT_FOUND (NULL: none) */
};

struct exec *fake_exec_new(struct fake_execs *f, const struct runtime_exec *e, bool is_attach);
/* The fake's id is that of the pod's last container. */
struct exec *fake_exec_forward(struct fake_execs *f, const struct runtime_forward *o);
/* Output and end of a held command. */
void fake_exec_output(struct fake_exec *x, int fd, const char *text);
void fake_exec_end(struct fake_exec *x, int code);
void fake_execs_done(struct fake_execs *f);
