/* gc_namespaces.c - deletes the content of a namespace that is being deleted, then its finalizer */
#include "base/log.h"
#include "control/gc/gc_private.h"

enum {
    DELETES_PER_TURN = 256
};

struct err *gc_empty_kind(const struct gc *gc, const struct kind *k, const char *ns, size_t *count,
                          size_t *left)
{
    struct store_range range = {.group = k->group, .resource = k->plural, .ns = ns};
    struct store_list list = {0};
    struct err *e = NULL;

    TRY(store_list(gc->store, &range, NULL, NULL, 0, 0, &list));
    *count += list.n;
    for (size_t i = 0; i<list.n && * left> 0 && !e; i++) {
        AUTO(json_freep) json_t *object = NULL;

        if (!store_get_applied(gc->store, list.at[i]->key))
            continue; /* deleted a moment ago, not durable yet */
        e = objects_decode(list.at[i], &object);
        if (e || json_at(object, "metadata", "deletionTimestamp", NULL))
            continue;
        (*left)--;
        e = gc_delete(gc, k, object, "Background");
    }
    store_list_done(&list);
    return e;
}

static struct err *namespace_finish(struct gc *gc, const json_t *ns)
{
    json_t *patch = json_object();

    (void)json_array_at(json_object_at(patch, "spec"), "finalizers"); /* empty: removes all */
    LOG(INFO, "namespace removed", S("namespace", json_text_at(ns, "metadata", "name", NULL)));
    return gc_patch(gc, kind_find("", "namespaces"), "finalize", ns, patch);
}

struct err *gc_look_at_namespace(struct gc *gc, const struct work *w, bool *ret_again)
{
    const struct store_object *o = store_get(gc->store, objects_key(w->kind, "", w->name));
    AUTO(json_freep) json_t *ns = NULL;
    size_t left = DELETES_PER_TURN;
    size_t count = 0;

    if (!o || !memmem(o->bytes.at, o->bytes.size, "\"deletionTimestamp\"", 19))
        return NULL;
    TRY(objects_decode(o, &ns));
    if (!json_at(ns, "metadata", "deletionTimestamp", NULL))
        return NULL;
    for (size_t i = 0; i < kinds_served_count(); i++) {
        if (kinds_served(i)->is_namespaced && !kinds_served(i)->is_view)
            TRY(gc_empty_kind(gc, kinds_served(i), w->name, &count, &left));
    }
    *ret_again = left == 0;
    if (count > 0 || json_array_size(json_at(ns, "spec", "finalizers", NULL)) == 0)
        return NULL; /* each deletion looks at the namespace again */
    return namespace_finish(gc, ns);
}
