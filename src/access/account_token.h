/*
 * account_token.h - tokens of service accounts, bound to a pod or not: JSON web tokens (RFC 7519)
 * with the claims of Kubernetes
 *
 * A token is worth something while its service account, and the pod it is bound to, are there with
 * the uids that it names. Nothing is stored: to take one back, delete what it is bound to.
 */
#pragma once

#include "access/signing.h"
#include "base/arena.h"
#include "base/json.h"
#include "store/store.h"

#define ACCOUNT_AUDIENCE "https://kubernetes.default.svc"
#define ACCOUNT_PREFIX   "system:serviceaccount:"

enum {
    ACCOUNT_TOKEN_MAX = 8192,
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

/* The caller frees it. */
struct err *account_token_make(const struct signing_key *k, const struct account_claims *c,
                               char **ret) MUST_CHECK;

/* Whether it has the form of one; nothing else here has. */
bool account_token_is(const char *token);

struct account_question {
    const struct signing_key *key;
    const struct store *store;
    const char *audience; /* whom it has to be for */
    int64_t now_ns;       /* realtime */
};

/*
 * Whose it is. ERR_UNAUTHENTICATED: not signed by us, for others, too old, or what it is bound to
 * is gone. Texts are the arena's; `pod` may be NULL, `audiences` is.
 */
struct err *account_token_check(const struct account_question *q, struct arena *arena,
                                const char *token, struct account_claims *ret) MUST_CHECK;
