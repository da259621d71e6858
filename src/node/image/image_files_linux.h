/*
 * image_files_linux.h - the files of an image archive or directory, by name (in the sandboxed
 * child)
 *
 * The members of a tar stream are first written to a directory, in the order of the stream, and
 * then found by name. A directory is used as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct image_files;

struct image_limits {
    int64_t bytes_max; /* on disk, of all members together */
};

/* Reads the tar stream `fd` to its end into the existing directory `dir`. */
struct err *image_files_read(int fd, const char *dir, const struct image_limits *limits,
                             struct image_files **ret) MUST_CHECK;
struct image_files *image_files_of_dir(const char *dir);
void image_files_free(struct image_files *s); /* accepts NULL; files stay */
static inline void image_files_freep(struct image_files **s)
{
    image_files_free(*s);
}

/* Opens a file; follows at most one link to another member. ERR_INVALID: no such file. */
struct err *image_files_open(const struct image_files *s, const char *name, int *ret_fd) MUST_CHECK;
bool image_files_has(const struct image_files *s, const char *name);

/* Reads a whole file of at most `cap` bytes. */
struct err *image_files_text(const struct image_files *s, const char *name, size_t cap,
                             struct buf *ret) MUST_CHECK;
