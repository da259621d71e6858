/*
 * http_head.h - the head of an HTTP/1.1 request and the chunks of its body (RFC 9112), read
 * strictly
 *
 * What two readers could understand differently is refused: folded lines, a space before the colon,
 * bare CR or LF, control bytes, a second Content-Length, Content-Length beside Transfer-Encoding, a
 * second Host.
 */
#pragma once

#include "api/request.h"
#include "base/err.h"

enum {
    HTTP_HEADERS_MAX = 64
};

struct http_head {
    const char *method;
    const char *path;
    const char *query;
    bool is_http10;
    bool wants_close;
    bool wants_continue;
    bool is_chunked;
    int64_t content_length; /* -1: none */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t n_headers;
};

/*
 * Reads `text` of `size` bytes, which ends with the empty line; it is cut up in place and `*ret`
 * points into it. ERR_BAD_REQUEST says what is wrong.
 */
struct err *http_head_parse(char *text, size_t size, struct http_head *ret) MUST_CHECK;

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
