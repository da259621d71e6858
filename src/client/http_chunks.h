/* http_chunks.h - the parser of chunked HTTP/1.1 bodies (RFC 9112, 7.1), of requests and answers */
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

/* The parser's state; {0} at the start of a body. */
struct http_chunks {
    enum http_chunk_state state;
    size_t left;      /* of the present chunk */
    size_t line_size; /* bytes of the line being read */
    size_t trailer_size;
    char line[32];
};

/*
 * Reads `in` up to the end of the body, adds the data to `body`, and sets `*ret_used` to the bytes
 * taken. The body is complete at CHUNK_DONE. ERR_BAD_REQUEST: malformed chunk. ERR_TOO_LARGE: past
 * the cap of `body`.
 */
struct err *http_chunks_read(struct http_chunks *c, struct str in, struct buf *body,
                             size_t *ret_used) MUST_CHECK;
