/* signing.h - signatures with the installation's own key: ES256, RFC 7518 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    SIGNATURE_SIZE = 64 /* r and s, 32 bytes each, big endian */
};

struct signing_key;

/* Loads an EC P-256 private key in PEM. */
struct err *signing_key_load(const char *path, struct signing_key **ret) MUST_CHECK;
void signing_key_free(struct signing_key *k); /* accepts NULL */

struct err *signing_sign(const struct signing_key *k, struct str bytes,
                         uint8_t ret[SIGNATURE_SIZE]) MUST_CHECK;
bool signing_verify(const struct signing_key *k, struct str bytes,
                    const uint8_t signature[SIGNATURE_SIZE]);
