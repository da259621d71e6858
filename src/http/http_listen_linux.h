/* http_listen_linux.h - a listening socket, for http.c */
#pragma once

#include <event2/bufferevent.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct listener;

enum {
    PEER_ADDRESS_SIZE = 64
};

struct listener_peer {
    uint32_t uid;                    /* on a unix socket; else UINT32_MAX */
    char address[PEER_ADDRESS_SIZE]; /* "10.0.0.7:51234"; on a unix socket "" */
};

struct listener_options {
    struct event_base *base;
    int fd; /* listening; the caller keeps it */
    bool is_unix;
    SSL_CTX *tls; /* taken on success; NULL: without TLS */
    /* A new connection; the callee owns `bev`. */
    void (*on_connection)(void *arg, struct listener *l, struct bufferevent *bev,
                          const struct listener_peer *peer);
    void *arg;
};

struct err *listener_new(const struct listener_options *o, struct listener **ret) MUST_CHECK;
void listener_free(struct listener *l); /* accepts NULL; its connections have ended */

/* Call it when a connection has ended: the listener may accept another. */
void listener_release(struct listener *l);

/* NULL: without TLS. */
SSL *listener_ssl(const struct listener *l, struct bufferevent *bev);
