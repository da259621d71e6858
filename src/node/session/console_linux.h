/*
 * console_linux.h - terminals of commands in containers: a socket on which crun passes the master
 * side of the container's pty; for runc a pty pair of the node's own, which runc relays to the
 * container's
 */
#pragma once

#include "base/loop.h"

struct console;

/* The callback owns `fd`, which is non-blocking; -1 with an error. Called once, from the loop. */
typedef void (*console_fn)(void *arg, const struct err *e, int fd);

/* Listens at DIR/console; the path may have any length. */
struct err *console_new(struct loop *l, const char *dir, console_fn fn, void *arg,
                        struct console **ret) MUST_CHECK;
void console_free(struct console *c); /* accepts NULL; may be called from the callback */

/* Opens a pty pair, for a command of ours; the master is non-blocking. */
struct err *pty_open_cooked(uint16_t columns, uint16_t rows, int *ret_master,
                            int *ret_slave) MUST_CHECK;
/* Opens a pty pair in raw mode; the master is non-blocking. */
struct err *pty_open(uint16_t columns, uint16_t rows, int *ret_master, int *ret_slave) MUST_CHECK;
