/*
 * multi_prog.h - the file of srun --multi-prog: which task runs which program
 *
 * A line is "RANKS PROGRAM [ARGUMENT...]"; RANKS is "0-3,7" or "*", all others. In arguments %t is
 * the task's rank, %o its place in the line's ranks. A backslash joins the next line, and keeps a
 * blank; quotes hold arguments together; '#' begins a comment.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum {
    MULTI_PROG_MAX = 1 << 20 /* bytes of the file */
};

/* `*ret` is an array of `tasks` command lines, each an array of texts. ERR_INVALID names the line,
 * or a task without a program. */
struct err *multi_prog_read(struct str text, int64_t tasks, json_t **ret) MUST_CHECK;
