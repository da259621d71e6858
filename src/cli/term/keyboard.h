/*
 * keyboard.h - standard input of a session: bytes as they arrive, a terminal in raw mode that is
 * restored at every exit, and changes of its size (keyboard_linux.c)
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end the session while a keyboard exists, unless its user
 * handles them.
 */
#pragma once

#include "cli/session.h"

struct keyboard;

struct keyboard_options {
    struct session *session;
    int fd;           /* standard input, or a pipe */
    bool is_raw;      /* the terminal passes on every key */
    bool can_detach;  /* Ctrl-P Ctrl-Q ends the session and is not passed on */
    bool reads_input; /* false: reports only the size */
    bool has_signals; /* the user handles signals */
    void (*input)(void *arg, struct str bytes);
    void (*end)(void *arg);       /* end of the input; may be NULL */
    size_t (*backlog)(void *arg); /* bytes not yet sent; while large, input is not read */
    void (*detached)(void *arg);  /* by Ctrl-P Ctrl-Q, or by a signal */
    void (*resized)(void *arg, uint16_t columns, uint16_t rows); /* called at the start, too */
    void *arg;
};

struct err *keyboard_new(const struct keyboard_options *o, struct keyboard **ret) MUST_CHECK;
/* Accepts NULL; restores the terminal. */
void keyboard_free(struct keyboard *k);

/* Reads again: the backlog was sent. */
void keyboard_resume(struct keyboard *k);

/* Writes all of `bytes` unchanged. */
struct err *pipe_write(int fd, struct str bytes) MUST_CHECK;
