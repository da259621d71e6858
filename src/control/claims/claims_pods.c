/* claims_pods.c - what the claims of a waiting pod mean, written into the pod; claims of templates
 */

#include "control/claims/claims_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

/* The annotation of a pod in the making. */
struct reading {
    struct claims *claims;
    const struct claims_object *pod;
    const char *node; /* of shared devices; NULL: any */
    struct claims_alternatives all;
    json_t *statuses; /* claims of templates, as in pod.status.resourceClaimStatuses */
};

/* ---- claims of templates ---- */

static json_t *claim_of_template(const struct claims_object *pod, const json_t *template,
                                 const char *entry, const char *name)
{
    const json_t *from = json_object_get(template, "spec");
    json_t *claim = json_object();
    json_t *metadata = json_object_at(claim, "metadata");
    json_t *annotations;

    if (json_object_get(from, "metadata"))
        (void)json_object_update(metadata, json_object_get(from, "metadata")); /* both objects */
    json_put_text(metadata, "name", name);
    annotations = json_deep_copy(json_object_at(metadata, "annotations"));
    json_put_text(annotations, "resource.kubernetes.io/pod-claim-name", entry);
    json_put(metadata, "annotations", annotations);
    json_put(metadata, "ownerReferences",
             json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "v1", "kind", "Pod",
                       "name", pod->name, "uid",
                       text_or_empty(json_text_at(pod->tree, "metadata", "uid", NULL)),
                       "controller", 1, "blockOwnerDeletion", 1));
    json_put(claim, "spec", json_deep_copy(json_object_get(from, "spec")));
    return claim;
}

/* Makes the claim. Returns what the pod waits for, the caller's. */
static char *make_claim(struct reading *r, const json_t *entry, const char *name)
{
    const char *template = json_text(entry, "resourceClaimTemplateName");
    const struct claims_object *t =
        template ? claims_find(r->claims, CLAIMS_TEMPLATES, r->pod->ns, template) : NULL;
    AUTO(json_freep) json_t *claim = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct cluster_answer a;

    if (!template)
        return mem_format("there is no ResourceClaim %s", name);
    if (!t)
        return mem_format("there is no ResourceClaimTemplate %s", template);
    claim = claim_of_template(r->pod, t->tree, json_text(entry, "name"), name);
    a = claims_answer(r->claims, r->pod->key);
    e = writes_end(a, cluster_create(r->claims->options.cluster, "resourceclaims.resource.k8s.io",
                                     r->pod->ns, claim, a));
    if (!e || err_code(e) == ERR_EXISTS)
        return mem_format("ResourceClaim %s is being made", name);
    claims_retry(r->claims);
    return mem_format("ResourceClaim %s cannot be made: %s", name, err_message(e));
}

/* ---- shared claims ---- */

static bool names_claim(const struct claims_object *pod, const char *name)
{
    const json_t *entries = json_at(pod->tree, "spec", "resourceClaims", NULL);

    for (size_t i = 0; i < json_array_size(entries); i++)
        if (text_equal(json_text(json_array_get(entries, i), "resourceClaimName"), name))
            return true;
    return false;
}

static int compare_age(const struct claims_object *a, const struct claims_object *b)
{
    int order = strcmp(text_or_empty(json_text_at(a->tree, "metadata", "creationTimestamp", NULL)),
                       text_or_empty(json_text_at(b->tree, "metadata", "creationTimestamp", NULL)));

    return order != 0 ? order : strcmp(a->name, b->name);
}

static bool has_scheduler_of(const struct claims_object *a, const struct claims_object *b)
{
    return text_equal(json_text_at(a->tree, "spec", "schedulerName", NULL),
                      json_text_at(b->tree, "spec", "schedulerName", NULL));
}

const struct claims_object *claims_older_pod(const struct claims *c,
                                             const struct claims_object *pod, const char *claim)
{
    struct claims_object *other;
    struct claims_object *next;

    map_each (handle, c->kinds[CLAIMS_PODS].all, other, next) {
        if (other != pod && text_equal(other->ns, pod->ns) && !*pod_node(other->tree) &&
            !pod_is_deleting(other->tree) && !pod_is_terminal(other->tree) &&
            names_claim(other, claim) && has_scheduler_of(other, pod) &&
            compare_age(other, pod) < 0)
            return other;
    }
    return NULL;
}

/* The lines of devices that the user sees for monitoring. */
static void share_seen(const struct claims_object *user, const char *name, const char *uid,
                       struct buf *lines)
{
    struct str rest = {0};
    struct pod_claim line;

    while (pod_next_claim(user->tree, &rest, &line))
        if (line.seen.size > 0 && str_equal(line.uid, str_of(uid)))
            buf_printf(lines, "%s " STR_FMT " %s " POD_CLAIM_SEEN " " STR_FMT "\n", name,
                       STR_ARG(line.request), uid, STR_ARG(line.seen));
}

/* The lines of a claim whose devices `user` has. */
static char *share_claim(struct reading *r, const char *name, const struct claims_object *claim,
                         const struct claims_object *user, struct claims_alternatives *ret)
{
    AUTO(json_freep) json_t *devices = claims_devices_of(user, claim->tree);
    const char *uid = text_or_empty(json_text_at(claim->tree, "metadata", "uid", NULL));
    const char *node = pod_node(user->tree);
    const char *last = NULL;
    struct buf lines = {0};

    if (r->node && !text_equal(r->node, node))
        return mem_format("its claims have devices on the nodes %s and %s", r->node, node);
    r->node = node;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *one = json_array_get(devices, i);
        const char *request = text_or_empty(json_text(one, "request"));

        if (text_equal(last, request))
            buf_printf(&lines, ";%s", json_text(one, "device"));
        else
            buf_printf(&lines, "%s%s %s %s held %s", last ? "\n" : "", name, request, uid,
                       json_text(one, "device"));
        last = request;
    }
    if (last)
        buf_add_char(&lines, '\n');
    share_seen(user, name, uid, &lines);
    claims_alternatives_add(ret, buf_steal(&lines), node);
    return NULL;
}

/* ---- one pod ---- */

/* Adds the ways to meet one claim. Returns what the pod waits for, the caller's; NULL: nothing. */
static char *read_claim(struct reading *r, const json_t *entry, struct claims_alternatives *ret)
{
    const char *name = text_or_empty(json_text(entry, "name"));
    AUTO_FREE char *claim_name = NULL;
    const struct claims_object *claim = claims_of_pod(r->claims, r->pod, entry, &claim_name);
    const struct claims_object *user = claim ? claims_user(r->claims, claim) : NULL;
    const struct claims_object *older =
        claim ? claims_older_pod(r->claims, r->pod, claim_name) : NULL;

    if (!claim)
        return make_claim(r, entry, claim_name);
    if (json_text(entry, "resourceClaimTemplateName"))
        (void)json_array_append_new(
            r->statuses, json_pack("{s:s, s:s}", "name", name, "resourceClaimName", claim_name));
    if (json_at(claim->tree, "metadata", "deletionTimestamp", NULL))
        return mem_format("ResourceClaim %s is being deleted", claim_name);
    if (user)
        return share_claim(r, name, claim, user, ret);
    if (older)
        return mem_format("ResourceClaim %s waits for devices together with pod %s, which is older",
                          claim_name, older->name);
    return claims_resolve(r->claims, r->pod->tree, name, claim->tree, ret);
}

/* The annotation's text. */
static char *read_pod(struct reading *r)
{
    const json_t *entries = json_at(r->pod->tree, "spec", "resourceClaims", NULL);

    claims_alternatives_add(&r->all, mem_strdup(""), NULL);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        AUTO(claims_alternatives_done) struct claims_alternatives own = {0};
        AUTO_FREE char *wait = read_claim(r, json_array_get(entries, i), &own);

        if (wait)
            return mem_format("%s%s", POD_CLAIMS_WAIT, wait);
        if (!claims_alternatives_join(&r->all, &own))
            return mem_format("%sno node has the devices of all its claims", POD_CLAIMS_WAIT);
    }
    return claims_alternatives_choose(r->claims, r->pod, &r->all);
}

/* The pod's version goes along: a pod that was bound meanwhile keeps its annotation. */
static void patch_pod(struct claims *c, const struct claims_object *pod, const char *text)
{
    const struct cluster_target target = {.resource = "pods", .ns = pod->ns, .name = pod->name};
    AUTO(json_freep) json_t *patch = json_object();
    json_t *metadata = json_object_at(patch, "metadata");
    struct cluster_answer a = claims_answer(c, pod->key);

    json_put_text(metadata, "resourceVersion",
                  json_text_at(pod->tree, "metadata", "resourceVersion", NULL));
    json_put_text(json_object_at(metadata, "annotations"), POD_CLAIMS, text);
    claims_written(c, pod->key,
                   writes_end(a, cluster_patch(c->options.cluster, &target, patch, a)));
}

static void patch_statuses(struct claims *c, const struct claims_object *pod, json_t *statuses)
{
    const struct cluster_target target = {
        .resource = "pods", .ns = pod->ns, .name = pod->name, .subresource = "status"};
    AUTO(json_freep) json_t *patch = json_object();
    struct cluster_answer a = claims_answer(c, pod->key);

    json_put(json_object_at(patch, "status"), "resourceClaimStatuses", json_incref(statuses));
    claims_written(c, pod->key,
                   writes_end(a, cluster_patch(c->options.cluster, &target, patch, a)));
}

void claims_write_pod(struct claims *c, const struct claims_object *pod)
{
    const char *was = json_text_at(pod->tree, "metadata", "annotations", POD_CLAIMS, NULL);
    struct reading r = {.claims = c, .pod = pod};
    AUTO(json_freep) json_t *statuses = NULL;
    AUTO_FREE char *text = NULL;

    if (*pod_node(pod->tree) || pod_is_terminal(pod->tree) || pod_is_deleting(pod->tree))
        return;
    statuses = json_array();
    r.statuses = statuses;
    text = read_pod(&r);
    claims_alternatives_done(&r.all);
    if (!text_equal(text, was))
        patch_pod(c, pod, text);
    else if (json_array_size(statuses) > 0 &&
             !json_equal(json_at(pod->tree, "status", "resourceClaimStatuses", NULL), statuses))
        patch_statuses(c, pod, statuses);
}
