/* volumes.c - the objects of the loop, who looks again at what, and writes */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/volumes/volumes_private.h"
#include "control/writes.h"
#include "kinds/pod/pod_volume_claims.h"

static const int64_t AGAIN_NS = NS_PER_SEC;

static const char *const resources[VOL_KINDS] = {"storageclasses.storage.k8s.io", "nodes",
                                                 "persistentvolumes", "persistentvolumeclaims",
                                                 "pods"};

/* ---- objects ---- */

static char *key_of(const char *ns, const char *name)
{
    return mem_format("%s/%s", text_or_empty(ns), name);
}

static struct vol_item *find_key(const struct volumes_loop *l, enum vol_kind kind, const char *key)
{
    struct vol_item *found = NULL;

    map_find_text(handle, l->all[kind], key, found);
    return found;
}

struct vol_item *vol_find(const struct volumes_loop *l, enum vol_kind kind, const char *ns,
                          const char *name)
{
    AUTO_FREE char *key = key_of(ns, name);

    return find_key(l, kind, key);
}

bool vol_is_stale(const struct vol_item *v)
{
    return v->version < v->written;
}

bool vol_is_deleting(const struct vol_item *v)
{
    return json_at(v->tree, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* ---- the pods of claims ---- */

static struct vol_users *users_find(const struct volumes_loop *l, const char *key)
{
    struct vol_users *users = NULL;

    map_find_text(handle, l->users, key, users);
    return users;
}

const struct vol_users *vol_users_of(const struct volumes_loop *l, const char *ns,
                                     const char *claim)
{
    AUTO_FREE char *key = key_of(ns, claim);

    return users_find(l, key);
}

static void users_drop(struct volumes_loop *l, struct vol_users *users)
{
    map_remove(handle, l->users, users);
    vec_done(&users->pods);
    free(users->key);
    free(users);
}

static void users_add(struct volumes_loop *l, const char *key, struct vol_item *pod)
{
    struct vol_users *users = users_find(l, key);

    if (!users) {
        users = mem_alloc(sizeof(*users));
        users->key = mem_strdup(key);
        map_add(handle, l->users, users->key, strlen(users->key), users);
    }
    vec_add(&users->pods, pod);
}

static void users_remove(struct volumes_loop *l, const char *key, const struct vol_item *pod)
{
    struct vol_users *users = users_find(l, key);

    for (size_t i = 0; users && i < users->pods.n; i++)
        if (users->pods.at[i] == pod) {
            users->pods.at[i] = users->pods.at[--users->pods.n];
            break;
        }
    if (users && users->pods.n == 0)
        users_drop(l, users);
}

/* Calls `fn` with the key of each claim of a pod. */
static void each_claim(struct vol_item *pod,
                       void (*fn)(struct volumes_loop *l, const char *key, struct vol_item *pod))
{
    const json_t *volumes = json_at(pod->tree, "spec", "volumes", NULL);

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        AUTO_FREE char *claim = pod_volume_claim(pod->tree, json_array_get(volumes, i));
        AUTO_FREE char *key = claim ? key_of(pod->ns, claim) : NULL;

        if (key)
            fn(pod->loop, key, pod);
    }
}

static void unlink_claim(struct volumes_loop *l, const char *key, struct vol_item *pod)
{
    users_remove(l, key, pod);
}

/* ---- who looks again ---- */

static void poke_key(const struct volumes_loop *l, enum vol_kind kind, const char *key)
{
    struct vol_item *v = find_key(l, kind, key);

    if (v)
        turn_poke(&v->item);
}

static void poke_users(const struct volumes_loop *l, const char *key)
{
    struct vol_users *users = users_find(l, key);

    if (users)
        VEC_EACH (&users->pods, pod)
            turn_poke(&(*pod)->item);
}

static void poke_claim_of_pod(struct volumes_loop *l, const char *key, struct vol_item *pod)
{
    (void)pod;
    poke_key(l, VOL_CLAIM, key);
    poke_users(l, key);
}

static void poke_unbound_claims(struct volumes_loop *l)
{
    struct vol_item *claim;
    struct vol_item *next;

    map_each (handle, l->all[VOL_CLAIM], claim, next)
        if (!text_equal(json_text_at(claim->tree, "status", "phase", NULL), "Bound"))
            turn_poke(&claim->item);
}

static void poke_all(struct volumes_loop *l, enum vol_kind kind)
{
    struct vol_item *v;
    struct vol_item *next;

    map_each (handle, l->all[kind], v, next)
        turn_poke(&v->item);
}

/* After the object changed, or before it is forgotten. */
static void poke_around(struct vol_item *v)
{
    struct volumes_loop *l = v->loop;
    const json_t *claim = json_at(v->tree, "spec", "claimRef", NULL);
    const char *volume = json_text_at(v->tree, "spec", "volumeName", NULL);
    AUTO_FREE char *key = NULL;

    turn_poke(&v->item);
    switch (v->kind) {
    case VOL_CLASS:
    case VOL_NODE:
        poke_unbound_claims(l);
        break;
    case VOL_VOLUME:
        if (!claim) {
            poke_unbound_claims(l);
            break;
        }
        key = key_of(json_text(claim, "namespace"), text_or_empty(json_text(claim, "name")));
        poke_key(l, VOL_CLAIM, key);
        poke_users(l, key);
        break;
    case VOL_CLAIM:
        poke_users(l, v->key);
        key = key_of("", text_or_empty(volume));
        poke_key(l, VOL_VOLUME, key);
        break;
    case VOL_POD:
        each_claim(v, poke_claim_of_pod);
        break;
    case VOL_KINDS:
        break;
    }
}

/* ---- news ---- */

static void item_free(struct vol_item *v)
{
    struct volumes_loop *l = v->loop;

    if (v->kind == VOL_POD)
        each_claim(v, unlink_claim);
    map_remove(handle, l->all[v->kind], v);
    turn_item_done(&v->item);
    json_decref(v->tree);
    free(v->key);
    free(v->ns);
    free(v->name);
    free(v->uid);
    free(v->told);
    free(v);
}

static struct vol_item *item_new(struct volumes_loop *l, enum vol_kind kind, const char *ns,
                                 const char *name)
{
    struct vol_item *v = mem_alloc(sizeof(*v));

    v->loop = l;
    v->kind = kind;
    v->ns = mem_strdup(text_or_empty(ns));
    v->name = mem_strdup(name);
    v->key = key_of(ns, name);
    turn_item_init(l->turns, &v->item);
    map_add(handle, l->all[kind], v->key, strlen(v->key), v);
    return v;
}

static int64_t version_of(const json_t *object)
{
    const char *text = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &version)); /* our own number */
    return version;
}

static void forget_one(struct vol_item *v)
{
    struct volumes_loop *l = v->loop;
    enum vol_kind kind = v->kind;
    AUTO(json_freep) json_t *claims = NULL;

    poke_around(v);
    item_free(v);
    if (kind == VOL_NODE)
        poke_all(l, VOL_VOLUME); /* a volume of a node that is gone has nothing to erase */
}

static void put_one(struct volumes_loop *l, enum vol_kind kind, const char *ns, const char *name,
                    const json_t *object)
{
    struct vol_item *v = vol_find(l, kind, ns, name);
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    bool is_new;

    if (v && !text_equal(v->uid, uid)) {
        forget_one(v);
        v = NULL;
    }
    if (!uid || (kind == VOL_POD && !pod_has_volume_claims(object)))
        return;
    is_new = !v;
    if (is_new) {
        v = item_new(l, kind, ns, name);
        v->uid = mem_strdup(uid);
    }
    json_decref(v->tree);
    v->tree = json_incref((json_t *)(uintptr_t)object);
    if (is_new && kind == VOL_POD)
        each_claim(v, users_add);
    v->version = version_of(object);
    poke_around(v);
}

#define SOURCE(NAME, KIND)                                                                     \
    static void put_##NAME(void *arg, const char *ns, const char *name, const json_t *object)  \
    {                                                                                          \
        put_one(arg, KIND, ns, name, object);                                                  \
    }                                                                                          \
    static void remove_##NAME(void *arg, const char *ns, const char *name, const json_t *last) \
    {                                                                                          \
        struct vol_item *v = vol_find(arg, KIND, ns, name);                                    \
                                                                                               \
        if (v && text_equal(v->uid, json_text_at(last, "metadata", "uid", NULL)))              \
            forget_one(v);                                                                     \
    }

SOURCE(class, VOL_CLASS)
SOURCE(node, VOL_NODE)
SOURCE(volume, VOL_VOLUME)
SOURCE(claim, VOL_CLAIM)
SOURCE(pod, VOL_POD)

static const struct turns_source volume_sources[] = {
    {"storage.k8s.io", "storageclasses", put_class, remove_class},
    {"", "nodes", put_node, remove_node},
    {"", "persistentvolumes", put_volume, remove_volume},
    {"", "persistentvolumeclaims", put_claim, remove_claim},
    {"", "pods", put_pod, remove_pod},
};

static void volumes_look(struct turn_item *item)
{
    struct vol_item *v = (struct vol_item *)item;

    if (vol_is_stale(v))
        return;
    if (v->kind == VOL_CLAIM)
        vol_claim_look(v);
    else if (v->kind == VOL_VOLUME)
        vol_volume_look(v);
    else if (v->kind == VOL_POD)
        vol_pod_look(v);
}

static void volumes_forget(void *arg)
{
    struct volumes_loop *l = arg;

    for (int kind = 0; kind < VOL_KINDS; kind++) {
        struct vol_item *v;
        struct vol_item *next;

        map_each (handle, l->all[kind], v, next)
            item_free(v);
    }
}

/* ---- writes ---- */

struct cluster_write vol_write(const struct vol_item *v, json_t *patch)
{
    AUTO_FREE char *version = mem_format("%" PRId64, v->version);

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion", version);
    return (struct cluster_write){.resource = resources[v->kind],
                                  .ns = v->ns,
                                  .name = v->name,
                                  .tree = patch,
                                  .must_change = true};
}

bool vol_commit(struct volumes_loop *l, struct cluster_write *writes, struct vol_item **items,
                size_t n)
{
    struct cluster_answer a = turns_answer(l->turns);
    int64_t version = 0;
    AUTO(err_freep) struct err *e = NULL;

    e = writes_end(a, cluster_write_all(l->options.cluster, writes, n, a, &version));
    for (size_t i = 0; i < n; i++) {
        if (items[i] && e)
            turn_poke_in(&items[i]->item, AGAIN_NS);
        else if (items[i] && version > items[i]->version)
            items[i]->written = version;
        json_decref(writes[i].tree);
    }
    if (e && err_code(e) != ERR_CONFLICT && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "persistent volumes could not be written, will be tried again", E(e));
    return !e;
}

void vol_patch(struct vol_item *v, const char *subresource, json_t *patch)
{
    struct cluster_write write = vol_write(v, patch);

    write.subresource = subresource;
    (void)vol_commit(v->loop, &write, &v, 1); /* tried again */
}

bool vol_drop_finalizer(struct vol_item *v, const char *name)
{
    json_t *patch;

    if (!json_has_text(json_at(v->tree, "metadata", "finalizers", NULL), name))
        return false;
    patch = json_object();
    json_put(json_object_at(patch, "metadata"), "$deleteFromPrimitiveList/finalizers",
             json_pack("[s]", name));
    vol_patch(v, NULL, patch);
    return true;
}

void vol_tell(struct vol_item *claim, bool is_warning, const char *reason, const char *message)
{
    if (text_equal(claim->told, message))
        return;
    free(claim->told);
    claim->told = mem_strdup(message);
    events_record(claim->loop->options.events,
                  &(struct event){.kind = "PersistentVolumeClaim",
                                  .ns = claim->ns,
                                  .name = claim->name,
                                  .uid = claim->uid,
                                  .is_warning = is_warning,
                                  .reason = reason,
                                  .message = message,
                                  .component = "persistentvolume-controller"});
}

/* ---- start and end ---- */

struct err *volumes_loop_new(const struct volumes_options *o, struct volumes_loop **ret)
{
    struct volumes_loop *l = mem_alloc(sizeof(*l));
    struct turns_options turns = {.loop = o->loop,
                                  .cluster = o->cluster,
                                  .name = "persistent volumes",
                                  .sources = volume_sources,
                                  .n_sources = COUNT(volume_sources),
                                  .look = volumes_look,
                                  .forget = volumes_forget,
                                  .arg = l};
    struct err *e;

    l->options = *o;
    e = turns_new(&turns, &l->turns);
    if (e) {
        free(l);
        return e;
    }
    *ret = l;
    return NULL;
}

void volumes_loop_free(struct volumes_loop *l)
{
    if (!l)
        return;
    turns_free(l->turns);
    free(l);
}
