/* trace_file.h - the text of a trace, plain or compressed by gzip (trace_file_linux.c) */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum {
    TRACE_FILE_MAX = 1 << 30 /* bytes, once decompressed */
};

/*
 * Reads the whole file into `*ret`, which must be empty. A missing file is ERR_NOT_FOUND, a file
 * over TRACE_FILE_MAX ERR_TOO_LARGE, a broken archive ERR_INVALID; each error names the file.
 */
struct err *trace_file_read(const char *path, struct buf *ret) MUST_CHECK;
