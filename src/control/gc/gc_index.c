/*
 * gc_index.c - the index from owners to dependents
 *
 * The index has only objects with owner references, by their own key and by each owner's uid. The
 * end of an owner costs as much as its dependents, and other objects cost nothing.
 */
#include "control/gc/gc_private.h"

static char *dependent_id(const struct store_object *o)
{
    return mem_format("%s|%s|%s|%s", o->key.group, o->key.resource, o->key.ns, o->key.name);
}

struct owner *gc_owner_find(struct gc *gc, const char *uid)
{
    struct owner *owner = NULL;

    if (uid)
        map_find_text(handle, gc->owners, uid, owner);
    return owner;
}

struct dependent *gc_dependent_find(struct gc *gc, const struct kind *k, const char *ns,
                                    const char *name)
{
    const struct store_key key = objects_key(k, ns, name);
    AUTO_FREE char *id = mem_format("%s|%s|%s|%s", key.group, key.resource, key.ns, key.name);
    struct dependent *d = NULL;

    if (gc->dependents)
        map_find_text(handle, gc->dependents, id, d);
    return d;
}

static struct owner *owner_make(struct gc *gc, const char *uid)
{
    struct owner *owner = gc_owner_find(gc, uid);

    if (owner)
        return owner;
    owner = mem_alloc(sizeof(*owner));
    owner->uid = mem_strdup(uid);
    map_add(handle, gc->owners, owner->uid, strlen(owner->uid), owner);
    return owner;
}

static void owner_free(struct gc *gc, struct owner *owner)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
    map_remove(handle, gc->owners, owner);
    vec_done(&owner->dependents);
    free(owner->uid);
    free(owner->waiting_ns);
    free(owner->waiting_name);
    free(owner);
}

/* Looks again at an owner whose deletion waits for its dependents. */
static void owner_wake(struct gc *gc, const struct owner *owner)
{
    if (owner->waiting_kind)
        gc_enqueue(gc, WORK_OWNER, owner->waiting_kind, owner->waiting_ns, owner->waiting_name);
}

static void unlink_owner(struct gc *gc, struct dependent *d, struct owner *owner)
{
    owner_wake(gc, owner);
    for (size_t i = 0; i < owner->dependents.n; i++) {
        if (owner->dependents.at[i] != d)
            continue;
        /* The order has no meaning: the last one fills the hole. */
        owner->dependents.at[i] = owner->dependents.at[owner->dependents.n - 1];
        owner->dependents.n--;
        break;
    }
    if (owner->dependents.n == 0)
        owner_free(gc, owner);
}

static void unlink_all(struct gc *gc, struct dependent *d)
{
    for (size_t i = 0; i < d->links.n; i++)
        unlink_owner(gc, d, d->links.at[i].owner);
    vec_clear(&d->links);
}

static void dependent_free(struct gc *gc, struct dependent *d)
{
    unlink_all(gc, d);
    vec_done(&d->links);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, gc->dependents, d);
    free(d->id);
    free(d->ns);
    free(d->name);
    free(d);
}

static struct dependent *dependent_make(struct gc *gc, const struct kind *k,
                                        const struct store_object *o)
{
    AUTO_FREE char *id = dependent_id(o);
    struct dependent *d = NULL;

    map_find_text(handle, gc->dependents, id, d);
    if (d)
        return d;
    d = mem_alloc(sizeof(*d));
    d->id = TAKE(id);
    d->kind = k;
    d->ns = mem_strdup(o->key.ns);
    d->name = mem_strdup(o->key.name);
    map_add(handle, gc->dependents, d->id, strlen(d->id), d);
    return d;
}

static bool is_linked(const struct dependent *d, const char *uid)
{
    for (size_t i = 0; i < d->links.n; i++) {
        if (text_equal(d->links.at[i].owner->uid, uid))
            return true;
    }
    return false;
}

void gc_index_put(struct gc *gc, const struct kind *k, const struct store_object *o,
                  const json_t *object)
{
    json_t *references = json_at(object, "metadata", "ownerReferences", NULL);
    struct dependent *d;
    json_t *reference;
    size_t i;

    if (json_array_size(references) == 0) {
        gc_index_remove(gc, o);
        return;
    }
    d = dependent_make(gc, k, o);
    unlink_all(gc, d);
    json_array_foreach (references, i, reference) {
        const char *uid = json_text(reference, "uid");
        struct owner *owner;

        if (!uid || is_linked(d, uid))
            continue;
        owner = owner_make(gc, uid);
        vec_add(&owner->dependents, d);
        vec_add(&d->links, (struct owner_link){
                               .owner = owner,
                               .is_blocking = json_bool(reference, "blockOwnerDeletion", false)});
    }
}

void gc_index_remove(struct gc *gc, const struct store_object *o)
{
    AUTO_FREE char *id = NULL;
    struct dependent *d = NULL;

    if (!gc->dependents)
        return;
    id = dependent_id(o);
    map_find_text(handle, gc->dependents, id, d);
    if (d)
        dependent_free(gc, d);
}

void gc_wake_dependents(struct gc *gc, const char *uid)
{
    const struct owner *owner = gc_owner_find(gc, uid);

    for (size_t i = 0; owner && i < owner->dependents.n; i++) {
        const struct dependent *d = owner->dependents.at[i];

        gc_enqueue(gc, WORK_DEPENDENT, d->kind, d->ns, d->name);
    }
}

void gc_index_done(struct gc *gc)
{
    struct dependent *d;
    struct dependent *tmp;

    map_each (handle, gc->dependents, d, tmp)
        dependent_free(gc, d);
}
