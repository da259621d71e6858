/* log_file.h - a growing file, read at any offset and watched (log_file_linux.c) */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct log_file;

/* ERR_NOT_FOUND: the file does not exist (yet). */
struct err *log_file_open(const char *path, struct log_file **ret) MUST_CHECK;
void log_file_free(struct log_file *f); /* accepts NULL */

int64_t log_file_size(const struct log_file *f);
uint64_t log_file_inode(const struct log_file *f); /* 0: unknown */

/* Reads up to `size` bytes at `offset`; `*ret_size` 0: the file's end. */
struct err *log_file_read(const struct log_file *f, int64_t offset, void *bytes, size_t size,
                          size_t *ret_size) MUST_CHECK;

/* Calls `fn` in the loop after each write from now on. Fails if the kernel has no more watches: the
 * caller then polls by a timer. */
struct err *log_file_watch(struct log_file *f, struct loop *l, loop_fn fn, void *arg) MUST_CHECK;
