/* account_token.c - signing and verifying tokens of service accounts */

#include "access/account_token.h"

#include "access/jwt.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/objects.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

/* A deleted pod's tokens stay valid for this time, as in Kubernetes. */
static const int64_t goodbye_ns = 60 * NS_PER_SEC;

/* ---- making a token ---- */

static json_t *account_reference(const char *name, const char *uid)
{
    json_t *object = json_object();

    json_put_text(object, "name", name);
    json_put_text(object, "uid", uid);
    return object;
}

static json_t *make_claims(const struct account_claims *c)
{
    json_t *claims = json_object();
    json_t *ours = json_object_at(claims, "kubernetes.io");
    AUTO_FREE char *subject = mem_format(ACCOUNT_PREFIX "%s:%s", c->ns, c->name);
    int64_t now_s = c->now_ns / NS_PER_SEC;

    json_put_text(claims, "iss", ACCOUNT_AUDIENCE);
    json_put_text(claims, "sub", subject);
    if (json_array_size(c->audiences) > 0)
        json_put(claims, "aud", json_deep_copy(c->audiences));
    else
        (void)json_array_append_new(json_array_at(claims, "aud"), json_string(ACCOUNT_AUDIENCE));
    json_put_int(claims, "iat", now_s);
    json_put_int(claims, "nbf", now_s);
    json_put_int(claims, "exp", now_s + c->seconds);
    json_put_text(ours, "namespace", c->ns);
    json_put(ours, "serviceaccount", account_reference(c->name, c->uid));
    if (c->pod)
        json_put(ours, "pod", account_reference(c->pod, c->pod_uid));
    return claims;
}

struct err *account_token_make(const struct signing_key *k, const struct account_claims *c,
                               char **ret)
{
    AUTO(json_freep) json_t *claims = make_claims(c);

    return jwt_make(k, claims, ret);
}

/* ---- verifying a token ---- */

static struct err *unknown(const char *why)
{
    return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the service account token %s", why);
}

static bool is_for(const json_t *claims, const char *audience)
{
    return json_has_text(json_object_get(claims, "aud"), audience);
}

/* Returns a new reference to the object with this name and uid, or NULL. */
static json_t *account_find(const struct store *s, const char *resource, const char *ns,
                            const json_t *named_as)
{
    const struct store_key key = {
        .group = "", .resource = resource, .ns = ns, .name = json_text(named_as, "name")};
    const struct store_object *o = key.name && ns ? store_get(s, key) : NULL;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = o ? objects_decode(o, &object) : NULL;
    const char *uid = json_text(named_as, "uid");

    if (!o || e || !uid || !text_equal(json_text_at(object, "metadata", "uid", NULL), uid))
        return NULL;
    return TAKE(object);
}

static struct err *check_pod(const struct store *s, const char *ns, const json_t *named_as,
                             int64_t now_ns)
{
    AUTO(json_freep) json_t *pod = account_find(s, "pods", ns, named_as);
    const char *deleted = json_text_at(pod, "metadata", "deletionTimestamp", NULL);
    AUTO(err_freep) struct err *e = NULL;
    int64_t deleted_ns = 0;

    if (!pod || pod_is_terminal(pod))
        return unknown("is bound to a pod that is gone");
    if (!deleted)
        return NULL;
    e = stamp_parse(str_of(deleted), &deleted_ns);
    return e || now_ns > deleted_ns + goodbye_ns ? unknown("is bound to a pod that is gone") : NULL;
}

struct err *account_token_check(const struct account_question *q, struct arena *arena,
                                const json_t *claims, struct account_claims *ret)
{
    AUTO(json_freep) json_t *account = NULL;
    const json_t *ours = NULL;
    const json_t *pod = NULL;
    const char *ns = NULL;
    int64_t now_s = q->now_ns / NS_PER_SEC;

    if (!is_for(claims, q->audience))
        return unknown("is for another audience");
    if (now_s >= json_int(claims, "exp", 0) || now_s + 60 < json_int(claims, "nbf", INT64_MAX))
        return unknown("has expired");
    ours = json_object_get(claims, "kubernetes.io");
    ns = json_text(ours, "namespace");
    account =
        account_find(q->store, "serviceaccounts", ns, json_object_get(ours, "serviceaccount"));
    if (!account)
        return unknown("is of a service account that is gone");
    pod = json_object_get(ours, "pod");
    if (pod)
        TRY(check_pod(q->store, ns, pod, q->now_ns));
    *ret = (struct account_claims){
        .ns = arena_strdup(arena, ns),
        .name = arena_strdup(arena, json_text_at(account, "metadata", "name", NULL)),
        .uid = arena_strdup(arena, json_text_at(account, "metadata", "uid", NULL)),
        .now_ns = q->now_ns,
        .seconds = json_int(claims, "exp", 0) - now_s};
    if (pod) {
        ret->pod = arena_strdup(arena, json_text(pod, "name"));
        ret->pod_uid = arena_strdup(arena, json_text(pod, "uid"));
    }
    return NULL;
}
