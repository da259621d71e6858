/*
 * account_token.h - tokens of service accounts, bound to a pod or not: JSON web tokens (RFC 7519)
 * with the claims of Kubernetes
 *
 * A token is valid while its service account and the pod that it is bound to exist with the uids in
 * the token. Tokens are not stored: to revoke a token, delete its pod or its service account.
 */
#pragma once

#include "access/signing.h"
#include "base/arena.h"
#include "base/json.h"
#include "store/store.h"

#define ACCOUNT_AUDIENCE "https://kubernetes.default.svc"
#define ACCOUNT_PREFIX   "system:serviceaccount:"

enum {
    ACCOUNT_TOKEN_SECONDS_MIN = 600,
    ACCOUNT_TOKEN_SECONDS = 3600,
    ACCOUNT_TOKEN_SECONDS_MAX = 31536000
};

struct account_claims {
    const char *ns;
    const char *name;
    const char *uid;
    const char *pod; /* NULL: not bound */
    const char *pod_uid;
    const json_t *audiences; /* array of texts; NULL: our API */
    int64_t now_ns;          /* realtime */
    int64_t seconds;
};

/* Makes a token. The caller frees it. */
struct err *account_token_make(const struct signing_key *k, const struct account_claims *c,
                               char **ret) MUST_CHECK;

struct account_question {
    const struct store *store;
    const char *audience; /* the audience that the token must name */
    int64_t now_ns;       /* realtime */
};

/*
 * Reads the claims of a token that we signed (jwt.h). ERR_UNAUTHENTICATED: for another audience,
 * expired, or its account or pod is gone. Texts are the arena's; `pod` may be NULL, `audiences` is
 * NULL.
 */
struct err *account_token_check(const struct account_question *q, struct arena *arena,
                                const json_t *claims, struct account_claims *ret) MUST_CHECK;
