/* cluster_kube_watch.c - watches of a kube-apiserver: informers of what it has */

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/cluster_kube_private.h"
#include "control/kube/kube_trim.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"

#define LOOK_AGAIN_NS (30 * NS_PER_SEC) /* for a resource that is not there */
#define TRY_AGAIN_NS  (1 * NS_PER_SEC)
#define WAIT_NODES_NS (10 * NS_PER_MS)
#define OWN_GROUP     "mete.dev"

/* A struct cluster_watch of this cluster. It probes for its resource before its informer begins. */
struct kube_watch {
    struct kube_watch *prev;
    struct kube_watch *next;
    struct over_kube *cluster;
    const struct kind *kind;   /* NULL: an internal resource, always empty */
    const struct kind *served; /* the version that the server has, or that is asked for now */
    struct cluster_listener listener;
    char *path;
    struct kube_call *probe;
    struct loop_timer *timer;
    struct informer *informer;
    bool is_ledger; /* of mete.dev: the devices that claims have */
    bool is_synced;
    bool is_told; /* the problem has been logged */
};

static bool watch_is_of_group(const struct kube_watch *w, const char *group, const char *plural)
{
    return w->kind && text_equal(w->kind->group, group) && text_equal(w->kind->plural, plural);
}

/* Of the core group. */
static bool watch_is_of(const struct kube_watch *w, const char *plural)
{
    return watch_is_of_group(w, "", plural);
}

static bool watch_is_of_queues(const struct kube_watch *w)
{
    return watch_is_of_group(w, OWN_GROUP, "queues");
}

const struct kube_resource kube_jobs = {"batch", "jobs"};
const struct kube_resource kube_volcano_groups = {"scheduling.volcano.sh", "podgroups"};

static void watch_synced(struct kube_watch *w)
{
    if (w->is_synced)
        return;
    w->is_synced = true;
    if (watch_is_of(w, "nodes"))
        w->cluster->knows_nodes = true;
    if (watch_is_of(w, "pods"))
        kube_devices_loaded(w->cluster->devices);
    w->listener.synced(w->listener.arg);
}

/* Items of a list lack their apiVersion and kind. A new reference. */
static json_t *object_whole(const struct kube_watch *w, const json_t *object)
{
    json_t *whole = NULL;

    if (json_text(object, "kind"))
        return json_incref((json_t *)(uintptr_t)object);
    whole = json_copy((json_t *)(uintptr_t)object);
    json_put_text(whole, "apiVersion", w->served->api_version);
    json_put_text(whole, "kind", w->kind->kind);
    return whole;
}

/* An object of another version, in the form that our rooms know. */
static json_t *object_kept(const struct kube_watch *w, const json_t *object)
{
    json_t *kept = json_deep_copy(object);

    kind_to_kept(w->served, kept);
    return kept;
}

/*
 * An object of our own kinds, in canonical form: its CustomResourceDefinition may be an older one,
 * and CEL does not check all. NULL: the object cannot be used, as a Queue with a quota over 2^60;
 * listeners keep the state before.
 */
static json_t *object_own(const struct kube_watch *w, const json_t *object)
{
    AUTO(json_freep) json_t *own = json_deep_copy(object);
    AUTO(err_freep) struct err *e = kind_decode(w->kind, own, VALIDATION_IGNORE, NULL);

    if (!e)
        e = kind_validate(w->kind, own);
    if (!e)
        return TAKE(own);
    LOG(WARN, "an object of the API server is not valid", S("path", w->path), E(e));
    return NULL;
}

/* A copy of the object with one more annotation; a new reference to it if `text` is NULL. */
static json_t *with_annotation(const json_t *object, const char *key, const char *text)
{
    json_t *copy;

    if (!text)
        return json_incref((json_t *)(uintptr_t)object);
    copy = json_deep_copy(object);
    json_put_text(json_object_at(json_object_at(copy, "metadata"), "annotations"), key, text);
    return copy;
}

json_t *kube_pod_told(struct over_kube *c, const json_t *pod)
{
    const char *text = c->claims ? claims_kube_pod_text(c->claims, pod) : NULL;
    AUTO(json_freep) json_t *with_claims = with_annotation(pod, POD_CLAIMS, text);
    AUTO(json_freep) json_t *with_devices = kube_devices_put_pod(c->devices, with_claims);

    return c->foreign ? kube_foreign_pod(c->foreign, with_devices) : TAKE(with_devices);
}

static json_t *node_told(struct over_kube *c, const json_t *node)
{
    const char *name = json_text_at(node, "metadata", "name", NULL);
    const char *text = c->claims ? claims_kube_node_text(c->claims, name) : NULL;
    AUTO(json_freep) json_t *with_gpus = with_annotation(node, NODE_GPUS, text);

    return kube_devices_put_node(c->devices, with_gpus);
}

/* The object as the listeners know it: with gpus, devices and queues. A new reference; NULL: it
 * does not count. */
static json_t *object_told(const struct kube_watch *w, const json_t *object)
{
    AUTO(json_freep) json_t *whole = object_whole(w, object);

    if (w->served != w->kind)
        return object_kept(w, whole);
    if (text_equal(w->kind->group, OWN_GROUP))
        return object_own(w, whole);
    if (watch_is_of(w, "nodes"))
        return node_told(w->cluster, whole);
    if (watch_is_of(w, "pods"))
        return kube_pod_told(w->cluster, whole);
    return TAKE(whole);
}

static const char *ns_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "namespace", NULL));
}

static const char *name_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "name", NULL));
}

/* The first watch of a core resource that has an informer; NULL: none. */
static struct kube_watch *watch_find(struct over_kube *c, const char *resource)
{
    struct kube_watch *w;

    LIST_EACH (c->watches, w) {
        if (watch_is_of(w, resource) && w->informer)
            return w;
    }
    return NULL;
}

static void on_kube_put(void *arg, const json_t *object);

static void put_again(struct over_kube *c, const char *resource, const char *key)
{
    struct kube_watch *w = watch_find(c, resource);
    AUTO(json_freep) json_t *object = w ? informer_get(w->informer, key) : NULL;

    if (object)
        on_kube_put(w, object);
}

void kube_pod_put_again(struct over_kube *c, const char *key)
{
    put_again(c, "pods", key);
}

static void put_each_again(void *arg, const json_t *pod)
{
    on_kube_put(arg, pod);
}

void kube_pods_put_again(struct over_kube *c)
{
    struct kube_watch *w = watch_find(c, "pods");

    if (w)
        informer_each(w->informer, put_each_again, w);
}

static const struct kube_watch *watch_find_of(const struct over_kube *c,
                                              const struct kube_resource *r)
{
    const struct kube_watch *w = c->watches;

    while (w && !watch_is_of_group(w, r->group, r->plural))
        w = w->next;
    return w;
}

bool kube_knows(const struct over_kube *c, const struct kube_resource *r)
{
    const struct kube_watch *w = watch_find_of(c, r);

    return !w || w->is_synced;
}

json_t *kube_object(const struct over_kube *c, const struct kube_resource *r, const char *key)
{
    const struct kube_watch *w = watch_find_of(c, r);

    return w && w->informer ? informer_get(w->informer, key) : NULL;
}

static void owner_tell(const struct kube_watch *w, const struct kube_resource *r,
                       const json_t *object)
{
    if (watch_is_of_group(w, r->group, r->plural))
        kube_foreign_owner_put(w->cluster->foreign, r, object);
}

void kube_moved_tell(struct over_kube *c)
{
    char *key;

    while ((key = kube_devices_moved(c->devices))) {
        put_again(c, "pods", key);
        free(key);
    }
}

static void filled_tell(struct over_kube *c)
{
    char *key;

    while ((key = kube_devices_filled(c->devices))) {
        put_again(c, "pods", key);
        free(key);
    }
}

/* ---- claims ---- */

static void claims_note(const struct kube_watch *w, const json_t *object)
{
    struct claims_kube *claims = w->cluster->claims;

    if (claims && watch_is_of(w, "nodes"))
        claims_kube_put_node(claims, object, kube_devices_has_gpus(object));
    if (claims && watch_is_of(w, "pods"))
        claims_kube_put_pod(claims, object);
}

static void claims_forget(const struct kube_watch *w, const json_t *object)
{
    struct claims_kube *claims = w->cluster->claims;

    if (claims && watch_is_of(w, "nodes"))
        claims_kube_remove_node(claims, name_of(object));
    if (claims && watch_is_of(w, "pods"))
        claims_kube_remove_pod(claims, ns_of(object), name_of(object));
}

void kube_claims_ready(void *over_kube)
{
    struct over_kube *c = over_kube;

    c->knows_claims = true;
}

void kube_claims_pod(void *over_kube, const char *key)
{
    put_again(over_kube, "pods", key);
}

void kube_claims_node(void *over_kube, const char *key)
{
    put_again(over_kube, "nodes", key);
}

static void ledger_tell(void *arg, const char *uuid, const json_t *entry)
{
    struct kube_watch *w = arg;

    if (entry)
        w->listener.put(w->listener.arg, "", uuid, entry);
    else
        w->listener.removed(w->listener.arg, "", uuid, NULL);
}

void kube_claims_held(void *over_kube, const char *uuid, const json_t *entry)
{
    struct over_kube *c = over_kube;
    struct kube_watch *w;

    LIST_EACH (c->watches, w) {
        if (w->is_ledger && w->is_synced)
            ledger_tell(w, uuid, entry);
    }
}

/* ---- events ---- */

static void on_kube_put(void *arg, const json_t *object)
{
    struct kube_watch *w = arg;
    AUTO(json_freep) json_t *told = NULL;

    claims_note(w, object);
    told = object_told(w, object);
    kube_moved_tell(w->cluster);
    if (told)
        w->listener.put(w->listener.arg, ns_of(object), name_of(object), told);
    filled_tell(w->cluster);
    if (!w->cluster->foreign)
        return;
    owner_tell(w, &kube_jobs, object);
    owner_tell(w, &kube_volcano_groups, object);
}

static void on_kube_removed(void *arg, const json_t *object)
{
    struct kube_watch *w = arg;
    AUTO(json_freep) json_t *told = object_told(w, object);

    claims_forget(w, object);
    if (watch_is_of(w, "nodes"))
        kube_devices_remove_node(w->cluster->devices, name_of(object));
    if (watch_is_of(w, "pods"))
        kube_devices_remove_pod(w->cluster->devices, ns_of(object), name_of(object));
    w->listener.removed(w->listener.arg, ns_of(object), name_of(object), told ? told : object);
    filled_tell(w->cluster);
    if (w->cluster->foreign && watch_is_of(w, "pods"))
        kube_foreign_pod_gone(w->cluster->foreign, object);
    if (watch_is_of(w, "pods"))
        kube_bind_gone(w->cluster, json_text_at(object, "metadata", "uid", NULL));
}

static void on_kube_synced(void *arg)
{
    watch_synced(arg);
}

static void (*trim_of(const struct kube_watch *w))(json_t *)
{
    if (watch_is_of(w, "pods"))
        return kube_trim_pod;
    return watch_is_of(w, "nodes") ? kube_trim_node : NULL;
}

static void watch_begin(struct kube_watch *w)
{
    w->informer = informer_new(&(struct informer_options){.client = w->cluster->o.client,
                                                          .loop = w->cluster->o.loop,
                                                          .path = w->path,
                                                          .put = on_kube_put,
                                                          .removed = on_kube_removed,
                                                          .synced = on_kube_synced,
                                                          .is_unmanaged = true,
                                                          .trim = trim_of(w),
                                                          .is_packed = true,
                                                          .arg = w});
}

static void watch_tell(struct kube_watch *w, const struct err *e)
{
    if (w->is_told)
        return;
    w->is_told = true;
    LOG(WARN, "a resource of the API server cannot be read", S("path", w->path), E(e));
    if (w->cluster->o.on_problem)
        w->cluster->o.on_problem(w->cluster->o.arg, w->kind->plural, e);
}

/* The version to ask for after `k`: first the one in whose form our rooms know the kind. NULL:
 * there are no more. */
static const struct kind *version_after(const struct kube_watch *w, const struct kind *k)
{
    bool is_after = k == w->kind;

    for (size_t i = 0; i < kinds_count; i++) {
        if (is_after && kinds[i] != w->kind && kinds[i]->kept_as == w->kind &&
            text_equal(kinds[i]->group, w->kind->group))
            return kinds[i];
        is_after = is_after || kinds[i] == k;
    }
    return kube_foreign_older(k);
}

static void watch_set_version(struct kube_watch *w, const struct kind *k)
{
    w->served = k;
    free(w->path);
    w->path = kube_path(k, NULL, NULL, NULL);
}

/* Roles that are older than the program do not have the queues of others. A real API server refuses
 * a kind that it does not have as well. */
static bool is_out_of_reach(const struct kube_watch *w, const struct err *e)
{
    return err_code(e) == ERR_FORBIDDEN && kube_foreign_kind(w->kind->group, w->kind->plural);
}

/* Not found: the server has another version of the kind, or nobody has installed it. Other errors:
 * ask again. */
static void on_probe(void *arg, const struct err *e, const json_t *answer)
{
    struct kube_watch *w = arg;
    const struct kind *next = NULL;

    (void)answer;
    w->probe = NULL;
    if (!e) {
        watch_begin(w);
        return;
    }
    if (err_code(e) == ERR_NOT_FOUND) {
        next = version_after(w, w->served);
        watch_set_version(w, next ? next : w->kind);
        if (!next)
            watch_synced(w);
        loop_timer_set(w->timer, next ? 0 : LOOK_AGAIN_NS);
        return;
    }
    watch_tell(w, e);
    if (is_out_of_reach(w, e))
        watch_synced(w);
    loop_timer_set(w->timer, w->is_synced ? LOOK_AGAIN_NS : TRY_AGAIN_NS);
}

/* Devices and queues of pods are told by what is known of nodes and queues. */
static bool may_read_pods(const struct over_kube *c)
{
    return c->knows_nodes && (!c->foreign || kube_foreign_is_loaded(c->foreign));
}

/* Pods are on nodes, and nodes have gpus for claims. */
static bool must_wait(const struct kube_watch *w)
{
    if (watch_is_of(w, "pods"))
        return !may_read_pods(w->cluster);
    return (w->is_ledger || watch_is_of(w, "nodes")) && !w->cluster->knows_claims;
}

static void on_watch_timer(void *arg)
{
    struct kube_watch *w = arg;
    AUTO_FREE char *path = NULL;

    if (must_wait(w)) {
        loop_timer_set(w->timer, WAIT_NODES_NS);
        return;
    }
    if (!w->kind) {
        if (w->is_ledger && w->cluster->claims)
            claims_kube_each_held(w->cluster->claims, ledger_tell, w);
        watch_synced(w);
        return;
    }
    path = mem_format("%s?limit=1", w->path);
    w->probe =
        kube_send(w->cluster,
                  &(struct kube_request){.method = "GET", .path = path, .fn = on_probe, .arg = w});
}

struct err *over_kube_watch(void *self, const char *group, const char *resource,
                            const struct cluster_listener *l, struct cluster_watch **ret)
{
    struct over_kube *c = self;
    struct kube_watch *w = mem_alloc(sizeof(*w));

    *w = (struct kube_watch){.cluster = c, .kind = kind_find(group, resource), .listener = *l};
    if (!w->kind)
        w->kind = kube_foreign_kind(group, resource);
    if (w->kind)
        watch_set_version(w, w->kind);
    w->is_ledger = text_equal(group, OWN_GROUP) && text_equal(resource, "ledger");
    w->timer = loop_timer_new(c->o.loop, on_watch_timer, w);
    loop_timer_set(w->timer, 0);
    LIST_ADD(c->watches, w);
    *ret = (struct cluster_watch *)w;
    if (c->foreign && watch_is_of_queues(w)) {
        w->listener = kube_foreign_listen(c->foreign, l);
        kube_foreign_watch(c->foreign);
    }
    return NULL;
}

void over_kube_unwatch(void *self, struct cluster_watch *watch)
{
    struct over_kube *c = self;
    struct kube_watch *w = (struct kube_watch *)watch;

    if (c->foreign && watch_is_of_queues(w))
        kube_foreign_unwatch(c->foreign);
    LIST_REMOVE(c->watches, w);
    if (w->probe)
        kube_call_free(w->probe);
    informer_free(w->informer);
    loop_timer_free(w->timer);
    free(w->path);
    free(w);
}

const struct kind *kube_served(const struct over_kube *c, const struct kind *k)
{
    const struct kube_watch *w;

    for (w = c->watches; w; w = w->next)
        if (w->kind == k && w->informer)
            return w->served;
    return k;
}

/* ---- for reports ---- */

struct kube_listing {
    const struct kube_watch *watch;
    const char *ns;
    VEC(json_t *) objects;
};

static void listing_add_object(void *arg, const json_t *object)
{
    struct kube_listing *l = arg;

    if (!l->ns || text_equal(l->ns, ns_of(object)))
        vec_add(&l->objects, object_told(l->watch, object));
}

static int compare_objects(const void *a, const void *b)
{
    const json_t *const *x = a;
    const json_t *const *y = b;
    int order = strcmp(ns_of(*x), ns_of(*y));

    return order ? order : strcmp(name_of(*x), name_of(*y));
}

json_t *over_kube_list(void *self, const char *resource, const char *ns)
{
    struct over_kube *c = self;
    struct kube_listing l = {.watch = watch_find(c, resource), .ns = ns};
    json_t *all = json_array();

    if (l.watch)
        informer_each(l.watch->informer, listing_add_object, &l);
    if (l.objects.n > 0)
        qsort(l.objects.at, l.objects.n, sizeof(*l.objects.at), compare_objects);
    VEC_EACH (&l.objects, object)
        (void)json_array_append_new(all, *object); /* an object */
    vec_done(&l.objects);
    return all;
}

json_t *over_kube_get(void *self, const char *resource, const char *ns, const char *name)
{
    struct over_kube *c = self;
    const struct kube_watch *w = watch_find(c, resource);
    AUTO_FREE char *key = mem_format("%s/%s", text_or_empty(ns), name);
    AUTO(json_freep) json_t *object = w ? informer_get(w->informer, key) : NULL;

    return object ? object_told(w, object) : NULL;
}
