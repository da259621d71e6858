/*
 * spdy_headers.h - header blocks of SPDY/3: names and values under zlib, a context for each
 * direction of a session (for spdy.c)
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    SPDY_DICTIONARY_SIZE = 1423,
    SPDY_HEADERS_MAX = 32,           /* headers of a stream */
    SPDY_HEADER_BYTES_MAX = 8 << 10, /* of a block, inflated */
};

extern const char spdy_dictionary[SPDY_DICTIONARY_SIZE + 1];

struct spdy_header {
    const char *name; /* lower case */
    const char *value;
};

/* A parsed block; names and values point into `text`. */
struct spdy_block {
    struct spdy_header headers[SPDY_HEADERS_MAX];
    size_t n;
    char text[SPDY_HEADER_BYTES_MAX + 1];
};

struct spdy_zip;

struct spdy_zip *spdy_zip_new(void);
void spdy_zip_free(struct spdy_zip *z); /* accepts NULL */

/*
 * Reads the next block of the session. Blocks share a zlib context: read each one, in order.
 * ERR_BAD_REQUEST: malformed block. ERR_TOO_LARGE: past the limits above. After an error the
 * session is unusable. Only the first value of a header is kept.
 */
struct err *spdy_zip_read(struct spdy_zip *z, struct str block, struct spdy_block *ret) MUST_CHECK;

/* Adds the next block of the session. */
void spdy_zip_add(struct spdy_zip *z, struct buf *b, const struct spdy_header *headers, size_t n);

/* The value of a header by its lower-case name; NULL: absent. */
const char *spdy_header_get(const struct spdy_header *headers, size_t n, const char *name);
