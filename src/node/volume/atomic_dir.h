/*
 * atomic_dir.h - a directory whose files are replaced atomically, in the kubelet's layout
 *
 *   DIR/..2026_01_02_03_04_05.123456789/   the files, in their directories
 *   DIR/..data                             a symlink to the newest such directory
 *   DIR/NAME                               symlinks to ..data/NAME, one a first part of a path
 *
 * A reader that resolves ..data once sees either all old or all new files. To notice changes, watch
 * ..data.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct atomic_file {
    char *path; /* relative and plain */
    char *bytes;
    size_t size;
    uint32_t mode;
    uid_t uid;
    gid_t gid;
};

struct atomic_dir {
    const char *path; /* exists already */
    uint32_t mode;    /* of the directories in it */
    uid_t uid;
    gid_t gid;
    const struct atomic_file *files;
    size_t n_files;
    int64_t now_ns; /* realtime, for the directory's name */
};

/* Replaces the files, unless they are already equal. In the worker. */
struct err *atomic_dir_write(const struct atomic_dir *d) MUST_CHECK;
