/*
 * http_answer.h - an HTTP/1.1 answer as it comes from a server (RFC 9112), byte by byte or whole
 *
 * Plain data, no I/O: unix_linux.c feeds it. Answers that come before the last one (status 1xx, but
 * not 101) are passed over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "client/http_chunks.h"

enum http_answer_state {
    ANSWER_HEAD,
    ANSWER_BODY,
    ANSWER_OVER
};

/* {0} at the start; http_answer_done frees. */
struct http_answer {
    enum http_answer_state state;
    int status; /* 0 until the head is whole */
    bool is_chunked;
    int64_t left; /* bytes of the body; -1: until the connection ends */
    struct http_chunks chunks;
    struct buf head;
    struct buf warnings; /* texts of Warning headers, one a line */
};

/*
 * Takes `in` and adds what is of the body to `body`. Bytes after the end of the answer are dropped.
 * ERR_UNAVAILABLE for what is no answer, ERR_TOO_LARGE past the cap of `body`.
 */
struct err *http_answer_read(struct http_answer *a, struct str in, struct buf *body) MUST_CHECK;

/* The connection ended: ERR_UNAVAILABLE where the answer is not whole. */
struct err *http_answer_end(struct http_answer *a) MUST_CHECK;

void http_answer_done(struct http_answer *a);
