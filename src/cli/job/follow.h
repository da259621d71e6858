/*
 * follow.h - stays with a job until it ends: phases on stderr, its log on stdout, its exit code
 *
 * Ctrl-C once leaves the job alone and says how to come back, twice within 2 s cancels it; SIGTERM
 * leaves it alone.
 */
#pragma once

#include "cli/session.h"

struct follow_options {
    struct cli *cli;
    struct session *session;
    const json_t *pod;  /* as created */
    bool is_detached;   /* only until it is known whether it can ever run */
    bool allows_never;  /* a job that never fits is kept */
    int64_t timeout_ns; /* 0: none */
};

/*
 * Sets cli->exit_code to the job's, or 130 or 143 when it was left alone by a signal. Errors:
 * ERR_INVALID when it can never run (it is deleted then), ERR_TIMEOUT (it goes on), ERR_NOT_FOUND
 * when somebody deleted it.
 */
struct err *follow_job(const struct follow_options *o) MUST_CHECK;
