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

/* The descriptor, which leaves the variable: for owners whose variable is AUTO(fd_closep). */
static inline int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/*
 * All of a file of at most `cap` bytes, replacing `*ret`, which holds nothing before. A missing one
 * is ERR_NOT_FOUND, a larger one ERR_TOO_LARGE.
 */
struct err *file_read(const char *path, size_t cap, struct buf *ret) MUST_CHECK;

/* What differs as soon as a file is written or replaced, within the clock of its file system. */
struct file_mark {
    uint64_t inode;
    int64_t size;
    int64_t changed_ns; /* real time */
};

/* {0} for a file that cannot be looked at: so is a missing one. */
struct file_mark file_mark_of(const char *path);

/*
 * Replaces `path` by `bytes`: written beside it, synced, renamed, the directory synced. After
 * success it survives a power cut; at any moment there is the old file or the new, whole.
 */
struct err *file_write_durable(const char *path, mode_t mode, struct str bytes) MUST_CHECK;

/* The same without the syncs: for what is written anew after a crash. */
struct err *file_write(const char *path, mode_t mode, struct str bytes) MUST_CHECK;

/*
 * A short text as the target of a symlink: whole or not there at all, and without a sync. After a
 * crash it is there if anything is that was made after it, where the file system keeps the order of
 * its metadata (ext4, xfs). An existing note stays as it is.
 */
struct err *note_write(const char *path, const char *text) MUST_CHECK;
/* Replaces `*ret`, which holds nothing before. A missing one is ERR_NOT_FOUND. */
struct err *note_read(const char *path, struct buf *ret) MUST_CHECK;

/* `path` and its missing parents; an existing directory keeps its mode. */
struct err *dir_make(const char *path, mode_t mode) MUST_CHECK;

/* Removes a tree, never following symlinks nor crossing into other mounts. Absent is fine. */
struct err *dir_remove(const char *path) MUST_CHECK;

/* Names in `path`, sorted, but . and ..; freed with names_free. Missing: ERR_NOT_FOUND. */
struct err *dir_list(const char *path, char ***ret_names, size_t *ret_count) MUST_CHECK;
void names_free(char **names, size_t count);

bool file_exists(const char *path);

/* `size` random bytes from the kernel. */
void random_bytes(void *bytes, size_t size);

/* A random (version 4) UUID in its text form. */
void uuid_make(char ret[37]);
