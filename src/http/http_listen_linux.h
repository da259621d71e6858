/* http_listen_linux.h - a listening socket, for http.c */
#pragma once

#include <event2/bufferevent.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct listener;

struct listener_options {
    struct event_base *base;
    int fd; /* listening; the caller keeps it */
    bool is_unix;
    SSL_CTX *tls; /* taken on success; NULL: without TLS */
    /* A new connection; the callee owns `bev`. `uid`: the peer's, on a unix socket. */
    void (*on_connection)(void *arg, struct listener *l, struct bufferevent *bev, uint32_t uid);
    void *arg;
};

struct err *listener_new(const struct listener_options *o, struct listener **ret) MUST_CHECK;
void listener_free(struct listener *l); /* accepts NULL; its connections have ended */

/* Call it when a connection has ended: the listener may accept another. */
void listener_release(struct listener *l);

/* NULL: without TLS. */
SSL *listener_ssl(const struct listener *l, struct bufferevent *bev);
