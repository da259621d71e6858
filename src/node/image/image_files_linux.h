/*
 * image_files_linux.h - the files that an image comes in, by name (in the sandboxed child)
 *
 * Either a tar stream, whose members are written down one after the other in the order in which
 * they come and found by name after that; or a directory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct image_files;

struct image_limits {
    int64_t bytes_max; /* on disk, of all that is written */
};

/* Reads `fd` to its end; members are kept in the existing directory `dir`. */
struct err *image_files_read(int fd, const char *dir, const struct image_limits *limits,
                             struct image_files **ret) MUST_CHECK;
struct image_files *image_files_of_dir(const char *dir);
void image_files_free(struct image_files *s); /* accepts NULL; files stay */
static inline void image_files_freep(struct image_files **s)
{
    image_files_free(*s);
}

/* One link is followed to another member. ERR_INVALID where there is no such file. */
struct err *image_files_open(const struct image_files *s, const char *name, int *ret_fd) MUST_CHECK;
bool image_files_has(const struct image_files *s, const char *name);

/* All of a file of at most `cap` bytes. */
struct err *image_files_text(const struct image_files *s, const char *name, size_t cap,
                             struct buf *ret) MUST_CHECK;
