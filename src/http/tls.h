/* tls.h - the server's TLS by OpenSSL */
#pragma once

#include <openssl/ssl.h>

#include "base/err.h"
#include "http/tls_files.h"

/* TLS 1.2 and up with DIR/server.crt and DIR/server.key, ALPN http/1.1 only. Client certificates
 * are optional; the handshake fails for a certificate that neither DIR/ca.crt nor, where it exists,
 * DIR/nodes.crt signed. */
struct err *tls_context_new(const char *dir, SSL_CTX **ret) MUST_CHECK;

/* The same with these files. */
struct err *tls_context_new_files(const struct tls_files *files, SSL_CTX **ret) MUST_CHECK;

enum {
    TLS_GROUPS_MAX = 16
};

/* The names in a client's certificate. */
struct tls_peer {
    char *user;                   /* CN; NULL: no certificate */
    char *groups[TLS_GROUPS_MAX]; /* Os */
    size_t n_groups;
    char *issuer; /* CN of the authority that signed it */
};

/* Reads the names of the client's certificate. ERR_UNAUTHENTICATED: unusable names (a NUL byte, too
 * many). */
struct err *tls_peer_read(SSL *ssl, struct tls_peer *ret) MUST_CHECK;
void tls_peer_done(struct tls_peer *p);
