/* portforward_private.h - the protocols of pods/portforward, for portforward.c */
#pragma once

#include "api/forward.h"
#include "api/session_conn.h"

enum {
    FORWARD_PORTS_MAX = 32,         /* of a WebSocket with channels */
    FORWARD_PAIRS_MAX = 128,        /* of a SPDY session */
    FORWARD_INPUT_HIGH = 256 << 10, /* above so much input for the node, do not read the client */
};

/* Both functions take over `target` and the connection. portforward_socket.c: connections to
 * `ports`, with two channels for each. */
void portforward_begin_socket(struct call *c, const struct handshake *h,
                              struct forward_target *target, const uint16_t *ports, size_t n);
/* portforward_spdy.c: a connection for each pair of streams. */
void portforward_begin_spdy(struct call *c, const struct handshake *h,
                            struct forward_target *target);
