/* trace_file.h - the text of a trace, plain or compressed by gzip (trace_file_linux.c) */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum {
    TRACE_FILE_MAX = 1 << 30 /* bytes, once decompressed */
};

/*
 * All of `path` into `*ret`, which holds nothing before. A missing one is ERR_NOT_FOUND, one over
 * TRACE_FILE_MAX ERR_TOO_LARGE, a broken archive ERR_INVALID; each names the file.
 */
struct err *trace_file_read(const char *path, struct buf *ret) MUST_CHECK;
