/* portforward_private.h - the ways to speak with a client of pods/portforward, for portforward.c */
#pragma once

#include "api/forward.h"
#include "api/session_conn.h"

enum {
    FORWARD_PORTS_MAX = 32,         /* of one WebSocket with channels */
    FORWARD_PAIRS_MAX = 128,        /* of one SPDY session */
    FORWARD_INPUT_HIGH = 256 << 10, /* of all that waits for the node: the client is not read */
};

/* Both take `target` over, and the connection. portforward_socket.c: a connection of `ports`, each
 * with two channels. */
void portforward_begin_socket(struct call *c, const struct handshake *h,
                              struct forward_target *target, const uint16_t *ports, size_t n);
/* portforward_spdy.c: a connection for each pair of streams. */
void portforward_begin_spdy(struct call *c, const struct handshake *h,
                            struct forward_target *target);

void forward_target_free(struct forward_target *t); /* accepts NULL */
