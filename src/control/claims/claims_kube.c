/*
 * claims_kube.c - ResourceClaims over a kube-apiserver: what it watches, and what it tells
 *
 * Objects mark what depends on them as old; a turn of the loop makes it new. A pod is looked at
 * again when its claims have changed, or other pods of theirs; all pods are when devices or classes
 * have.
 */

#include "control/claims/claims_kube.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "control/claims/claims_kube_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

/* The most pods that may use a claim. */
#define RESERVED_MAX 256

#define UNREAD POD_CLAIMS_WAIT "waits until its resource claims are read"

static void kube_soon(struct claims_kube *k)
{
    loop_timer_set(k->timer, 0);
}

static struct claims_kube *kube_of(struct claims *c)
{
    return (struct claims_kube *)c; /* its first member */
}

/* ---- what a waiting pod needs ---- */

/* The lines of a claim that has devices. Returns what the pod waits for, the caller's. */
static char *join_claim(const struct claims_kube *k, const json_t *pod, const char *name,
                        const struct claims_object *claim, struct claims_alternatives *ret)
{
    const json_t *allocation = json_at(claim->tree, "status", "allocation", NULL);
    const json_t *users = json_at(claim->tree, "status", "reservedFor", NULL);
    const json_t *results = json_at(allocation, "devices", "results", NULL);
    const char *node = claims_node_of(allocation);
    const char *uid = text_or_empty(json_text_at(claim->tree, "metadata", "uid", NULL));
    struct buf lines = {0};

    if (!node)
        return mem_format("ResourceClaim %s has devices on nodes that are chosen by labels: not "
                          "implemented yet",
                          claim->name);
    if (json_array_size(users) >= RESERVED_MAX && !claims_is_user(claim->tree, pod))
        return mem_format("ResourceClaim %s has %d pods already, as many as may use it",
                          claim->name, RESERVED_MAX);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        const json_t *device = claims_offers_find(json_object_get(k->offered, node),
                                                  json_text(one, "pool"), json_text(one, "device"));
        char text[DEVICE_TEXT_SIZE];

        if (!text_equal(json_text(one, "driver"), CLAIM_DRIVER) || !device)
            continue;
        claims_device_text(device, text);
        buf_printf(&lines, "%s %s %s %s %s\n", name, text_or_empty(json_text(one, "request")), uid,
                   json_bool(one, "adminAccess", false) ? POD_CLAIM_SEEN : "held", text);
    }
    claims_alternatives_add(ret, buf_steal(&lines), *node ? node : NULL);
    return NULL;
}

/* ---- what is not implemented ---- */

/* Does a container name the request of the claim, or all of the claim? */
static bool is_named(const json_t *pod, const char *name, const char *request)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const struct pod_claim c = {.name = str_of(name), .request = str_of(request)};

    for (size_t i = 0; i < COUNT(lists); i++) {
        const json_t *list = json_at(pod, "spec", lists[i], NULL);

        for (size_t k = 0; k < json_array_size(list); k++)
            if (container_has_claim(json_array_get(list, k), &c))
                return true;
    }
    return false;
}

/* Asks the request, or one of its firstAvailable, for amounts of a device? */
static bool has_capacity(const json_t *request)
{
    const json_t *options = json_object_get(request, "firstAvailable");

    for (size_t i = 0; i < json_array_size(options); i++)
        if (json_object_get(json_array_get(options, i), "capacity"))
            return true;
    return json_at(request, "exactly", "capacity", NULL) != NULL;
}

static bool has_twice(const json_t *pod, const char *claim)
{
    const json_t *entries = json_at(pod, "spec", "resourceClaims", NULL);
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(entries); i++)
        n += text_equal(json_text(json_array_get(entries, i), "resourceClaimName"), claim);
    return n > 1;
}

/* The part of a claim without devices that Mete cannot give, as text; NULL: none. The caller frees
 * it. */
static char *read_refusal(const json_t *pod, const char *name, const struct claims_object *claim)
{
    const json_t *requests = json_at(claim->tree, "spec", "devices", "requests", NULL);
    const json_t *constraints = json_at(claim->tree, "spec", "devices", "constraints", NULL);

    if (has_twice(pod, claim->name))
        return mem_format("the pod names ResourceClaim %s twice: not implemented yet", claim->name);
    for (size_t i = 0; i < json_array_size(constraints); i++)
        if (!json_text(json_array_get(constraints, i), "matchAttribute"))
            return mem_format("ResourceClaim %s: a constraint without matchAttribute: not "
                              "implemented yet",
                              claim->name);
    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *request = json_array_get(requests, i);
        const char *own = text_or_empty(json_text(request, "name"));

        if (has_capacity(request))
            return mem_format("request %s of ResourceClaim %s: capacity: not implemented yet", own,
                              claim->name);
        if (!is_named(pod, name, own))
            return mem_format("request %s of ResourceClaim %s: no container names it in "
                              "resources.claims: not implemented yet",
                              own, claim->name);
    }
    return NULL;
}

/* ---- one pod ---- */

/* Adds the ways to meet one claim. Returns what the pod waits for, the caller's; NULL: nothing. */
static char *read_entry(struct claims_kube *k, const struct claims_object *pod, const json_t *entry,
                        struct claims_alternatives *ret)
{
    const char *name = text_or_empty(json_text(entry, "name"));
    char *wait = NULL;
    const struct claims_object *claim = claims_kube_find(k, pod->tree, entry, &wait);
    const struct claims_object *older =
        claim ? claims_older_pod(&k->claims, pod, claim->name) : NULL;

    if (!claim) {
        if (!wait)
            claims_alternatives_add(ret, mem_strdup(""), NULL);
        return wait;
    }
    if (json_at(claim->tree, "metadata", "deletionTimestamp", NULL))
        return mem_format("ResourceClaim %s is being deleted", claim->name);
    if (json_at(claim->tree, "status", "allocation", NULL))
        return join_claim(k, pod->tree, name, claim, ret);
    wait = read_refusal(pod->tree, name, claim);
    if (wait)
        return wait;
    if (older)
        return mem_format("ResourceClaim %s waits for devices together with pod %s, which is older",
                          claim->name, older->name);
    return claims_resolve(&k->claims, pod->tree, name, claim->tree, ret);
}

static char *read_pod(struct claims_kube *k, const struct claims_object *pod)
{
    const json_t *entries = json_at(pod->tree, "spec", "resourceClaims", NULL);
    AUTO(claims_alternatives_done) struct claims_alternatives all = {0};

    claims_alternatives_add(&all, mem_strdup(""), NULL);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        AUTO(claims_alternatives_done) struct claims_alternatives own = {0};
        AUTO_FREE char *wait = read_entry(k, pod, json_array_get(entries, i), &own);

        if (wait)
            return mem_format("%s%s", POD_CLAIMS_WAIT, wait);
        if (!claims_alternatives_join(&all, &own))
            return mem_format("%sno node has the devices of all its claims", POD_CLAIMS_WAIT);
    }
    return claims_alternatives_choose(&k->claims, pod, &all);
}

static bool is_waiting(const json_t *pod)
{
    return !*pod_node(pod) && !pod_is_terminal(pod);
}

static bool pod_refresh(struct claims_kube *k, struct claims_object *pod)
{
    AUTO_FREE char *text = NULL;

    k->claims.has_choice = false;
    text = is_waiting(pod->tree) ? read_pod(k, pod) : NULL;
    pod->is_due = k->claims.has_choice;
    if (text_equal(text, pod->text))
        return false;
    free(pod->text);
    pod->text = TAKE(text);
    return true;
}

static bool names_claim(const json_t *list, const char *claim)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "resourceClaimName"), claim))
            return true;
    return false;
}

/* Waiting pods that name the claim are looked at again. `claim` NULL: all are. */
static void pods_due(struct claims_kube *k, const char *ns, const char *claim)
{
    struct claims_object *pod;
    struct claims_object *next;

    map_each (handle, k->claims.kinds[CLAIMS_PODS].all, pod, next) {
        if (!claim ||
            (text_equal(pod->ns, ns) &&
             (names_claim(json_at(pod->tree, "spec", "resourceClaims", NULL), claim) ||
              names_claim(json_at(pod->tree, "status", "resourceClaimStatuses", NULL), claim))))
            pod->is_due = is_waiting(pod->tree);
    }
    kube_soon(k);
}

/* The pod may have been the oldest of its claims. */
static void others_due(struct claims_kube *k, const struct claims_object *pod)
{
    const json_t *entries = json_at(pod->tree, "spec", "resourceClaims", NULL);

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *claim = json_text(json_array_get(entries, i), "resourceClaimName");

        if (claim)
            pods_due(k, pod->ns, claim);
    }
}

/* ---- nodes ---- */

/* The inventory has the node's devices, unless the node offers them in another way. */
static bool node_refresh(struct claims_kube *k, struct claims_object *node)
{
    json_t *devices = node->has_amounts ? NULL : json_object_get(k->offered, node->name);
    AUTO_FREE char *text = claims_offers_text(devices);
    bool is_same = text_equal(text, node->text);

    if (text)
        json_put(k->claims.inventory, node->name, json_incref(devices));
    else
        (void)json_object_del(k->claims.inventory, node->name); /* may be missing */
    free(node->text);
    node->text = TAKE(text);
    return !is_same;
}

/* The labels of a node whose gpus are for claims: requests for all devices of a node read them. A
 * new object. */
static json_t *node_kept(const json_t *node, bool has_amounts)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    json_t *kept = json_object();

    if (labels && !has_amounts)
        json_put(json_object_at(kept, "metadata"), "labels", json_deep_copy(labels));
    return kept;
}

void claims_kube_put_node(struct claims_kube *k, const json_t *node, bool has_amounts)
{
    const char *name = text_or_empty(json_text_at(node, "metadata", "name", NULL));
    struct claims_object *o = claims_find(&k->claims, CLAIMS_NODES, "", name);
    bool was_there = o && o->has_amounts == has_amounts;
    AUTO(json_freep) json_t *kept = NULL;

    kept = node_kept(node, has_amounts);
    o = claims_object_put(&k->claims.kinds[CLAIMS_NODES], "", name, kept);
    o->has_amounts = has_amounts;
    if (!was_there && node_refresh(k, o))
        pods_due(k, NULL, NULL);
}

void claims_kube_remove_node(struct claims_kube *k, const char *name)
{
    struct claims_object *o = claims_find(&k->claims, CLAIMS_NODES, "", name);

    if (!o)
        return;
    (void)json_object_del(k->claims.inventory, name); /* may be missing */
    claims_object_free(&k->claims.kinds[CLAIMS_NODES], o);
    pods_due(k, NULL, NULL);
}

const char *claims_kube_node_text(const struct claims_kube *k, const char *name)
{
    const struct claims_object *o = claims_find(&k->claims, CLAIMS_NODES, "", name);

    return o ? o->text : NULL;
}

/* ---- pods ---- */

/* The informer may tell a pod again. */
static bool is_same_version(const json_t *a, const json_t *b)
{
    static const char *const parts[] = {"uid", "resourceVersion"};

    for (size_t i = 0; i < COUNT(parts); i++) {
        const char *part = json_text_at(a, "metadata", parts[i], NULL);

        if (!part || !text_equal(part, json_text_at(b, "metadata", parts[i], NULL)))
            return false;
    }
    return true;
}

void claims_kube_put_pod(struct claims_kube *k, const json_t *pod)
{
    const char *ns = text_or_empty(json_text_at(pod, "metadata", "namespace", NULL));
    const char *name = text_or_empty(json_text_at(pod, "metadata", "name", NULL));
    struct claims_object *o = claims_find(&k->claims, CLAIMS_PODS, ns, name);
    bool is_known = o && is_waiting(o->tree) == is_waiting(pod);

    if (!pod_has_claims(pod) || (o && is_same_version(o->tree, pod)))
        return;
    o = claims_object_put(&k->claims.kinds[CLAIMS_PODS], ns, name, pod);
    o->is_due = true;
    kube_soon(k);
    if (!is_known)
        others_due(k, o);
}

void claims_kube_set_scheduler(struct claims_kube *k, struct scheduler *s)
{
    k->claims.options.scheduler = s;
}

void claims_kube_remove_pod(struct claims_kube *k, const char *ns, const char *name)
{
    struct claims_object *o = claims_find(&k->claims, CLAIMS_PODS, ns, name);

    if (!o)
        return;
    others_due(k, o);
    claims_object_free(&k->claims.kinds[CLAIMS_PODS], o);
}

const char *claims_kube_pod_text(const struct claims_kube *k, const json_t *pod)
{
    const struct claims_object *o =
        claims_find(&k->claims, CLAIMS_PODS, json_text_at(pod, "metadata", "namespace", NULL),
                    json_text_at(pod, "metadata", "name", NULL));

    if (!pod_has_claims(pod) || !is_waiting(pod))
        return NULL;
    return o && o->text ? o->text : UNREAD;
}

/* ---- devices that claims have ---- */

void claims_kube_each_held(const struct claims_kube *k,
                           void (*fn)(void *arg, const char *uuid, const json_t *entry), void *arg)
{
    const char *uuid;
    json_t *entry;

    json_object_foreach (k->held, uuid, entry)
        fn(arg, uuid, entry);
}

static void held_refresh(struct claims_kube *k)
{
    AUTO(json_freep) json_t *was = k->held;
    const char *uuid;
    json_t *entry;

    k->is_held_old = false;
    k->held = claims_held_read(k);
    json_object_foreach (was, uuid, entry)
        if (!json_object_get(k->held, uuid))
            k->o.held_changed(k->o.arg, uuid, NULL);
    json_object_foreach (k->held, uuid, entry)
        if (!json_equal(json_object_get(was, uuid), entry))
            k->o.held_changed(k->o.arg, uuid, entry);
}

/* ---- the loop ---- */

static void offered_refresh(struct claims_kube *k)
{
    AUTO(json_freep) json_t *was = k->offered;
    struct claims_object *node;
    struct claims_object *next;

    k->is_offered_old = false;
    k->offered = claims_offers_read(&k->claims);
    if (json_equal(was, k->offered))
        return;
    map_each (handle, k->claims.kinds[CLAIMS_NODES].all, node, next) {
        if (node_refresh(k, node))
            k->o.node_changed(k->o.arg, node->key);
    }
    k->is_held_old = true;
    pods_due(k, NULL, NULL);
}

static void on_kube_time(void *arg)
{
    static const int read[] = {CLAIMS_SLICES, CLAIMS_CLASSES, CLAIMS_CLAIMS};
    struct claims_kube *k = arg;
    bool was_ready = k->is_ready;
    bool has_choice = false;
    struct claims_object *pod;
    struct claims_object *next;

    for (size_t i = 0; i < COUNT(read); i++)
        if (!k->claims.kinds[read[i]].is_synced)
            return;
    k->is_ready = true;
    if (k->is_offered_old)
        offered_refresh(k);
    if (k->is_held_old)
        held_refresh(k);
    map_each (handle, k->claims.kinds[CLAIMS_PODS].all, pod, next) {
        if (pod->is_due && pod_refresh(k, pod))
            k->o.pod_changed(k->o.arg, pod->key);
        has_choice = has_choice || pod->is_due;
    }
    if (has_choice) /* another way may have opened */
        loop_timer_set(k->timer, NS_PER_SEC);
    if (!was_ready)
        k->o.ready(k->o.arg);
}

static void kube_changed(struct claims_kind *kind, const char *ns, const char *name)
{
    struct claims_kube *k = kube_of(kind->claims);

    if (kind == &k->claims.kinds[CLAIMS_SLICES])
        k->is_offered_old = true;
    else if (kind == &k->claims.kinds[CLAIMS_CLASSES])
        pods_due(k, NULL, NULL);
    else
        pods_due(k, ns, name);
    k->is_held_old = k->is_held_old || kind == &k->claims.kinds[CLAIMS_CLAIMS];
    kube_soon(k);
}

/* Versions of one object: the server's numbers only grow. */
static bool is_older(const json_t *a, const json_t *b)
{
    const char *one = text_or_empty(json_text_at(a, "metadata", "resourceVersion", NULL));
    const char *other = text_or_empty(json_text_at(b, "metadata", "resourceVersion", NULL));
    size_t n = strlen(one);

    if (!text_equal(json_text_at(a, "metadata", "uid", NULL),
                    json_text_at(b, "metadata", "uid", NULL)))
        return false;
    return n != strlen(other) ? n < strlen(other) : strcmp(one, other) < 0;
}

void claims_kube_assume(struct claims_kube *k, const json_t *claim)
{
    const char *ns = text_or_empty(json_text_at(claim, "metadata", "namespace", NULL));
    const char *name = text_or_empty(json_text_at(claim, "metadata", "name", NULL));
    const struct claims_object *o = claims_find(&k->claims, CLAIMS_CLAIMS, ns, name);

    if (!o || !is_older(o->tree, claim))
        return;
    (void)claims_object_put(&k->claims.kinds[CLAIMS_CLAIMS], ns, name, claim);
    kube_changed(&k->claims.kinds[CLAIMS_CLAIMS], ns, name);
}

static void on_kube_put(void *arg, const char *ns, const char *name, const json_t *tree)
{
    struct claims_kind *kind = arg;
    const struct claims_object *o =
        claims_find(kind->claims, (int)(kind - kind->claims->kinds), ns, name);

    if (o && is_older(tree, o->tree))
        return; /* the answer of a write was first */
    (void)claims_object_put(arg, ns, name, tree);
    kube_changed(arg, ns, name);
}

static void on_kube_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct claims_kind *kind = arg;
    struct claims_object *o =
        claims_find(kind->claims, (int)(kind - kind->claims->kinds), ns, name);

    (void)last;
    if (!o)
        return;
    claims_object_free(kind, o);
    kube_changed(kind, ns, name);
}

static void on_kube_synced(void *arg)
{
    struct claims_kind *kind = arg;

    kind->is_synced = true;
    kube_soon(kube_of(kind->claims));
}

static void kube_watch_all(struct claims_kube *k)
{
    static const struct {
        int kind;
        const char *resource;
    } watched[] = {{CLAIMS_SLICES, "resourceslices"},
                   {CLAIMS_CLASSES, "deviceclasses"},
                   {CLAIMS_CLAIMS, "resourceclaims"}};

    for (size_t i = 0; i < COUNT(watched); i++) {
        struct claims_kind *kind = &k->claims.kinds[watched[i].kind];
        const struct cluster_listener l = {on_kube_put, on_kube_removed, kind, on_kube_synced};

        err_free(cluster_watch(k->o.cluster, "resource.k8s.io", watched[i].resource, &l,
                               &kind->watch)); /* by the options: NULL */
    }
}

struct claims_kube *claims_kube_new(const struct claims_kube_options *o)
{
    struct claims_kube *k = mem_alloc(sizeof(*k));

    *k = (struct claims_kube){.claims = {.options = {.loop = o->loop, .cluster = o->cluster},
                                         .inventory = json_object(),
                                         .is_kube = true},
                              .o = *o,
                              .offered = json_object(),
                              .held = json_object()};
    for (size_t i = 0; i < CLAIMS_KINDS; i++)
        k->claims.kinds[i].claims = &k->claims;
    k->timer = loop_timer_new(o->loop, on_kube_time, k);
    kube_watch_all(k);
    return k;
}

void claims_kube_free(struct claims_kube *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < CLAIMS_KINDS; i++) {
        cluster_unwatch(k->o.cluster, k->claims.kinds[i].watch);
        while (k->claims.kinds[i].all)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it goes out of the map */
            claims_object_free(&k->claims.kinds[i], k->claims.kinds[i].all);
    }
    json_decref(k->claims.inventory);
    json_decref(k->offered);
    json_decref(k->held);
    loop_timer_free(k->timer);
    free(k);
}
