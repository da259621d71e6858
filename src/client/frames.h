/*
 * frames.h - the reverse stream between node and server: many streams over one connection, which
 * the node opens
 *
 * `POST /mete.dev/v1/nodes/NAME/stream` with `Upgrade: mete-stream`; after 101 both sides send
 * frames: u32 payload size, u32 stream, u8 type, big endian, then at most FRAME_PAYLOAD_MAX bytes.
 * The server opens all streams and numbers them. A sender of DATA stops when its credit (bytes,
 * FRAME_CREDIT_FIRST at first) is used up.
 *
 *   OPEN    to the node   JSON {"op":"logs","podUid","container","attempt","follow",...}
 *   DATA    both ways     bytes
 *   END     both ways     JSON {"code":200,"message":""}: ends the stream
 *   CREDIT  both ways     u32: the peer may send this many more bytes
 *   CANCEL  both ways     the sender needs no more bytes of the stream
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum frame_type {
    FRAME_OPEN = 1,
    FRAME_DATA = 2,
    FRAME_END = 3,
    FRAME_CREDIT = 4,
    FRAME_CANCEL = 5
};

enum {
    FRAME_PAYLOAD_MAX = 65536,
    FRAME_HEAD_SIZE = 9,
    FRAME_CREDIT_FIRST = 262144
};

struct frame {
    uint32_t stream;
    enum frame_type type;
    struct str payload;
};

void frame_format(struct buf *b, uint32_t stream, enum frame_type type, struct str payload);

/* Formats a frame of type CREDIT. */
void frame_format_credit(struct buf *b, uint32_t stream, uint32_t bytes);
/* Reads the payload of a frame of type CREDIT. ERR_BAD_REQUEST: it is no u32. */
struct err *frame_read_credit(struct str payload, uint32_t *ret) MUST_CHECK;

/*
 * Reads one frame from the front of `bytes`: `*ret_size` is what it took, 0 when it is not complete
 * yet. ERR_BAD_REQUEST for an unknown type or too large a payload: the connection is of no more
 * use.
 */
struct err *frame_parse(struct str bytes, struct frame *ret, size_t *ret_size) MUST_CHECK;

/* Gives each complete frame of `in` to `take`, then drops them from `in`. Ends at the first error,
 * of frame_parse or of `take`. */
typedef struct err *(*frame_fn)(void *arg, const struct frame *f);
struct err *frames_each(struct buf *in, frame_fn take, void *arg) MUST_CHECK;
