/*
 * user_token.h - tokens of users for slurmrestd's paths, as `scontrol token` prints them: JSON web
 * tokens with Slurm's claim "sun"
 *
 * A token has the rights that its user has when it is used. Tokens are not stored: they end by
 * their time alone. https://slurm.schedmd.com/jwt.html
 */
#pragma once

#include "access/signing.h"
#include "base/json.h"

enum {
    USER_TOKEN_SECONDS = 1800,
    USER_TOKEN_SECONDS_MAX = 31536000
};

struct user_claims {
    const char *user;
    int64_t uid;     /* the user of this machine; -1: the user of users.yaml with that name */
    int64_t now_ns;  /* realtime */
    int64_t seconds; /* how long the token is valid */
};

/* Makes a token. The caller frees it. */
struct err *user_token_make(const struct signing_key *k, const struct user_claims *c,
                            char **ret) MUST_CHECK;

/* Are these the claims of a user's token? */
bool user_token_is(const json_t *claims);

/* Reads them. ERR_UNAUTHENTICATED: expired. The text lives as long as `claims`. */
struct err *user_token_check(const json_t *claims, int64_t now_ns,
                             struct user_claims *ret) MUST_CHECK;
