/*
 * log_stream.h - a container's log onto stdout, as it grows
 *
 * A broken stream resumes where it stopped: lines carry their times, the log is requested again
 * from the time of the last line, and the part already shown is skipped. On a terminal control
 * bytes are removed (text_escape.h).
 */
#pragma once

#include "cli/session.h"

struct log_stream;

struct log_options {
    struct cli *cli;
    struct session *session;
    const char *pod_path;  /* from job_path */
    const char *container; /* NULL: the only container */
    int64_t tail;          /* number of last lines; -1: all */
    bool is_followed;
    bool is_raw;
    bool is_previous;
    bool has_stamps;             /* show the times of lines */
    int64_t since_ns;            /* only lines since this time (since 1970); 0: all */
    int64_t patience_ns;         /* how long a broken stream is retried when following */
    void (*on_first)(void *arg); /* called before the first byte; may be NULL */
    void (*on_end)(void *arg, const struct err *e);
    void *arg;
};

struct log_stream *log_stream_new(const struct log_options *o);
void log_stream_free(struct log_stream *l); /* accepts NULL */

/* The job has ended, so its log is complete or lost: shortens the time for retries. */
void log_stream_hurry(struct log_stream *l);
