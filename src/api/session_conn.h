/*
 * session_conn.h - the client's connection of exec, attach and port-forward, or of a log's
 * WebSocket
 *
 * The connection has one of three forms. A WebSocket with channels: the first byte of each binary
 * message is its channel; with a base64 protocol a message is text, the channel's digit and the
 * bytes in base64. Plain SPDY/3.1: each channel is a stream. SPDY/3.1 inside binary messages
 * of a WebSocket ("SPDY/3.1+..."): kubectl since 1.30 forwards ports this way.
 *
 * Pings keep proxies from closing the connection. While a client does not read, the server does not
 * read from it.
 */
#pragma once

#include "api/core.h"
#include "client/spdy.h"
#include "client/websocket.h"

struct handshake {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    const char *protocol; /* the chosen protocol; NULL: the client named none */
    bool is_websocket;
    bool is_spdy; /* with is_websocket: SPDY inside the WebSocket */
    bool is_base64;
};

/* The protocols of a subresource, by preference; each list is NULL-terminated. */
struct session_protocols {
    const char *const *channels; /* over WebSocket */
    const char *const *spdy;
    const char *tunnel;     /* SPDY over WebSocket; NULL: not supported */
    bool is_unnamed_socket; /* a WebSocket without a protocol has channels */
    bool is_unnamed_spdy;   /* SPDY without a protocol is accepted */
};

/* Reads the client's choice. ERR_BAD_REQUEST, or ERR_FORBIDDEN for SPDY as in Kubernetes: not
 * supported; the message names the supported protocols. */
struct err *session_read_handshake(const struct call *c, const struct session_protocols *p,
                                   struct handshake *ret) MUST_CHECK;

struct session_conn;

/* The callbacks of streams are those of client/spdy.h. No callback comes after
 * session_conn_finish. */
struct session_conn_options {
    /* NULL: messages of the client are dropped. */
    void (*message)(void *arg, unsigned channel, struct str bytes);
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n);
    void (*data)(void *arg, uint32_t stream, struct str bytes);
    void (*ended)(void *arg, uint32_t stream);
    void (*reset)(void *arg, uint32_t stream);
    void (*drained)(void *arg, uint32_t stream);
    void (*on_drain)(void *arg); /* the client has taken all written bytes */
    void (*on_close)(void *arg); /* the client has gone: free the session_conn now */
    void *arg;
};

/* Answers the request; the session then owns the connection. */
struct session_conn *session_conn_new(struct call *c, const struct handshake *h,
                                      const struct session_conn_options *o);
void session_conn_free(struct session_conn *s); /* only in on_close */

/* Sends the end of the protocol, closes the connection after the client has read everything, and
 * frees itself. The caller ends streams before. Must not be called from `message`. */
void session_conn_finish(struct session_conn *s);

void session_conn_send(struct session_conn *s, unsigned channel, struct str bytes);
void session_conn_send_plain(struct session_conn *s, struct str bytes); /* without a channel */
struct spdy *session_conn_spdy(const struct session_conn *s);           /* NULL: channels */
/* A paused connection does not read, but still notices the client's end. */
void session_conn_pause(struct session_conn *s, bool is_paused);
/* Does the client read too slowly? Then give no credit for further output. */
bool session_conn_is_full(const struct session_conn *s);
