/*
 * follow.h - follows a job until it ends: state changes on stderr, its log on stdout, its exit
 * code
 *
 * The first Ctrl-C detaches and prints how to follow the job again; a second one within 2 s
 * cancels the job. SIGTERM detaches.
 */
#pragma once

#include "cli/session.h"

struct follow_options {
    struct cli *cli;
    struct session *session;
    const json_t *pod;  /* as created */
    bool is_detached;   /* follow only until it is known whether the job can ever run */
    bool allows_never;  /* keep a job that never fits */
    int64_t timeout_ns; /* 0: none */
};

/*
 * Sets cli->exit_code to the job's code, or to 130 or 143 after a signal detached. Errors:
 * ERR_INVALID: the job can never run (and is deleted); ERR_TIMEOUT: the job continues;
 * ERR_NOT_FOUND: the job was deleted.
 */
struct err *follow_job(const struct follow_options *o) MUST_CHECK;
