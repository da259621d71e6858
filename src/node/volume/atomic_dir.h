/*
 * atomic_dir.h - a directory of files that changes all at once, laid out as the kubelet does
 *
 *   DIR/..2026_01_02_03_04_05.123456789/   the files, in their directories
 *   DIR/..data                             a symlink to the newest such directory
 *   DIR/NAME                               symlinks to ..data/NAME, one a first part of a path
 *
 * A reader sees the old files or the new, never a mixture, as long as it goes through ..data once;
 * who watches for a change watches ..data.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct atomic_file {
    char *path; /* in the directory, plain */
    char *bytes;
    size_t size;
    uint32_t mode;
    uid_t uid;
    gid_t gid;
};

struct atomic_dir {
    const char *path; /* is there */
    uint32_t mode;    /* of directories in it */
    uid_t uid;
    gid_t gid;
    const struct atomic_file *files;
    size_t n_files;
    int64_t now_ns; /* real time, for the name */
};

/* Makes the files what they are to be; does nothing where they are so already. In the worker. */
struct err *atomic_dir_write(const struct atomic_dir *d) MUST_CHECK;
