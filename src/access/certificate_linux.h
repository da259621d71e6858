/* certificate_linux.h - pairs of a key and its certificate in memory and in files, by OpenSSL */
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct pair {
    X509 *cert;
    EVP_PKEY *key;
};

struct subject {
    const char *groups[2]; /* Os; NULL: none */
    const char *name;      /* CN */
    const char *alt;       /* subjectAltName; NULL: none */
    const char *usage;     /* extendedKeyUsage; NULL: an authority */
    long days;
    bool is_rsa; /* else ECDSA P-256 */
};

void pair_done(struct pair *p);
void bio_freep(BIO **b);

/* The error of the last failed call of OpenSSL. */
struct err *openssl_error(const char *what) MUST_CHECK;

/* DIR/NAME.SUFFIX. The caller frees it. */
char *pair_path(const char *dir, const char *name, const char *suffix);

/* Loads DIR/NAME.crt and DIR/NAME.key. A missing or damaged pair, or one whose parts do not belong
 * together, has NULL members. */
struct err *pair_load(const char *dir, const char *name, struct pair *ret) MUST_CHECK;

/* Writes both files durably: the key has mode 0600. */
struct err *pair_save(const char *dir, const char *name, const struct pair *p) MUST_CHECK;

/* Makes a key and its certificate; `issuer` NULL: self-signed. */
struct err *pair_make(const struct pair *issuer, const struct subject *s,
                      struct pair *ret) MUST_CHECK;

/* Makes a certificate for `key`, of which the public part suffices. The caller frees it. */
struct err *certificate_make(const struct pair *issuer, const struct subject *s, EVP_PKEY *key,
                             X509 **ret) MUST_CHECK;

/* The days until the end of a certificate are fewer than 30, or unknown. */
bool certificate_ends_soon(const X509 *cert);

/* Adds the traditional PEM form of a key. False: OpenSSL failed. */
bool key_add(BIO *bio, const EVP_PKEY *key);

/* Writes the bytes of a memory BIO durably. */
struct err *bio_write(BIO *bio, const char *path, mode_t mode) MUST_CHECK;
