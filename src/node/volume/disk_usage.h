/* disk_usage.h - what a directory tree takes of its disk (disk_usage_linux.c) */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum {
    DISK_USAGE_DEPTH_MAX = 128
};

struct disk_usage {
    int64_t bytes;  /* of allocated blocks, as du counts them */
    int64_t inodes; /* files, directories and all else */
};

/*
 * Measures `path`, a directory or file, in the worker. Symlinks are not followed, other mounts are
 * not entered, a file with several names counts once. What changes meanwhile may be counted or not.
 * ERR_NOT_FOUND: there is nothing; ERR_TOO_LARGE: directories stand more than DISK_USAGE_DEPTH_MAX
 * deep, so that nobody hides from a limit below them.
 */
struct err *disk_usage_measure(const char *path, struct disk_usage *ret) MUST_CHECK;
