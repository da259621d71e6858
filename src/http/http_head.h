/*
 * http_head.h - a strict parser of HTTP/1.1 request heads (RFC 9112); for chunked bodies see
 * client/http_chunks.h
 *
 * Ambiguous heads, which a proxy might read differently, are refused: folded lines, a space before
 * the colon, bare CR or LF, control bytes, a second Content-Length, Content-Length beside
 * Transfer-Encoding, a second Host.
 */
#pragma once

#include "base/err.h"
#include "client/http_chunks.h"
#include "http/request.h"

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

/* Parses `text`, `size` bytes that end with the empty line. The text is cut up in place, and `*ret`
 * points into it. ERR_BAD_REQUEST names the mistake. */
struct err *http_head_parse(char *text, size_t size, struct http_head *ret) MUST_CHECK;
