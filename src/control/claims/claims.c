/* claims.c - the loop of ResourceClaims: what it watches, and when it runs */

#include "control/claims/claims.h"

#include "base/log.h"
#include "base/stamp.h"
#include "control/claims/claims_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"

struct claims_object *claims_find(const struct claims *c, int kind, const char *ns,
                                  const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct claims_object *o = NULL;

    map_find_text(handle, c->kinds[kind].all, key, o);
    return o;
}

void claims_retry(struct claims *c)
{
    c->is_all_due = true;
    loop_timer_set(c->timer, NS_PER_SEC);
}

/* A conflict means that the object changed: the watch says how. */
void claims_written(struct claims *c, const char *key, struct err *e)
{
    if (e && err_code(e) != ERR_CONFLICT && err_code(e) != ERR_NOT_FOUND &&
        err_code(e) != ERR_EXISTS) {
        LOG(WARN, "write about a resource claim failed, will be tried again", S("object", key),
            E(e));
        claims_retry(c);
    }
    err_free(e);
}

static void claims_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    (void)number;
    if (!e)
        return;
    LOG(WARN, "write about a resource claim was taken back, will be tried again", S("object", key),
        E(e));
    claims_retry(owner);
}

struct cluster_answer claims_answer(struct claims *c, const char *key)
{
    return writes_begin(c->writes, claims_on_written, key, 0);
}

/* ---- objects ---- */

void claims_object_free(struct claims_kind *k, struct claims_object *o)
{
    map_remove(handle, k->all, o);
    json_decref(o->tree);
    json_decref(o->devices);
    free(o->text);
    free(o->key);
    free(o->ns);
    free(o->name);
    free(o);
}

struct claims_object *claims_object_put(struct claims_kind *k, const char *ns, const char *name,
                                        const json_t *tree)
{
    struct claims_object *o = claims_find(k->claims, (int)(k - k->claims->kinds), ns, name);

    if (!o) {
        o = mem_alloc(sizeof(*o));
        o->key = mem_format("%s/%s", ns, name);
        o->ns = mem_strdup(ns);
        o->name = mem_strdup(name);
        map_add(handle, k->all, o->key, strlen(o->key), o);
    }
    json_decref(o->tree);
    o->tree = json_incref((json_t *)(uintptr_t)tree);
    return o;
}

/* The slices of the slice's node are to be looked at. */
static void slice_changed(struct claims *c, const struct claims_object *slice)
{
    const char *name = json_text_at(slice->tree, "spec", "nodeName", NULL);
    struct claims_object *node = name ? claims_find(c, CLAIMS_NODES, "", name) : NULL;

    if (node)
        node->is_due = true;
}

/* Runs the loop after the pending events. */
static void kind_changed(struct claims_kind *k)
{
    struct claims *c = k->claims;

    if (k == &c->kinds[CLAIMS_NODES])
        json_decref(TAKE(c->inventory));
    loop_timer_set(c->timer, 0);
}

/* Nodes change with every sign of life: only these parts matter. */
static bool is_same_node(const json_t *was, const json_t *is)
{
    static const char *const parts[] = {"annotations", "labels", "uid"};

    for (size_t i = 0; i < COUNT(parts); i++) {
        const json_t *one = json_at(was, "metadata", parts[i], NULL);
        const json_t *other = json_at(is, "metadata", parts[i], NULL);

        if (one != other && !(one && other && json_equal(one, other)))
            return false;
    }
    return true;
}

static void put_object(void *arg, const char *ns, const char *name, const json_t *tree)
{
    struct claims_kind *k = arg;
    struct claims *c = k->claims;
    struct claims_object *o = claims_find(c, (int)(k - c->kinds), ns, name);
    bool is_same = o && k == &c->kinds[CLAIMS_NODES] && is_same_node(o->tree, tree);

    if (k == &c->kinds[CLAIMS_PODS] && !pod_has_claims(tree))
        return;
    o = claims_object_put(k, ns, name, tree);
    if (is_same)
        return;
    json_decref(TAKE(o->devices));
    o->is_due = true;
    if (k == &c->kinds[CLAIMS_SLICES])
        slice_changed(c, o);
    kind_changed(k);
}

static void remove_object(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct claims_kind *k = arg;
    struct claims_object *o = claims_find(k->claims, (int)(k - k->claims->kinds), ns, name);

    (void)last;
    if (!o)
        return;
    if (k == &k->claims->kinds[CLAIMS_SLICES])
        slice_changed(k->claims, o);
    claims_object_free(k, o);
    kind_changed(k);
}

static void kind_synced(void *arg)
{
    struct claims_kind *k = arg;

    k->is_synced = true;
    kind_changed(k);
}

/* ---- the loop ---- */

static void claims_on_time(void *arg)
{
    struct claims *c = arg;
    struct claims_object *o;
    struct claims_object *next;

    for (size_t i = 0; i < CLAIMS_KINDS; i++)
        if (!c->kinds[i].is_synced)
            return;
    claims_publish(c);
    if (!c->kinds[CLAIMS_CLAIMS].all && !c->kinds[CLAIMS_PODS].all)
        return;
    if (!c->inventory)
        c->inventory = claims_inventory(c);
    map_each (handle, c->kinds[CLAIMS_CLAIMS].all, o, next) {
        claims_write_status(c, o);
    }
    c->has_choice = false;
    map_each (handle, c->kinds[CLAIMS_PODS].all, o, next) {
        claims_write_pod(c, o);
    }
    if (c->has_choice)
        loop_timer_set(c->timer, NS_PER_SEC);
}

static struct err *claims_watch(struct claims *c)
{
    static const struct {
        const char *group;
        const char *resource;
    } watched[CLAIMS_KINDS] = {
        [CLAIMS_NODES] = {"", "nodes"},
        [CLAIMS_SLICES] = {"resource.k8s.io", "resourceslices"},
        [CLAIMS_CLASSES] = {"resource.k8s.io", "deviceclasses"},
        [CLAIMS_TEMPLATES] = {"resource.k8s.io", "resourceclaimtemplates"},
        [CLAIMS_CLAIMS] = {"resource.k8s.io", "resourceclaims"},
        [CLAIMS_PODS] = {"", "pods"},
    };

    for (size_t i = 0; i < CLAIMS_KINDS; i++) {
        struct claims_kind *k = &c->kinds[i];
        const struct cluster_listener listener = {put_object, remove_object, k, kind_synced};

        k->claims = c;
        TRY(cluster_watch(c->options.cluster, watched[i].group, watched[i].resource, &listener,
                          &k->watch));
    }
    return NULL;
}

struct err *claims_new(const struct claims_options *o, struct claims **ret)
{
    struct claims *c = mem_alloc(sizeof(*c));
    struct err *e;

    c->options = *o;
    c->timer = loop_timer_new(o->loop, claims_on_time, c);
    c->writes = writes_new(c);
    e = claims_watch(c);
    if (e) {
        claims_free(c);
        return err_wrap(e, "claims");
    }
    *ret = c;
    return NULL;
}

void claims_free(struct claims *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CLAIMS_KINDS; i++) {
        cluster_unwatch(c->options.cluster, c->kinds[i].watch);
        while (c->kinds[i].all)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it goes out of the map */
            claims_object_free(&c->kinds[i], c->kinds[i].all);
    }
    json_decref(c->inventory);
    loop_timer_free(c->timer);
    writes_free(c->writes);
    free(c);
}
