/* log_dirs.h - a watch on the directories in which conmon puts new log files (log_dirs_linux.c) */
#pragma once

#include "base/err.h"
#include "base/loop.h"

struct log_dirs;

/* Calls `fn` with the number of a directory in which a file was renamed; -1: events were lost, look
 * at all directories. Fails if the kernel has no more inotify instances. */
struct err *log_dirs_new(struct loop *l, void (*fn)(void *arg, int number), void *arg,
                         struct log_dirs **ret) MUST_CHECK;
void log_dirs_free(struct log_dirs *d); /* accepts NULL */

/* Adding a directory again returns its former number. */
struct err *log_dirs_add(struct log_dirs *d, const char *dir, int *ret_number) MUST_CHECK;
void log_dirs_remove(struct log_dirs *d, int number);
