/*
 * websocket.h - WebSocket messages, without I/O (RFC 6455; framing by wslay)
 *
 * For both sides: a server's over a channel of http/request.h, a client's over client/stream.h. The
 * websocket answers pings and echoes a close.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct websocket;

enum {
    WEBSOCKET_MESSAGE_MAX = (1 << 20) + 1, /* clients send pieces of 1 MiB after their channel */
    WEBSOCKET_KEY_SIZE = 25,               /* text with its NUL */
    WEBSOCKET_ACCEPT_SIZE = 29,            /* the server's answer, text with its NUL */
};

struct websocket_options {
    bool is_client;
    void (*send)(void *arg, struct str bytes); /* sends bytes to the peer */
    /* A whole message, text or binary. No callback may free the websocket. */
    void (*message)(void *arg, struct str bytes);
    void *arg;
};

struct websocket *websocket_new(const struct websocket_options *o);
void websocket_free(struct websocket *w); /* accepts NULL; sends nothing to the peer */

/* Takes received bytes. ERR_BAD_REQUEST: the bytes break the protocol; a close frame was sent, and
 * the caller ends the connection. */
struct err *websocket_take(struct websocket *w, struct str bytes) MUST_CHECK;

/* Has the peer sent a close? No message follows. */
bool websocket_is_closed(const struct websocket *w);

/* Sends a text message in one frame; `text` is UTF-8. */
void websocket_send_text(struct websocket *w, struct str text);
/* Sends the bytes as binary messages. */
void websocket_send_binary(struct websocket *w, struct str bytes);
/* Sends a binary message of the byte `channel` and the bytes. After a close nothing is sent. */
void websocket_send(struct websocket *w, unsigned char channel, struct str bytes);
void websocket_ping(struct websocket *w);
void websocket_close(struct websocket *w, unsigned code);

/* For the handshake, in websocket_key_linux.c. websocket_accept_make returns false for a malformed
 * key. */
void websocket_key_make(char ret[WEBSOCKET_KEY_SIZE]);
bool websocket_accept_make(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE]);
