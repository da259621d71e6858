/*
 * streams.h - one kind of question on the reverse stream (client/frames.h), as the uplink sees who
 * answers it: logs.h, sessions.h (exec, attach), image_streams.h
 *
 * The uplink finds the service by "op" of the OPEN frame, and tells it everything about streams it
 * opened. A service answers by its struct stream_out, only as much as it has credit for
 * (FRAME_CREDIT_FIRST at the open, then what `credit` adds), and ends a stream with `end`, after
 * which the stream is dead for both. Nothing is called back from inside a stream_out call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

struct stream_service {
    const char *const *ops; /* "exec", "attach"; NULL-terminated */
    /* May end it at once. `id` is not in use. */
    void (*open)(void *self, uint32_t id, const json_t *question);
    /* Bytes from the other side, never more than their credit; give that back with `taken` when
     * they are used. NULL: takes none. */
    void (*data)(void *self, uint32_t id, struct str bytes);
    void (*end)(void *self, uint32_t id); /* the other side sends no more; may be NULL */
    void (*credit)(void *self, uint32_t id, uint32_t bytes);
    void (*cancel)(void *self, uint32_t id); /* dead; nothing is answered any more */
    void (*drained)(void *self);             /* the connection takes more again */
    void (*cancel_all)(void *self);          /* it is gone, and all streams with it */
    void *self;
};

/* How services answer. */
struct stream_out {
    void (*data)(void *arg, uint32_t id, struct str bytes); /* at most FRAME_PAYLOAD_MAX */
    void (*end)(void *arg, uint32_t id, int code, const char *message);
    void (*taken)(void *arg, uint32_t id, uint32_t bytes); /* credit for the other side */
    bool (*is_full)(void *arg); /* the connection takes no more now; `drained` tells */
    void *arg;
};
