/*
 * slurm_token.c - POST /mete.dev/v1/slurm-tokens: a token for slurmrestd's paths, as `scontrol
 * token` prints it, for the caller; administrators get one for any user
 */

#include "access/jwt.h"
#include "access/user_token.h"
#include "api/body.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "base/stamp.h"

/* A token does not make tokens: it would never end. An impersonated user has no proof of its own,
 * and nodes and pods have other tokens. */
static struct err *check_caller(const struct call *c)
{
    const struct api_request *r = &c->x->request;
    const char *header = request_header(r, "authorization");

    if (c->who.node || c->who.uid || c->who.impersonator)
        return err_new(ERR_FORBIDDEN, "User \"%s\" cannot make a token", c->who.user);
    if (header && jwt_is(header))
        return err_new(ERR_FORBIDDEN, "a token of scontrol token makes no other token");
    return NULL;
}

/* Is the proof of the caller its uid on the unix socket? */
static bool is_of_socket(const struct api_request *r)
{
    return r->peer.is_unix && !request_header(r, "authorization");
}

static struct err *find_user(const struct call *c, const char *name, struct user_claims *claims)
{
    const struct api_request *r = &c->x->request;

    claims->user = name ? name : c->who.user;
    claims->uid = -1;
    if (text_equal(claims->user, c->who.user) && is_of_socket(r)) {
        claims->uid = (int64_t)r->peer.uid;
        return NULL;
    }
    if (!text_equal(claims->user, c->who.user) && !c->who.is_admin)
        return err_new(ERR_FORBIDDEN,
                       "User \"%s\" cannot make a token of another user: administrators do",
                       c->who.user);
    if (!auth_find_user(core_auth(c->core), claims->user, &claims->uid))
        return err_new(ERR_INVALID,
                       "user: \"%.253s\" is neither in users.yaml nor a user of this machine",
                       claims->user);
    if (!c->who.is_admin)
        claims->uid = -1; /* the rights of the entry in users.yaml, no others */
    return NULL;
}

struct err *handle_slurm_token(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *answer = json_object();
    AUTO_FREE char *token = NULL;
    struct user_claims claims = {.now_ns = loop_wall_ns(core_loop(c->core))};
    bool is_known = false;

    if (!core_signing_key(c->core))
        return err_new(ERR_UNAVAILABLE, "this server has no key to sign tokens with");
    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_caller(c));
    claims.seconds = json_int(body, "seconds", USER_TOKEN_SECONDS);
    if (claims.seconds < 1 || claims.seconds > USER_TOKEN_SECONDS_MAX)
        return err_new(ERR_INVALID, "seconds: a token is valid for 1 to %d seconds",
                       USER_TOKEN_SECONDS_MAX);
    TRY(find_user(c, json_text_filled(body, "user"), &claims));
    TRY(user_token_make(core_signing_key(c->core), &claims, &token));
    json_put_text(answer, "user", claims.user);
    json_put_text(answer, "token", token);
    json_put_int(answer, "expires", claims.now_ns / NS_PER_SEC + claims.seconds);
    reply_json(c->x, 201, answer, NULL);
    return NULL;
}
