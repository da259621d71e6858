/*
 * keyboard.h - standard input as a session wants it: bytes as they come, a terminal in raw mode
 * that is restored on every way out, and its size as it changes (keyboard_linux.c)
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end the session while a keyboard is there.
 */
#pragma once

#include "cli/session.h"

struct keyboard;

struct keyboard_options {
    struct session *session;
    int fd;           /* of the input: standard input, or a pipe */
    bool is_raw;      /* the terminal passes every key on */
    bool can_detach;  /* Ctrl-P Ctrl-Q is kept, and ends the session */
    bool reads_input; /* else only the size is told */
    void (*input)(void *arg, struct str bytes);
    void (*end)(void *arg);       /* of the input; may be NULL */
    size_t (*backlog)(void *arg); /* nothing more is read while it is large */
    void (*detached)(void *arg);  /* by the keys, or by a signal */
    void (*resized)(void *arg, uint16_t columns, uint16_t rows); /* also once at the begin */
    void *arg;
};

struct err *keyboard_new(const struct keyboard_options *o, struct keyboard **ret) MUST_CHECK;
/* Accepts NULL; the terminal is as it was before. */
void keyboard_free(struct keyboard *k);

/* The backlog has gone. */
void keyboard_resume(struct keyboard *k);

/* All of `bytes`, as they are. */
struct err *pipe_write(int fd, struct str bytes) MUST_CHECK;
