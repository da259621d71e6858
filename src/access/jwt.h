/* jwt.h - JSON web tokens (RFC 7519) signed with the installation's own key: ES256 */
#pragma once

#include "access/signing.h"
#include "base/json.h"

enum {
    JWT_MAX = 8192
};

/* Signs the claims. The caller frees the token. */
struct err *jwt_make(const struct signing_key *k, const json_t *claims, char **ret) MUST_CHECK;

/* Does the text have the form of such a token? Other tokens of Mete do not. */
bool jwt_is(const char *token);

/* The claims, whose signature is ours; the caller checks them. ERR_UNAUTHENTICATED otherwise. New
 * reference. */
struct err *jwt_open(const struct signing_key *k, const char *token, json_t **ret) MUST_CHECK;
