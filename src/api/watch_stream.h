/* watch_stream.h - the stream of a watch's events: an endless reply, or messages of a WebSocket */
#pragma once

#include "api/core.h"

struct watch_stream;

struct watch_stream_options {
    void (*on_drain)(void *arg); /* the backlog was written */
    void (*on_close)(void *arg); /* the client has ended the stream: free it */
    void *arg;
};

/* ERR_BAD_REQUEST: malformed handshake. Does not answer yet. */
struct err *watch_stream_new(const struct call *c, const struct watch_stream_options *o,
                             struct watch_stream **ret) MUST_CHECK;
void watch_stream_free(struct watch_stream *s); /* accepts NULL; sends nothing to the client */

/* Answers the request: events follow. */
void watch_stream_begin(struct watch_stream *s);

/* Adds an event, a line of JSON. A reply buffers events up to the next flush or a good size; over a
 * WebSocket each event is a message. */
void watch_stream_add(struct watch_stream *s, struct str event);
void watch_stream_flush(struct watch_stream *s);
/* Is the backlog full? on_drain comes when it has been written. */
bool watch_stream_is_full(const struct watch_stream *s);

/* Ends the stream; the caller then frees it. */
void watch_stream_end(struct watch_stream *s);
