/* tls.h - OpenSSL as the server uses it (tls.c). Included by http.c and tls.c only. */
#pragma once

#include <openssl/ssl.h>

#include "base/err.h"

/*
 * TLS 1.2 and up with DIR/server.crt and DIR/server.key, ALPN http/1.1 only. Client certificates
 * are asked for, not required; one that DIR/ca.crt did not sign fails the handshake.
 */
struct err *tls_context_new(const char *dir, SSL_CTX **ret) MUST_CHECK;

enum {
    TLS_GROUPS_MAX = 16
};

/* The names in a client's certificate. */
struct tls_peer {
    char *user;                   /* CN; NULL: no certificate */
    char *groups[TLS_GROUPS_MAX]; /* Os */
    size_t n_groups;
};

/* ERR_UNAUTHENTICATED for a certificate whose names cannot be taken (NUL in it, too many). */
struct err *tls_peer_read(SSL *ssl, struct tls_peer *ret) MUST_CHECK;
void tls_peer_done(struct tls_peer *p);
