/*
 * gc_owners.c - the consequences of an owner's end for its dependents, and of theirs for the owner
 */
#include "control/gc/gc_private.h"

enum owner_state {
    OWNER_THERE,
    OWNER_GONE,
    OWNER_WAITING
};

static bool has_finalizer(const json_t *object, const char *name)
{
    return json_has_text(json_at(object, "metadata", "finalizers", NULL), name);
}

static bool is_deleting(const json_t *object)
{
    return json_at(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

static struct err *gc_load(const struct gc *gc, const struct kind *k, const char *ns,
                           const char *name, json_t **ret)
{
    const struct store_object *o = store_get(gc->store, objects_key(k, ns, name));

    return o ? objects_decode_metadata(gc->options.objects, o, ret) : NULL;
}

static struct err *owner_state(const struct gc *gc, const struct work *w, const json_t *reference,
                               enum owner_state *ret)
{
    const char *version = json_text(reference, "apiVersion");
    const char *name = json_text(reference, "name");
    const char *kind = json_text(reference, "kind");
    const struct kind *k = version && kind ? kind_find_by_kind(version, kind) : NULL;
    AUTO(json_freep) json_t *owner = NULL;

    *ret = OWNER_THERE;
    if (!k || k->is_view || !name || (k->is_namespaced && !w->kind->is_namespaced))
        return NULL;
    TRY(gc_load(gc, k, w->ns, name, &owner));
    if (!owner ||
        !text_equal(json_text_at(owner, "metadata", "uid", NULL), json_text(reference, "uid")))
        *ret = OWNER_GONE;
    else if (is_deleting(owner) && has_finalizer(owner, "foregroundDeletion"))
        *ret = OWNER_WAITING;
    return NULL;
}

/*
 * Collects the references to living owners; `*ret_is_waiting`: an owner waits for its dependents.
 */
static struct err *sort_owners(const struct gc *gc, const struct work *w, const json_t *references,
                               json_t *kept, bool *ret_is_waiting)
{
    for (size_t i = 0; i < json_array_size(references); i++) {
        json_t *reference = json_array_get(references, i);
        enum owner_state state = OWNER_THERE;

        TRY(owner_state(gc, w, reference, &state));
        if (state == OWNER_THERE)
            (void)json_array_append(kept, reference); /* a valid item: cannot fail */
        *ret_is_waiting = *ret_is_waiting || state == OWNER_WAITING;
    }
    return NULL;
}

static json_t *owners_patch(json_t *kept)
{
    json_t *patch = json_object();

    json_put(json_object_at(patch, "metadata"), "ownerReferences", json_incref(kept));
    return patch;
}

/* A foreground deletion continues downwards if the dependent has dependents of its own. */
static const char *propagation_of(struct gc *gc, const json_t *object, bool is_waiting)
{
    const char *uid = json_text_at(object, "metadata", "uid", NULL);

    if (has_finalizer(object, "orphan"))
        return "Orphan";
    if (has_finalizer(object, "foregroundDeletion") || (is_waiting && gc_owner_find(gc, uid)))
        return "Foreground";
    return "Background";
}

struct err *gc_look_at_dependent(struct gc *gc, const struct work *w)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *kept = json_array();
    const json_t *references;
    bool is_waiting = false;

    TRY(gc_load(gc, w->kind, w->ns, w->name, &object));
    if (!object || is_deleting(object))
        return NULL;
    references = json_at(object, "metadata", "ownerReferences", NULL);
    if (json_array_size(references) == 0)
        return NULL;
    TRY(sort_owners(gc, w, references, kept, &is_waiting));
    if (json_array_size(kept) == json_array_size(references))
        return NULL;
    if (json_array_size(kept) > 0)
        return gc_patch(gc, w->kind, NULL, object, owners_patch(kept));
    return gc_delete(gc, w->kind, object, propagation_of(gc, object, is_waiting));
}

static struct err *cut_reference(struct gc *gc, const struct dependent *d, const char *uid)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *kept = json_array();
    const json_t *references;

    TRY(gc_load(gc, d->kind, d->ns, d->name, &object));
    references = json_at(object, "metadata", "ownerReferences", NULL);
    for (size_t i = 0; i < json_array_size(references); i++) {
        json_t *reference = json_array_get(references, i);

        if (!text_equal(json_text(reference, "uid"), uid))
            (void)json_array_append(kept, reference); /* as above */
    }
    if (!object || json_array_size(kept) == json_array_size(references))
        return NULL;
    return gc_patch(gc, d->kind, NULL, object, owners_patch(kept));
}

static struct err *drop_finalizer(const struct gc *gc, const struct kind *k, const json_t *object,
                                  const char *name)
{
    const json_t *list = json_at(object, "metadata", "finalizers", NULL);
    json_t *patch = json_object();
    json_t *kept = json_array_at(json_object_at(patch, "metadata"), "finalizers");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!text_equal(json_string_value(json_array_get(list, i)), name))
            (void)json_array_append(kept, json_array_get(list, i)); /* as above */
    }
    return gc_patch(gc, k, NULL, object, patch);
}

static void wait_for_dependents(struct owner *owner, const struct work *w)
{
    if (owner->waiting_kind)
        return;
    owner->waiting_kind = w->kind;
    owner->waiting_ns = mem_strdup(w->ns);
    owner->waiting_name = mem_strdup(w->name);
}

static struct err *owner_orphan(struct gc *gc, const struct work *w, const json_t *object)
{
    struct owner *owner = gc_owner_find(gc, json_text_at(object, "metadata", "uid", NULL));

    if (!owner)
        return drop_finalizer(gc, w->kind, object, "orphan");
    wait_for_dependents(owner, w);
    for (size_t i = 0; i < owner->dependents.n; i++)
        TRY(cut_reference(gc, owner->dependents.at[i], owner->uid));
    return NULL;
}

static bool is_blocking(const struct dependent *d, const struct owner *owner)
{
    for (size_t i = 0; i < d->links.n; i++) {
        if (d->links.at[i].owner == owner && d->links.at[i].is_blocking)
            return true;
    }
    return false;
}

enum {
    CIRCLE_STEPS = 256 /* more owners than that are not looked at */
};

/* Does the deletion of an owner of `d` wait for `goal`, perhaps through others that wait? */
static bool waits_for(struct gc *gc, const struct dependent *d, const struct dependent *goal,
                      int *steps)
{
    for (size_t i = 0; i < d->links.n && --*steps > 0; i++) {
        const struct owner *owner = d->links.at[i].owner;
        const struct dependent *up =
            owner->waiting_kind && d->links.at[i].is_blocking
                ? gc_dependent_find(gc, owner->waiting_kind, owner->waiting_ns, owner->waiting_name)
                : NULL;

        if (up && (up == goal || waits_for(gc, up, goal, steps)))
            return true;
    }
    return false;
}

/*
 * Objects that own each other wait for each other for ever, once all are deleted: so the references
 * of one of them block no longer. Kubernetes' collector does the same.
 */
static struct err *break_circle(struct gc *gc, const struct work *w, const json_t *object)
{
    const struct dependent *d = gc_dependent_find(gc, w->kind, w->ns, w->name);
    AUTO(json_freep)
    json_t *references = json_deep_copy(json_at(object, "metadata", "ownerReferences", NULL));
    int steps = CIRCLE_STEPS;

    if (!d || !waits_for(gc, d, d, &steps))
        return NULL;
    for (size_t i = 0; i < json_array_size(references); i++)
        json_put_bool(json_array_get(references, i), "blockOwnerDeletion", false);
    return gc_patch(gc, w->kind, NULL, object, owners_patch(references));
}

static struct err *owner_foreground(struct gc *gc, const struct work *w, const json_t *object)
{
    struct owner *owner = gc_owner_find(gc, json_text_at(object, "metadata", "uid", NULL));
    bool is_blocked = false;

    for (size_t i = 0; owner && i < owner->dependents.n; i++) {
        const struct dependent *d = owner->dependents.at[i];

        is_blocked = is_blocked || is_blocking(d, owner);
        gc_enqueue(gc, WORK_DEPENDENT, d->kind, d->ns, d->name);
    }
    if (!is_blocked)
        return drop_finalizer(gc, w->kind, object, "foregroundDeletion");
    wait_for_dependents(owner, w);
    return break_circle(gc, w, object);
}

struct err *gc_look_at_owner(struct gc *gc, const struct work *w)
{
    AUTO(json_freep) json_t *object = NULL;

    TRY(gc_load(gc, w->kind, w->ns, w->name, &object));
    if (!object || !is_deleting(object))
        return NULL;
    if (has_finalizer(object, "orphan"))
        return owner_orphan(gc, w, object);
    if (has_finalizer(object, "foregroundDeletion"))
        return owner_foreground(gc, w, object);
    return NULL;
}
