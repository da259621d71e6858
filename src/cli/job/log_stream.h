/*
 * log_stream.h - a container's log onto stdout, as it grows
 *
 * A stream that is cut is taken up again where it stopped: lines come with their times, the log is
 * asked for anew from the time of the last one, and what was shown of it is skipped. On a terminal
 * control bytes are taken out (text_escape.h).
 */
#pragma once

#include "cli/session.h"

struct log_stream;

struct log_options {
    struct cli *cli;
    struct session *session;
    const char *pod_path;  /* as of job_path */
    const char *container; /* NULL: the only one */
    int64_t tail;          /* last lines; -1: all */
    bool is_followed;
    bool is_raw;
    bool is_previous;
    bool has_stamps;             /* lines are shown with their times */
    int64_t since_ns;            /* only lines from then on, since 1970; 0: all */
    int64_t patience_ns;         /* how long a followed stream that is cut is tried again */
    void (*on_first)(void *arg); /* before the first byte; may be NULL */
    void (*on_end)(void *arg, const struct err *e);
    void *arg;
};

struct log_stream *log_stream_new(const struct log_options *o);
void log_stream_free(struct log_stream *l); /* accepts NULL */

/* From now on a cut is not waited out for long: the job has ended, so its log is whole or lost. */
void log_stream_hurry(struct log_stream *l);
