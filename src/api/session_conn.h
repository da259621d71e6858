/*
 * session_conn.h - the client's connection of exec, attach and port-forward, in three forms:
 *
 * WebSocket with channels: the first byte of each binary message is its channel. Plain SPDY/3.1:
 * streams. SPDY/3.1 inside binary messages of a WebSocket ("SPDY/3.1+..."), as kubectl since 1.30
 * forwards ports.
 *
 * Pings keep what lies between alive. A client that does not read is not read either.
 */
#pragma once

#include "api/core.h"
#include "client/spdy.h"
#include "client/websocket.h"

struct handshake {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    const char *protocol; /* that was chosen; NULL: the client named none */
    bool is_websocket;
    bool is_spdy; /* with is_websocket: inside it */
};

/* What a subresource speaks, lists by preference, each NULL-terminated. */
struct session_protocols {
    const char *const *channels; /* over WebSocket */
    const char *const *spdy;
    const char *tunnel;     /* SPDY over WebSocket; NULL: not spoken */
    bool is_unnamed_socket; /* a WebSocket that names none has channels */
    bool is_unnamed_spdy;   /* SPDY that names none is spoken, too */
};

/* ERR_BAD_REQUEST, ERR_FORBIDDEN (as Kubernetes has it for SPDY) for all that is not spoken, saying
 * what is. */
struct err *session_read_handshake(const struct call *c, const struct session_protocols *p,
                                   struct handshake *ret) MUST_CHECK;

struct session_conn;

/* Callbacks of the streams as in client/spdy.h. None of them comes after session_conn_finish. */
struct session_conn_options {
    void (*message)(void *arg, unsigned channel, struct str bytes);
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n);
    void (*data)(void *arg, uint32_t stream, struct str bytes);
    void (*ended)(void *arg, uint32_t stream);
    void (*reset)(void *arg, uint32_t stream);
    void (*drained)(void *arg, uint32_t stream);
    void (*on_drain)(void *arg); /* the client has taken what was written */
    void (*on_close)(void *arg); /* it is gone: to be freed now */
    void *arg;
};

/* Answers the request: the connection is the session's. */
struct session_conn *session_conn_new(struct call *c, const struct handshake *h,
                                      const struct session_conn_options *o);
void session_conn_free(struct session_conn *s); /* in on_close alone */

/* Says good-bye, ends the connection once all of it was read, and frees it by itself. Streams are
 * ended before. Not from `message`. */
void session_conn_finish(struct session_conn *s);

void session_conn_send(struct session_conn *s, unsigned channel, struct str bytes);
struct spdy *session_conn_spdy(const struct session_conn *s); /* NULL: channels */
/* While paused the client is not read; its end shows all the same. */
void session_conn_pause(struct session_conn *s, bool is_paused);
/* The client does not keep up: no credit for what comes now. */
bool session_conn_is_full(const struct session_conn *s);
