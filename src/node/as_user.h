/*
 * as_user.h - opens files with the rights of a user of the machine, in a thread of the worker
 * (as_user_linux.c)
 */
#pragma once

#include "node/host.h"

/* Makes this thread alone act as `user` on files, until as_user_end. */
struct err *as_user_begin(const struct host_user *user) MUST_CHECK;
/* Makes the thread root again. A failure ends the process, as it would open later files with wrong
 * rights. */
void as_user_end(void);

/* The input, output and errors of a program, as its user names them: absolute paths. */
struct user_streams {
    const char *input;  /* NULL: /dev/null */
    const char *output; /* NULL: /dev/null */
    const char *errors; /* NULL: the output */
    bool is_append;     /* the files keep their content */
    mode_t umask;       /* of new files */
};

/*
 * Opens the three files with the rights of `user`: new descriptors, closed by the caller. An output
 * is a new file or one of the user's, and a path that blocks, as a fifo without a reader, is an
 * error. ERR_INVALID: a file cannot be opened; the message says which, and why. The descriptors are
 * -1 then.
 */
struct err *as_user_open(const struct host_user *user, const struct user_streams *s,
                         int ret_fds[3]) MUST_CHECK;
