/* exec_files_linux.h - the files of one command in DATA/node/exec/<n>/: process.json and log */
#pragma once

#include "node/runtime/crun_attempt_linux.h"

/* Makes `dir`, and writes the command's process.json there. ERR_INVALID: no command, or a bad
 * working directory. */
struct err *exec_write_process(const char *dir, const struct crun_attempt *b,
                               const struct runtime_exec *e) MUST_CHECK;

/*
 * The cause of the runtime's failure, from its log in `dir`: the first error, from which later
 * errors follow; without an error the last line, and `*ret_is_error` is false. NULL: no or empty
 * log. The caller frees it.
 */
char *exec_read_cause(const char *dir, bool *ret_is_error);
