/*
 * spdy.h - a session of SPDY/3.1 over bytes that somebody else moves: streams, their windows, their
 * header blocks (SPDY protocol draft 3.1)
 *
 * For both sides, as websocket.h. Pings are answered here. Windows of the other side are kept once
 * that side has named one by SETTINGS or WINDOW_UPDATE: moby/spdystream, which kubectl and most
 * other clients are made of, knows none and would wait for ever. Windows of our own are announced
 * and not enforced, for the same reason: the user stops reading the connection instead.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "client/spdy_headers.h"

struct spdy;

enum {
    SPDY_STREAMS_MAX = 512,      /* open at a time */
    SPDY_CONTROL_MAX = 16 << 10, /* bytes of a control frame's payload */
    SPDY_WINDOW = 64 << 10,      /* at first, of a stream and of the session */
};

enum spdy_status {
    SPDY_PROTOCOL_ERROR = 1,
    SPDY_INVALID_STREAM = 2,
    SPDY_REFUSED_STREAM = 3,
    SPDY_CANCEL = 5,
    SPDY_FLOW_CONTROL_ERROR = 7,
    SPDY_STREAM_ALREADY_CLOSED = 9,
};

/* Callbacks come from spdy_take alone; they may do all but spdy_take and spdy_free. */
struct spdy_options {
    bool is_client;
    void (*send)(void *arg, struct str bytes); /* to the other side; also from other calls */
    /* The other side has opened it: spdy_reply or spdy_reset, then or later. NULL: all are refused.
     */
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n);
    void (*replied)(void *arg, uint32_t stream); /* one of ours was taken; may be NULL */
    void (*data)(void *arg, uint32_t stream, struct str bytes); /* credit it by spdy_taken */
    void (*ended)(void *arg, uint32_t stream);                  /* nothing more comes in it */
    void (*reset)(void *arg, uint32_t stream);                  /* it is gone, both ways */
    void (*drained)(void *arg, uint32_t stream); /* all of it has been sent; may be NULL */
    void *arg;
};

struct spdy *spdy_new(const struct spdy_options *o);
void spdy_free(struct spdy *s); /* accepts NULL; says nothing to the other side */

/* Takes bytes as they come. ERR_BAD_REQUEST, ERR_TOO_LARGE where they break the protocol: a GOAWAY
 * was sent, and the connection is to be ended. */
struct err *spdy_take(struct spdy *s, struct str bytes) MUST_CHECK;

/* The other side goes away, and no stream is left. */
bool spdy_is_over(const struct spdy *s);

/* Opens a stream. */
uint32_t spdy_open(struct spdy *s, const struct spdy_header *headers, size_t n);

/* Of a stream that is gone all of these do nothing. A stream is gone after a reset, and once both
 * sides have ended it. */
void spdy_reply(struct spdy *s, uint32_t stream);
void spdy_send(struct spdy *s, uint32_t stream, struct str bytes);
void spdy_end(struct spdy *s, uint32_t stream); /* nothing follows */
void spdy_reset(struct spdy *s, uint32_t stream, enum spdy_status status);
void spdy_taken(struct spdy *s, uint32_t stream, size_t size); /* that much came and was used */
size_t spdy_backlog(const struct spdy *s, uint32_t stream);    /* bytes that wait for its window */

void spdy_ping(struct spdy *s);
void spdy_go_away(struct spdy *s); /* in order: no stream is taken any more */
