/* caller.h - the surroundings of a submission: directory, host, umask, environment (caller_linux.c)
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Texts are owned but for the environment. */
struct caller {
    char *cwd;
    char *host; /* short name */
    int64_t umask;
    const char *const *environment; /* ends with NULL */
};

/* Fails where the working directory is gone. */
struct err *caller_look(struct caller *ret) MUST_CHECK;
void caller_done(struct caller *c);
