/* watch_stream.h - how the events of a watch reach the client: as pieces of a reply without an end,
 * or as messages of a WebSocket */
#pragma once

#include "api/core.h"

struct watch_stream;

struct watch_stream_options {
    void (*on_drain)(void *arg); /* the backlog was written */
    void (*on_close)(void *arg); /* the client has ended the stream, which is to be freed */
    void *arg;
};

/* ERR_BAD_REQUEST for a malformed handshake. Nothing is answered yet. */
struct err *watch_stream_new(const struct call *c, const struct watch_stream_options *o,
                             struct watch_stream **ret) MUST_CHECK;
void watch_stream_free(struct watch_stream *s); /* accepts NULL; says nothing to the client */

/* Answers the request; the client hears of events from now on. */
void watch_stream_begin(struct watch_stream *s);

/* One event: a line of JSON. A reply gathers events up to the next flush or to a good size; each is
 * a message of its own in a WebSocket. */
void watch_stream_add(struct watch_stream *s, struct str event);
void watch_stream_flush(struct watch_stream *s);
/* Has the client to take what is written first? on_drain tells when it has. */
bool watch_stream_is_full(const struct watch_stream *s);

/* Nothing follows. The stream is to be freed. */
void watch_stream_end(struct watch_stream *s);
