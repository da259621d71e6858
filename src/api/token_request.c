/*
 * token_request.c - serviceaccounts/token
 *
 * Answers a TokenRequest with a token, bound to a pod if requested.
 */

#include "access/account_token.h"
#include "api/body.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "base/stamp.h"

static struct err *invalid(const char *field, const char *what)
{
    return err_new(ERR_INVALID, "TokenRequest.authentication.k8s.io \"\" is invalid: %s: %s", field,
                   what);
}

static struct err *get_object(const struct call *c, const char *resource, const char *name,
                              json_t **ret)
{
    const struct kind *k = kind_find("", resource);
    const struct store_object *o = store_get(core_store(c->core), objects_key(k, c->ns, name));

    return o ? objects_decode(o, ret) : objects_not_found(k, name);
}

/* Fills `claims` with the pod to bind the token to. */
static struct err *take_pod(const struct call *c, const json_t *ref, struct account_claims *claims,
                            json_t **ret_pod)
{
    const char *name = json_text(ref, "name");
    const char *uid = json_text(ref, "uid");
    const char *own = NULL;

    if (!json_is_object(ref))
        return NULL;
    if (!text_equal(json_text(ref, "kind"), "Pod") || !name)
        return invalid("spec.boundObjectRef", "want kind Pod, apiVersion v1 and a name: tokens are "
                                              "bound to pods only");
    TRY(get_object(c, "pods", name, ret_pod));
    own = json_text_at(*ret_pod, "metadata", "uid", NULL);
    if (uid && *uid && !text_equal(uid, own))
        return err_new(ERR_CONFLICT,
                       "the UID in the bound object reference (%.128s) does not match the UID in "
                       "record. The object might have been deleted and then recreated",
                       uid);
    if (!text_equal(json_text_at(*ret_pod, "spec", "serviceAccountName", NULL), claims->name))
        return invalid("spec.boundObjectRef", "the pod runs as another service account");
    claims->pod = name;
    claims->pod_uid = own;
    return NULL;
}

static struct err *take_spec(const json_t *spec, struct account_claims *claims)
{
    const json_t *audiences = json_object_get(spec, "audiences");
    const json_t *seconds = json_object_get(spec, "expirationSeconds");

    claims->seconds = ACCOUNT_TOKEN_SECONDS;
    if (json_is_integer(seconds))
        claims->seconds = json_integer_value(seconds);
    if (claims->seconds < ACCOUNT_TOKEN_SECONDS_MIN)
        return invalid("spec.expirationSeconds",
                       "Invalid value: may not specify a duration less than 10 minutes");
    if (claims->seconds > ACCOUNT_TOKEN_SECONDS_MAX)
        return invalid("spec.expirationSeconds",
                       "Invalid value: may not specify a duration larger than a year");
    if (json_array_size(audiences) > 16)
        return invalid("spec.audiences", "Too many: at most 16");
    for (size_t i = 0; i < json_array_size(audiences); i++)
        if (json_string_length(json_array_get(audiences, i)) == 0 ||
            json_string_length(json_array_get(audiences, i)) > 1024)
            return invalid("spec.audiences", "want texts of 1 to 1024 bytes");
    claims->audiences = audiences;
    return NULL;
}

static struct err *check_body(const json_t *body)
{
    const char *kind = json_text(body, "kind");
    const char *version = json_text(body, "apiVersion");

    if ((!kind || text_equal(kind, "TokenRequest")) &&
        (!version || text_equal(version, "authentication.k8s.io/v1")))
        return NULL;
    return err_new(ERR_BAD_REQUEST,
                   "the request body is a %.64s %.64s: want authentication.k8s.io/v1 TokenRequest",
                   version ? version : "", kind ? kind : "");
}

static void put_status(json_t *request, const char *token, int64_t until_ns)
{
    json_t *status = json_object_at(request, "status");
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(until_ns, stamp);
    json_put_text(request, "kind", "TokenRequest");
    json_put_text(request, "apiVersion", "authentication.k8s.io/v1");
    json_put_text(status, "token", token);
    json_put_text(status, "expirationTimestamp", stamp);
}

struct err *handle_token_request(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *account = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *token = NULL;
    struct account_claims claims = {
        .ns = c->ns, .name = c->name, .now_ns = loop_wall_ns(core_loop(c->core))};
    const json_t *ref = NULL;
    bool is_known = false;

    if (!core_signing_key(c->core))
        return err_new(ERR_UNAVAILABLE, "this server has no key to sign tokens with");
    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_body(body));
    TRY(take_spec(json_object_get(body, "spec"), &claims));
    TRY(get_object(c, "serviceaccounts", c->name, &account));
    claims.uid = json_text_at(account, "metadata", "uid", NULL);
    ref = json_at(body, "spec", "boundObjectRef", NULL);
    TRY(take_pod(c, ref, &claims, &pod));
    if (c->who.node &&
        (!pod || !text_equal(json_text_at(pod, "spec", "nodeName", NULL), c->who.node)))
        return err_new(ERR_FORBIDDEN,
                       "serviceaccounts \"%s\" is forbidden: node requested token "
                       "not bound to a pod of its own",
                       c->name);
    TRY(account_token_make(core_signing_key(c->core), &claims, &token));
    put_status(body, token, claims.now_ns + claims.seconds * NS_PER_SEC);
    reply_json(c->x, 201, body, NULL);
    return NULL;
}
