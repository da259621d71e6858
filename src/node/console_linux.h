/* console_linux.h - the socket on which an OCI runtime gives us the master side of a terminal */
#pragma once

#include "base/loop.h"

struct console;

/* `fd` is the callback's, non-blocking; -1 with an error. Called once, from the loop. */
typedef void (*console_fn)(void *arg, const struct err *e, int fd);

/* Listens at DIR/console, whose path may have any length. */
struct err *console_new(struct loop *l, const char *dir, console_fn fn, void *arg,
                        struct console **ret) MUST_CHECK;
void console_free(struct console *c); /* accepts NULL; also from the callback */
