/*
 * console_linux.h - terminals of commands in containers: the socket on which crun gives us the
 * master side of the container's own; a pair of ours for runc, which relays between that and the
 * container's
 */
#pragma once

#include "base/loop.h"

struct console;

/* `fd` is the callback's, non-blocking; -1 with an error. Called once, from the loop. */
typedef void (*console_fn)(void *arg, const struct err *e, int fd);

/* Listens at DIR/console, whose path may have any length. */
struct err *console_new(struct loop *l, const char *dir, console_fn fn, void *arg,
                        struct console **ret) MUST_CHECK;
void console_free(struct console *c); /* accepts NULL; also from the callback */

/* A pair in raw mode; the master does not block. */
struct err *pty_open(uint16_t columns, uint16_t rows, int *ret_master, int *ret_slave) MUST_CHECK;
