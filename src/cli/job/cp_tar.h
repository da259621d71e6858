/*
 * cp_tar.h - a tar stream at one end of a pipe, files of this machine at the other (cp_tar_linux.c)
 *
 * A thread of its own reads or writes the files. What comes from a container is not believed:
 * regular files and directories below the one name that was asked for, nothing through a symlink,
 * without owners and set-user-id bits; all else is passed over and counted.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct tar_job;

/* Takes `fd`, the reading end of a pipe: member `name` of what comes becomes `path`. */
struct err *tar_unpack(int fd, const char *name, const char *path, struct tar_job **ret) MUST_CHECK;
/* Takes `fd`, the writing end: `path` goes in as `name`. */
struct err *tar_pack(int fd, const char *path, const char *name, struct tar_job **ret) MUST_CHECK;

/* Waits for its end and frees it. `*ret_skipped`: how many entries were passed over. */
struct err *tar_join(struct tar_job *j, size_t *ret_files, size_t *ret_skipped) MUST_CHECK;

struct err *pipe_make(int *ret_read, int *ret_write) MUST_CHECK;
bool path_is_directory(const char *path);
