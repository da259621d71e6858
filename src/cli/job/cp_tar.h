/*
 * cp_tar.h - a tar stream at one end of a pipe, local files at the other (cp_tar_linux.c)
 *
 * A thread reads or writes the files. A stream from a container is not trusted: only regular files
 * and directories below the requested name are written, never through a symlink, without owners
 * and set-user-id bits; other entries are skipped and counted.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct tar_job;

/* Starts unpacking. Takes `fd`, the read end of a pipe: member `name` of the stream becomes `path`.
 */
struct err *tar_unpack(int fd, const char *name, const char *path, struct tar_job **ret) MUST_CHECK;
/* Starts packing. Takes `fd`, the write end: `path` becomes member `name`. */
struct err *tar_pack(int fd, const char *path, const char *name, struct tar_job **ret) MUST_CHECK;

/* Waits for the end and frees the job. `*ret_skipped`: number of skipped entries. */
struct err *tar_join(struct tar_job *j, size_t *ret_files, size_t *ret_skipped) MUST_CHECK;

struct err *pipe_make(int *ret_read, int *ret_write) MUST_CHECK;
bool path_is_directory(const char *path);
