/*
 * log_reader.h - the lines of one attempt's log, over all its parts, from where it was asked for to
 * its end, and on while it grows
 */
#pragma once

#include "base/loop.h"
#include "node/log/crilog.h"

struct log_reader;

struct log_reader_options {
    const char *path;   /* DIR/CONTAINER/ATTEMPT.log */
    int64_t tail_lines; /* the last so many whole lines; -1: all */
    int64_t since_ns;   /* lines that began then or later, since 1970; 0: all */
};

/* What a step found. */
enum log_step {
    LOG_MORE, /* there is more now */
    LOG_END,  /* that was all that is there: more may come */
};

/* False: no more lines are wanted. */
typedef bool (*log_line_fn)(void *arg, const struct crilog_line *line);

/* ERR_NOT_FOUND: there is no log (yet). */
struct err *log_reader_new(const struct log_reader_options *o, struct log_reader **ret) MUST_CHECK;
void log_reader_free(struct log_reader *r); /* accepts NULL */

/* Reads one chunk of the disk at most; calls `fn` for each line, or part of a line, in it. */
struct err *log_reader_step(struct log_reader *r, log_line_fn fn, void *arg,
                            enum log_step *ret) MUST_CHECK;

/* The text of the last lines, `max_lines` and `max_bytes` of it at most; "" where there is no log.
 * The caller frees it. */
char *log_reader_tail(const char *path, int64_t max_lines, size_t max_bytes);

/* Calls `fn` in the loop after something was written. Fails where the kernel has no more watches:
 * the caller looks again by a timer. */
struct err *log_reader_watch(struct log_reader *r, struct loop *l, loop_fn fn,
                             void *arg) MUST_CHECK;
