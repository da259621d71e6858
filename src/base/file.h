/* file.h - files and directories, done safely (file_linux.c) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

void fd_close(int fd); /* accepts -1 */
static inline void fd_closep(const int *fd)
{
    fd_close(*fd);
}

/* Moves a descriptor out of a variable that is AUTO(fd_closep). */
static inline int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* Reads a whole file of at most `cap` bytes into `*ret`, which is empty before. ERR_NOT_FOUND: the
 * file is missing. ERR_TOO_LARGE: the file is larger. */
struct err *file_read(const char *path, size_t cap, struct buf *ret) MUST_CHECK;

/* The same of an open descriptor, from its offset on, which stays open; `name` is for messages. */
struct err *file_read_fd(int fd, const char *name, size_t cap, struct buf *ret) MUST_CHECK;

/* The version of a file: differs once the file is written or replaced, within the clock resolution
 * of its file system. */
struct file_mark {
    uint64_t inode;
    int64_t size;
    int64_t changed_ns; /* real time */
};

/* {0}: the file is missing, or stat failed. */
struct file_mark file_mark_of(const char *path);

/*
 * Replaces `path` by `bytes`: writes a file beside it, syncs, renames, syncs the directory. After
 * success the file survives a power cut; at any moment either the whole old file or the whole new
 * one exists.
 */
struct err *file_write_durable(const char *path, mode_t mode, struct str bytes) MUST_CHECK;

/* The same without the syncs: for files that are written again after a crash. */
struct err *file_write(const char *path, mode_t mode, struct str bytes) MUST_CHECK;

/*
 * Writes a short text as the target of a symlink: atomic, and without a sync. If a later change of
 * the file system survives a crash, so does the note, on file systems that keep the order of their
 * metadata (ext4, xfs). An existing note stays as it is.
 */
struct err *note_write(const char *path, const char *text) MUST_CHECK;
/* Reads a note into `*ret`, which is empty before. ERR_NOT_FOUND: the note is missing. */
struct err *note_read(const char *path, struct buf *ret) MUST_CHECK;

/* Makes `path` and its missing parents; an existing directory keeps its mode. */
struct err *dir_make(const char *path, mode_t mode) MUST_CHECK;

/* Removes a tree; never follows symlinks nor crosses into other mounts. Succeeds if `path` is
 * absent. */
struct err *dir_remove(const char *path) MUST_CHECK;

/* Lists the names in `path`, sorted, without . and ..; free them with names_free. ERR_NOT_FOUND:
 * `path` is missing. */
struct err *dir_list(const char *path, char ***ret_names, size_t *ret_count) MUST_CHECK;
void names_free(char **names, size_t count);

bool file_exists(const char *path);

/*
 * Opens `path` (empty: `dir` itself) from the directory `dir` by openat2 with O_CLOEXEC, `flags`
 * and `resolve` (RESOLVE_*); a file that O_CREAT makes has mode 0644. Repeats the walk while a
 * rename or a mount elsewhere on the machine disturbs it (EAGAIN). Returns -1 and sets errno on
 * failure.
 */
int file_walk(int dir, const char *path, uint64_t flags, uint64_t resolve);

/* Opens `path` below the directory `root` with O_PATH: symlinks, also absolute ones, stay below
 * `root`. Returns -1 and sets errno on failure. */
int file_open_below(int root, const char *path);

/* Reads up to `size` bytes from the start of a file opened with O_PATH. Returns their number; 0: no
 * regular file, or unreadable. */
size_t file_read_head(int handle, void *bytes, size_t size);

/* The path of a file opened with O_PATH, as this process sees it. The caller frees it; NULL: it has
 * none. */
char *file_path_of(int handle);

/* `size` random bytes from the kernel. */
void random_bytes(void *bytes, size_t size);

/* A random (version 4) UUID in its text form. */
void uuid_make(char ret[37]);
