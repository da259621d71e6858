/*
 * top_job.h - one job for `mete top`: why it waits, its times, what its gpus do, and its log
 *
 * A Job is shown by one of its pods: a running one, else a waiting one.
 */
#pragma once

#include "cli/session.h"
#include "cli/top/top_lines.h"

struct top_job;

struct top_job_options {
    struct session *session;
    const char *ns;
    const char *name;
    bool is_batch;
    bool is_utf8;                 /* the terminal shows block characters */
    void (*on_change)(void *arg); /* new lines */
    /* The end of a refresh; `e` is borrowed. */
    void (*on_refreshed)(void *arg, const struct err *e);
    void *arg;
};

struct top_job *top_job_new(const struct top_job_options *o);
void top_job_free(struct top_job *j); /* accepts NULL; no callback after it */

/* Begins a refresh, unless one is under way. */
void top_job_refresh(struct top_job *j);

/* The facts, and the last lines of the log. Borrowed. */
const struct top_lines *top_job_facts(const struct top_job *j);
const struct top_lines *top_job_log(const struct top_job *j);
