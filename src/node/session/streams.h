/*
 * streams.h - services of the reverse stream (client/frames.h), as the uplink calls them: logs.h,
 * sessions.h (exec, attach, portforward), image_streams.h
 *
 * The uplink chooses the service by "op" of the OPEN frame, and passes it all events of its
 * streams. A service answers through its struct stream_out, within its credit (FRAME_CREDIT_FIRST
 * at the open, plus the sums of `credit`), and ends a stream with `end`; then the stream is dead
 * for both. A stream_out call never calls back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "client/lane.h"

struct stream_service {
    const char *const *ops; /* "exec", "attach"; NULL-terminated */
    /* A new stream, which the service may end at once. `id` is not in use. */
    void (*open)(void *self, uint32_t id, const json_t *question);
    /* Bytes from the other side, within its credit; the service returns the credit with `taken`
     * once the bytes are used. NULL: the service takes no bytes. */
    void (*data)(void *self, uint32_t id, struct str bytes);
    void (*end)(void *self, uint32_t id); /* the other side sends no more; may be NULL */
    void (*credit)(void *self, uint32_t id, uint32_t bytes);
    void (*cancel)(void *self, uint32_t id); /* the stream is dead; no more answers */
    void (*drained)(void *self);             /* the connection is no longer full */
    void (*cancel_all)(void *self);          /* the connection is gone, with all streams */
    void *self;
};

/* The answers of services. */
struct stream_out {
    void (*data)(void *arg, uint32_t id, struct str bytes); /* at most FRAME_PAYLOAD_MAX */
    void (*end)(void *arg, uint32_t id, int code, const char *message);
    void (*taken)(void *arg, uint32_t id, uint32_t bytes); /* credit for the other side */
    bool (*is_full)(void *arg);                            /* full until the service's `drained` */
    void *arg;
};

/* Sends the waiting bytes of a stream, as credit and connection allow. True: none are left. */
static inline bool stream_out_flush(const struct stream_out *out, uint32_t id, struct lane *lane)
{
    return lane_flush(lane, id, &(struct lane_way){out->data, out->is_full, out->arg});
}
