/* user_token.c - signing and reading tokens of users */

#include "access/user_token.h"

#include "access/jwt.h"
#include "base/stamp.h"

struct err *user_token_make(const struct signing_key *k, const struct user_claims *c, char **ret)
{
    AUTO(json_freep) json_t *claims = json_object();
    int64_t now_s = c->now_ns / NS_PER_SEC;

    json_put_int(claims, "exp", now_s + c->seconds);
    json_put_int(claims, "iat", now_s);
    json_put_text(claims, "sun", c->user);
    if (c->uid >= 0)
        json_put_int(claims, "uid", c->uid);
    return jwt_make(k, claims, ret);
}

bool user_token_is(const json_t *claims)
{
    return json_text_filled(claims, "sun") != NULL;
}

struct err *user_token_check(const json_t *claims, int64_t now_ns, struct user_claims *ret)
{
    int64_t until_s = json_int(claims, "exp", 0);

    if (now_ns / NS_PER_SEC >= until_s)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token has expired");
    *ret = (struct user_claims){.user = json_text(claims, "sun"),
                                .uid = json_int(claims, "uid", -1),
                                .now_ns = now_ns,
                                .seconds = until_s - now_ns / NS_PER_SEC};
    return NULL;
}
