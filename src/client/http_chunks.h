/* http_chunks.h - the chunks of an HTTP/1.1 body (RFC 9112, 7.1), of a request or an answer */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum http_chunk_state {
    CHUNK_SIZE,
    CHUNK_DATA,
    CHUNK_DATA_END,
    CHUNK_TRAILER,
    CHUNK_DONE
};

/* Where a chunked body stands; {0} at its start. */
struct http_chunks {
    enum http_chunk_state state;
    size_t left;      /* of the present chunk */
    size_t line_size; /* bytes of the line being read */
    size_t trailer_size;
    char line[32];
};

/*
 * Takes what it can of `in`, adds the data to `body` and says in `*ret_used` how much it took; the
 * body is complete at CHUNK_DONE. ERR_BAD_REQUEST for what is no chunk, ERR_TOO_LARGE past the cap
 * of `body`.
 */
struct err *http_chunks_read(struct http_chunks *c, struct str in, struct buf *body,
                             size_t *ret_used) MUST_CHECK;
