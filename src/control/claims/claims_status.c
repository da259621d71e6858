/* claims_status.c - the status of claims: their devices and the pods that use them */

#include <stdio.h>

#include "base/fnv.h"
#include "base/stamp.h"
#include "control/claims/claims_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    OWNER_NAME_MAX = 180
};

/* The finalizer of claims that pods use, as Kubernetes has it. */
#define PROTECTION "resource.kubernetes.io/delete-protection"

static const char *uid_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "uid", NULL));
}

static bool is_owned_by(const json_t *object, const char *uid)
{
    const json_t *owners = json_at(object, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++)
        if (text_equal(json_text(json_array_get(owners, i), "uid"), uid))
            return true;
    return false;
}

const struct claims_object *claims_of_pod(const struct claims *c, const struct claims_object *pod,
                                          const json_t *entry, char **ret_name)
{
    const char *name = json_text(entry, "resourceClaimName");
    const struct claims_object *claim;

    *ret_name = name ? mem_strdup(name)
                     : mem_format("%.*s-%s-%05x", OWNER_NAME_MAX, pod->name,
                                  text_or_empty(json_text(entry, "name")),
                                  (unsigned)(fnv_text(FNV_START, uid_of(pod->tree)) & 0xfffff));
    claim = claims_find(c, CLAIMS_CLAIMS, pod->ns, *ret_name);
    if (claim && !name && !is_owned_by(claim->tree, uid_of(pod->tree)))
        return NULL;
    return claim;
}

bool claims_uses(const struct claims_object *pod, const json_t *claim)
{
    struct str rest = {0};
    struct pod_claim line;

    if (!*pod_node(pod->tree) || pod_is_terminal(pod->tree))
        return false;
    while (pod_next_claim(pod->tree, &rest, &line))
        if (str_equal(line.uid, str_of(uid_of(claim))))
            return true;
    return false;
}

const struct claims_object *claims_user(const struct claims *c, const struct claims_object *claim)
{
    const struct claims_object *first = NULL;
    struct claims_object *pod;
    struct claims_object *next;

    map_each (handle, c->kinds[CLAIMS_PODS].all, pod, next) {
        if (text_equal(pod->ns, claim->ns) && claims_uses(pod, claim->tree) &&
            (!first || strcmp(pod->key, first->key) < 0))
            first = pod;
    }
    return first;
}

/* ---- devices ---- */

struct listing {
    const json_t *pod;
    const char *uid;
    const char *container; /* of the last device */
    size_t index;
    json_t *all; /* [{request, device}] with texts of devices */
};

static bool list_device(void *arg, const char *container, const struct device *d)
{
    struct listing *l = arg;
    struct str request = {0};
    bool is_held = false;
    struct str uid;
    char text[DEVICE_TEXT_SIZE];

    l->index = text_equal(l->container, container) ? l->index + 1 : 0;
    l->container = container;
    uid = ledger_claim_of(l->pod, container, l->index, &is_held, &request);
    if (!str_equal(uid, str_of(l->uid)))
        return true;
    device_format(d, text);
    for (size_t i = 0; i < json_array_size(l->all); i++)
        if (text_equal(json_text(json_array_get(l->all, i), "device"), text))
            return true;
    (void)json_array_append_new(
        l->all, json_pack("{s:s%, s:s}", "request", request.at, request.size, "device", text));
    return true;
}

json_t *claims_devices_of(const struct claims_object *pod, const json_t *claim)
{
    struct listing l = {.pod = pod->tree, .uid = uid_of(claim), .all = json_array()};

    pod_each_device(pod->tree, list_device, &l);
    return l.all;
}

json_t *claims_node_selector(const char *node)
{
    return json_pack("{s:[{s:[{s:s, s:s, s:[s]}]}]}", "nodeSelectorTerms", "matchFields", "key",
                     "metadata.name", "operator", "In", "values", node);
}

/* Adds the devices that the user sees for monitoring. */
static void add_seen(const struct claims *c, const struct claims_object *user, const char *uid,
                     json_t *results)
{
    const char *node = pod_node(user->tree);
    struct str rest = {0};
    struct pod_claim line;

    while (pod_next_claim(user->tree, &rest, &line)) {
        struct str seen = line.seen;
        struct device d;

        while (str_equal(line.uid, str_of(uid)) && pod_next_held(&seen, &d)) {
            const char *name = claims_device_name(json_object_get(c->inventory, node), &d);

            (void)json_array_append_new(
                results, json_pack("{s:s%, s:s, s:s, s:s, s:b}", "request", line.request.at,
                                   line.request.size, "driver", CLAIM_DRIVER, "pool", node,
                                   "device", name ? name : d.gpu, "adminAccess", 1));
        }
    }
}

static json_t *allocation_of(const struct claims *c, const struct claims_object *user,
                             const json_t *claim)
{
    const char *node = pod_node(user->tree);
    const json_t *inventory = json_object_get(c->inventory, node);
    AUTO(json_freep) json_t *devices = claims_devices_of(user, claim);
    json_t *allocation = json_object();
    json_t *results = json_array_at(json_object_at(allocation, "devices"), "results");

    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *one = json_array_get(devices, i);
        struct device d = {0};
        AUTO(err_freep)
        struct err *e = device_parse(text_or_empty(json_text(one, "device")), &d);
        const char *name = e ? NULL : claims_device_name(inventory, &d);

        (void)json_array_append_new(results,
                                    json_pack("{s:s, s:s, s:s, s:s}", "request",
                                              json_text(one, "request"), "driver", CLAIM_DRIVER,
                                              "pool", node, "device", name ? name : d.gpu));
    }
    add_seen(c, user, uid_of(claim), results);
    json_put(allocation, "nodeSelector", claims_node_selector(node));
    return allocation;
}

/* ---- status ---- */

static json_t *users_of(const struct claims *c, const struct claims_object *claim)
{
    struct claims_object *pod;
    struct claims_object *next;
    json_t *users = json_array();

    map_each (handle, c->kinds[CLAIMS_PODS].all, pod, next) {
        if (text_equal(pod->ns, claim->ns) && claims_uses(pod, claim->tree))
            (void)json_array_append_new(users,
                                        json_pack("{s:s, s:s, s:s}", "resource", "pods", "name",
                                                  pod->name, "uid", uid_of(pod->tree)));
    }
    return users;
}

/* Is the allocation the present one, but for its time? Devices of a claim do not change while it is
 * used, so an allocation without devices in the inventory stays as it was. */
static bool is_same_allocation(const json_t *was, const json_t *is)
{
    return json_equal(json_object_get(was, "devices"), json_object_get(is, "devices")) &&
           json_equal(json_object_get(was, "nodeSelector"), json_object_get(is, "nodeSelector"));
}

static void write_status(struct claims *c, const struct claims_object *claim, json_t *allocation,
                         json_t *users)
{
    const struct cluster_target target = {.resource = "resourceclaims.resource.k8s.io",
                                          .ns = claim->ns,
                                          .name = claim->name,
                                          .subresource = "status"};
    AUTO(json_freep) json_t *patch = json_object();
    json_t *status = json_object_at(patch, "status");
    struct cluster_answer a;

    json_put(status, "allocation", allocation ? json_incref(allocation) : json_null());
    json_put(status, "reservedFor", users ? json_incref(users) : json_null());
    a = claims_answer(c, claim->key);
    claims_written(c, claim->key,
                   writes_end(a, cluster_patch(c->options.cluster, &target, patch, a)));
}

/* ---- protection from deletion ---- */

static bool is_protected(const struct claims_object *claim)
{
    return json_has_text(json_at(claim->tree, "metadata", "finalizers", NULL), PROTECTION);
}

/* Other finalizers of the claim stay. */
static void write_protection(struct claims *c, const struct claims_object *claim, bool is_wanted)
{
    const struct cluster_target target = {
        .resource = "resourceclaims.resource.k8s.io", .ns = claim->ns, .name = claim->name};
    AUTO(json_freep) json_t *patch = json_object();
    const char *key = is_wanted ? "finalizers" : "$deleteFromPrimitiveList/finalizers";
    json_t *metadata = json_object_at(patch, "metadata");
    struct cluster_answer a;

    json_put_text(metadata, "uid", uid_of(claim->tree));
    json_put(metadata, key, json_pack("[s]", PROTECTION));
    a = claims_answer(c, claim->key);
    claims_written(c, claim->key,
                   writes_end(a, cluster_patch(c->options.cluster, &target, patch, a)));
}

static void update_protection(struct claims *c, const struct claims_object *claim, bool is_used)
{
    bool is_deleting = json_at(claim->tree, "metadata", "deletionTimestamp", NULL) != NULL;

    if (is_used != is_protected(claim) && !(is_used && is_deleting))
        write_protection(c, claim, is_used);
}

/* ---- the loop's part ---- */

static void put_time(const struct claims *c, json_t *allocation)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(c->options.loop), text);
    json_put_text(allocation, "allocationTimestamp", text);
}

static void update_status(struct claims *c, const struct claims_object *claim)
{
    const struct claims_object *user = claims_user(c, claim);
    const json_t *was = json_at(claim->tree, "status", "allocation", NULL);
    AUTO(json_freep) json_t *users = NULL;
    AUTO(json_freep) json_t *allocation = NULL;

    update_protection(c, claim, user != NULL);
    if (!user) {
        if (was)
            write_status(c, claim, NULL, NULL);
        return;
    }
    users = users_of(c, claim);
    allocation = allocation_of(c, user, claim->tree);
    if (is_same_allocation(was, allocation) &&
        json_equal(json_at(claim->tree, "status", "reservedFor", NULL), users))
        return;
    if (is_same_allocation(was, allocation))
        json_put_text(allocation, "allocationTimestamp", json_text(was, "allocationTimestamp"));
    else
        put_time(c, allocation);
    write_status(c, claim, allocation, users);
}

/* The pod of a claim that was made from a template has ended. */
static bool is_left(const struct claims *c, const struct claims_object *claim)
{
    struct claims_object *pod;
    struct claims_object *next;

    map_each (handle, c->kinds[CLAIMS_PODS].all, pod, next) {
        if (text_equal(pod->ns, claim->ns) && pod_is_terminal(pod->tree) &&
            is_owned_by(claim->tree, uid_of(pod->tree)))
            return true;
    }
    return false;
}

void claims_write_status(struct claims *c, const struct claims_object *claim)
{
    const struct cluster_target target = {
        .resource = "resourceclaims.resource.k8s.io", .ns = claim->ns, .name = claim->name};
    struct cluster_answer a;

    update_status(c, claim);
    if (!is_left(c, claim) || json_at(claim->tree, "metadata", "deletionTimestamp", NULL))
        return;
    a = claims_answer(c, claim->key);
    claims_written(
        c, claim->key,
        writes_end(a, cluster_remove(c->options.cluster, &target, uid_of(claim->tree), a)));
}
