/*
 * grpc_text.h - the texts and message frames of gRPC, without I/O
 *
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    GRPC_HEAD_SIZE = 5,        /* of a message: a flag, and the size in 4 bytes */
    GRPC_MESSAGE_MAX = 4 << 20 /* what gRPC's own libraries accept */
};

/*
 * Finds the first message in the DATA of a stream. `*ret_size` is 0 while the message is
 * incomplete, else its size with the head. ERR_TOO_LARGE: over `max` bytes; ERR_INVALID: the
 * message is compressed, which nobody offered.
 */
struct err *grpc_message_parse(struct str bytes, size_t max, struct str *ret,
                               size_t *ret_size) MUST_CHECK;
void grpc_message_format(struct buf *out, struct str message);

/* The value of grpc-message: bytes outside of printable ASCII, and '%', become %XX. */
void grpc_escape(struct buf *out, const char *text);
/* Reads it back; a malformed escape stays as it is. */
void grpc_unescape(struct buf *out, struct str text);

/* The error of a status that a server sent; NULL: the status 0. */
struct err *grpc_status_error(int status, const char *message) MUST_CHECK;
