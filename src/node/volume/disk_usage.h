/* disk_usage.h - the disk usage of a directory tree (disk_usage_linux.c) */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum {
    DISK_USAGE_DEPTH_MAX = 128
};

struct disk_usage {
    int64_t bytes;  /* allocated blocks, as du counts them */
    int64_t inodes; /* files, directories and others */
};

/*
 * Measures `path`, a directory or file, in the worker. Does not follow symlinks or enter other
 * mounts; a file with several hard links counts once. A file that changes meanwhile may count or
 * not. ERR_NOT_FOUND: no such path. ERR_TOO_LARGE: directories nest deeper than
 * DISK_USAGE_DEPTH_MAX; an error, so that files below cannot evade a limit.
 */
struct err *disk_usage_measure(const char *path, struct disk_usage *ret) MUST_CHECK;
