/*
 * websocket.h - WebSocket messages (RFC 6455; framing by wslay) over bytes that somebody else moves
 *
 * For both sides: the server's over a channel of http/request.h, the client's over client/stream.h.
 * Pings are answered, a close is echoed.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct websocket;

enum {
    WEBSOCKET_MESSAGE_MAX = (1 << 20) + 1, /* clients send pieces of 1 MiB after their channel */
    WEBSOCKET_KEY_SIZE = 25,               /* text with its NUL, as is: */
    WEBSOCKET_ACCEPT_SIZE = 29,            /* the server's answer to it */
};

struct websocket_options {
    bool is_client;
    void (*send)(void *arg, struct str bytes); /* to the other side */
    /* A whole one, text or binary. Neither callback frees the websocket. */
    void (*message)(void *arg, struct str bytes);
    void *arg;
};

struct websocket *websocket_new(const struct websocket_options *o);
void websocket_free(struct websocket *w); /* accepts NULL; says nothing to the other side */

/* Takes bytes as they come. ERR_BAD_REQUEST where they break the protocol: a close that says so has
 * been sent, and the connection is to be ended. */
struct err *websocket_take(struct websocket *w, struct str bytes) MUST_CHECK;

/* The other side has said that it ends: nothing more comes. */
bool websocket_is_closed(const struct websocket *w);

/* A text message in one frame; `text` is UTF-8. */
void websocket_send_text(struct websocket *w, struct str text);
/* Binary messages with the bytes as they are. */
void websocket_send_binary(struct websocket *w, struct str bytes);
/* A binary message: `channel` and the bytes. Nothing follows a close. */
void websocket_send(struct websocket *w, unsigned char channel, struct str bytes);
void websocket_ping(struct websocket *w);
void websocket_close(struct websocket *w, unsigned code);

/* Of the handshake. A key that is none makes no accept: false. websocket_key_linux.c */
void websocket_key_make(char ret[WEBSOCKET_KEY_SIZE]);
bool websocket_accept_make(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE]);
