/* image_archive_linux.h - libarchive as image_files_linux.c and image_layer_linux.c use it */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/archive_linux.h"
#include "base/err.h"

enum {
    IMAGE_PIECE_SIZE = 256 << 10
};

/* Reads tar, plain or by gzip or zstd, and nothing else. */
struct archive *image_archive_new(void);
/* Takes compression off, and reads nothing else. */
struct archive *image_archive_raw_new(void);
void image_archive_free(struct archive *a); /* accepts NULL */
static inline void image_archive_freep(struct archive **a)
{
    image_archive_free(*a);
}

/* What libarchive failed with at `what`. */
struct err *image_archive_error(struct archive *a, const char *what) MUST_CHECK;

/* Writes all at `offset`, and takes it off `*left_bytes`; ERR_INVALID where that is not enough. */
struct err *image_write(int fd, const void *at, size_t size, int64_t offset,
                        int64_t *left_bytes) MUST_CHECK;
