/* gc_definitions.c - deletes the objects of a definition that is being deleted, then its finalizer
 */
#include "base/log.h"
#include "control/gc/gc_private.h"
#include "kinds/custom/custom_definition.h"

enum {
    DELETES_PER_TURN = 256
};

/* The stored kind of a definition; NULL: it has none, or Mete serves the resource itself. */
static const struct kind *kind_of(const json_t *definition)
{
    const char *group = json_text_at(definition, "spec", "group", NULL);
    const char *plural = json_text_at(definition, "spec", "names", "plural", NULL);
    const struct kind *k = group && plural ? kind_find(group, plural) : NULL;

    return k && k->is_custom ? k : NULL;
}

static struct err *drop_finalizer(struct gc *gc, const struct kind *k, const json_t *definition)
{
    json_t *patch = json_object();
    json_t *kept = json_array_at(json_object_at(patch, "metadata"), "finalizers");
    const json_t *list = json_at(definition, "metadata", "finalizers", NULL);

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);

        if (!text_equal(json_string_value(item), DEFINITION_FINALIZER))
            (void)json_array_append(kept, item); /* a valid item: cannot fail */
    }
    return gc_patch(gc, k, NULL, definition, patch);
}

struct err *gc_look_at_definition(struct gc *gc, const struct work *w, bool *ret_again)
{
    const struct store_object *o = store_get(gc->store, objects_key(w->kind, "", w->name));
    AUTO(json_freep) json_t *definition = NULL;
    size_t left = DELETES_PER_TURN;
    const struct kind *k;
    size_t count = 0;

    if (!o || !memmem(o->bytes.at, o->bytes.size, "\"deletionTimestamp\"", 19))
        return NULL;
    TRY(objects_decode(o, &definition));
    if (!json_at(definition, "metadata", "deletionTimestamp", NULL) ||
        !json_has_text(json_at(definition, "metadata", "finalizers", NULL), DEFINITION_FINALIZER))
        return NULL;
    k = kind_of(definition);
    if (k)
        TRY(gc_empty_kind(gc, k, NULL, &count, &left));
    *ret_again = left == 0;
    if (count > 0)
        return NULL; /* each deletion looks at the definition again */
    return drop_finalizer(gc, w->kind, definition);
}

/* ---- names that a removed definition gives back ---- */

/* Writes the status of a definition without accepted names anew; the write itself looks which names
 * are free. */
static struct err *accept_again(struct gc *gc, const struct kind *k, const struct store_object *o)
{
    AUTO(json_freep) json_t *definition = NULL;

    TRY(objects_decode(o, &definition));
    if (definition_is(definition, "NamesAccepted") ||
        json_at(definition, "metadata", "deletionTimestamp", NULL))
        return NULL;
    return gc_patch(gc, k, "status", definition, json_object());
}

struct err *gc_look_at_names(struct gc *gc, const struct work *w)
{
    const struct store_range range = {.group = DEFINITION_GROUP, .resource = DEFINITION_PLURAL};
    struct store_list list = {0};
    struct err *e = NULL;

    TRY(store_list(gc->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n && !e; i++)
        e = accept_again(gc, w->kind, list.at[i]);
    store_list_done(&list);
    return e;
}
