/*
 * spdy.h - a session of SPDY/3.1, without I/O: streams, windows, header blocks (SPDY protocol draft
 * 3.1)
 *
 * For client and server, like websocket.h. The session answers pings. It respects the peer's
 * windows only after the peer has sent SETTINGS or WINDOW_UPDATE: moby/spdystream, the library of
 * kubectl and most other clients, has no windows and would wait for ever. For the same reason our
 * own windows are announced, but not enforced: the user stops reading from the connection instead.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "client/spdy_headers.h"

struct spdy;

enum {
    SPDY_STREAMS_MAX = 512,      /* open at the same time */
    SPDY_CONTROL_MAX = 16 << 10, /* bytes of a control frame's payload */
    SPDY_WINDOW = 64 << 10,      /* initial window of a stream and of the session */
};

enum spdy_status {
    SPDY_PROTOCOL_ERROR = 1,
    SPDY_INVALID_STREAM = 2,
    SPDY_REFUSED_STREAM = 3,
    SPDY_CANCEL = 5,
    SPDY_FLOW_CONTROL_ERROR = 7,
    SPDY_STREAM_ALREADY_CLOSED = 9,
};

/* All callbacks but `send` come only from spdy_take; they must not call spdy_take or spdy_free. */
struct spdy_options {
    bool is_client;
    void (*send)(void *arg, struct str bytes); /* sends bytes to the peer; any call may use it */
    /* The peer has opened a stream: call spdy_reply or spdy_reset, now or later. NULL: the session
     * refuses all streams. */
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n);
    void (*replied)(void *arg, uint32_t stream); /* the peer accepted our stream; may be NULL */
    void (*data)(void *arg, uint32_t stream, struct str bytes); /* credit the bytes by spdy_taken */
    void (*ended)(void *arg, uint32_t stream);                  /* the peer ended its half */
    void (*reset)(void *arg, uint32_t stream);   /* the stream is gone, in both directions */
    void (*drained)(void *arg, uint32_t stream); /* the stream's backlog was sent; may be NULL */
    void *arg;
};

struct spdy *spdy_new(const struct spdy_options *o);
void spdy_free(struct spdy *s); /* accepts NULL; sends nothing to the peer */

/* Takes received bytes. ERR_BAD_REQUEST, ERR_TOO_LARGE: the bytes break the protocol; a GOAWAY was
 * sent, and the caller ends the connection. */
struct err *spdy_take(struct spdy *s, struct str bytes) MUST_CHECK;

/* Has the peer sent GOAWAY, and is no stream left? */
bool spdy_is_over(const struct spdy *s);

/* Opens a stream. */
uint32_t spdy_open(struct spdy *s, const struct spdy_header *headers, size_t n);

/* These functions ignore streams that are gone. A stream is gone after a reset, and once both sides
 * have ended it. */
void spdy_reply(struct spdy *s, uint32_t stream);
void spdy_send(struct spdy *s, uint32_t stream, struct str bytes);
void spdy_end(struct spdy *s, uint32_t stream); /* ends our half */
void spdy_reset(struct spdy *s, uint32_t stream, enum spdy_status status);
void spdy_taken(struct spdy *s, uint32_t stream, size_t size); /* so many were consumed */
size_t spdy_backlog(const struct spdy *s, uint32_t stream);    /* bytes that wait to be sent */

void spdy_ping(struct spdy *s);
void spdy_go_away(struct spdy *s); /* orderly end: new streams are refused */
