/*
 * http_answer.h - the parser of an HTTP/1.1 answer (RFC 9112), for input in pieces of any size
 *
 * Plain data, no I/O: unix_linux.c feeds it. Interim answers (status 1xx, but not 101) are skipped.
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
    bool is_of_head;     /* set before the first bytes: the answer to a HEAD, without a body */
    bool takes_upgrade;  /* set before the first bytes: what follows a 101 is a body without end */
    bool keeps_headers;  /* set before the first bytes: `headers` are wanted */
    struct buf headers;  /* header lines as they came, each with CRLF */
};

/* Takes `in` and adds the bytes of the body to `body`. Bytes after the end of the answer are
 * dropped. ERR_UNAVAILABLE: malformed answer. ERR_TOO_LARGE: past the cap of `body`. */
struct err *http_answer_read(struct http_answer *a, struct str in, struct buf *body) MUST_CHECK;

/* Call it at the end of the connection. ERR_UNAVAILABLE: the answer is incomplete. */
struct err *http_answer_end(struct http_answer *a) MUST_CHECK;

void http_answer_done(struct http_answer *a);
