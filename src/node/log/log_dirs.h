/* log_dirs.h - directories in which conmon puts new files: who hears of it (log_dirs_linux.c) */
#pragma once

#include "base/err.h"
#include "base/loop.h"

struct log_dirs;

/* `fn` with the number of the directory in which something was renamed; -1: something was missed,
 * all are to be looked at. Fails where the kernel has no more of what it takes. */
struct err *log_dirs_new(struct loop *l, void (*fn)(void *arg, int number), void *arg,
                         struct log_dirs **ret) MUST_CHECK;
void log_dirs_free(struct log_dirs *d); /* accepts NULL */

/* A directory again has the number that it had. */
struct err *log_dirs_add(struct log_dirs *d, const char *dir, int *ret_number) MUST_CHECK;
void log_dirs_remove(struct log_dirs *d, int number);
