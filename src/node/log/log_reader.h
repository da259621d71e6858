/*
 * log_reader.h - reads the lines of one attempt's log over all its parts, from a given place to the
 * end, and on as the log grows
 */
#pragma once

#include "base/loop.h"
#include "node/log/crilog.h"

struct log_reader;

struct log_reader_options {
    const char *path;   /* DIR/CONTAINER/ATTEMPT.log */
    int64_t tail_lines; /* number of last whole lines to read; -1: all */
    int64_t since_ns;   /* only lines from that time on, since 1970; 0: all */
};

/* The result of a step. */
enum log_step {
    LOG_MORE, /* more to read now */
    LOG_END,  /* the present end; more may come */
};

/* False: the caller wants no more lines. */
typedef bool (*log_line_fn)(void *arg, const struct crilog_line *line);

/* ERR_NOT_FOUND: the log does not exist (yet). */
struct err *log_reader_new(const struct log_reader_options *o, struct log_reader **ret) MUST_CHECK;
void log_reader_free(struct log_reader *r); /* accepts NULL */

/* Reads at most one chunk from the disk; calls `fn` for each line, or part of a line, in it. */
struct err *log_reader_step(struct log_reader *r, log_line_fn fn, void *arg,
                            enum log_step *ret) MUST_CHECK;

/* The text of the last lines, at most `max_lines` and `max_bytes`; "": no log. The caller frees the
 * text. */
char *log_reader_tail(const char *path, int64_t max_lines, size_t max_bytes);

/* Calls `fn` in the loop after each write. Fails if the kernel has no more watches: the caller then
 * polls by a timer. */
struct err *log_reader_watch(struct log_reader *r, struct loop *l, loop_fn fn,
                             void *arg) MUST_CHECK;
