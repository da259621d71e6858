/* image_archive_linux.h - libarchive for image_files_linux.c and image_layer_linux.c */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/archive_linux.h"
#include "base/err.h"

enum {
    IMAGE_PIECE_SIZE = 256 << 10
};

/* Reads tar, plain or compressed by gzip or zstd, and no other format. */
struct archive *image_archive_new(void);
/* Decompresses gzip or zstd, without reading an archive. */
struct archive *image_archive_raw_new(void);
void image_archive_free(struct archive *a); /* accepts NULL */
static inline void image_archive_freep(struct archive **a)
{
    image_archive_free(*a);
}

/* libarchive's last error, at `what`. */
struct err *image_archive_error(struct archive *a, const char *what) MUST_CHECK;

/* Writes all bytes at `offset` and subtracts `size` from `*left_bytes`. ERR_INVALID: fewer are
 * left. */
struct err *image_write(int fd, const void *at, size_t size, int64_t offset,
                        int64_t *left_bytes) MUST_CHECK;
