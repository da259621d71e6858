/* objects_definition.c - writes of CustomResourceDefinitions, and creations of their objects */

#include "base/mem.h"
#include "kinds/custom/custom_definition.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/tables.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"

static json_t *names_of(const struct kind *k)
{
    AUTO_FREE char *list = k->list_kind ? mem_strdup(k->list_kind) : mem_format("%sList", k->kind);
    json_t *names = json_pack("{s:s, s:s, s:s, s:s, s:[]}", "plural", k->plural, "singular",
                              k->singular, "kind", k->kind, "listKind", list, "shortNames");

    for (size_t i = 0; i < COUNT(k->short_names); i++)
        if (k->short_names[i])
            (void)json_array_append_new(json_object_get(names, "shortNames"),
                                        json_string(k->short_names[i])); /* ASCII */
    return names;
}

/* Adds the names of Mete's own kinds of the group, but for one that the definition defines again.
 */
static void add_own_names(const char *group, const char *plural, json_t *others)
{
    for (size_t i = 0; i < kinds_count; i++)
        if (text_equal(kinds[i]->group, group) && !text_equal(kinds[i]->plural, plural))
            (void)json_array_append_new(others, names_of(kinds[i]));
}

/* The names of Mete's own kinds of the group, and the accepted names of its other definitions, as a
 * new array. */
static struct err *find_others(const struct change *c, json_t **ret)
{
    const struct store_range range = {.group = DEFINITION_GROUP, .resource = DEFINITION_PLURAL};
    const char *name = json_text_at(c->after, "metadata", "name", NULL);
    const char *group = json_text_at(c->after, "spec", "group", NULL);
    AUTO(json_freep) json_t *others = json_array();
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *tree = NULL;

        TRY(tree_cache_get(c->objects->trees, o, &tree));
        if (!text_equal(o->key.name, name) &&
            text_equal(json_text_at(tree, "spec", "group", NULL), group))
            (void)json_array_append(others, json_at(tree, "status", "acceptedNames", NULL));
    }
    add_own_names(group, json_text_at(c->after, "spec", "names", "plural", NULL), others);
    *ret = TAKE(others);
    return NULL;
}

static struct err *put_status(struct change *c)
{
    AUTO(json_freep) json_t *others = NULL;

    TRY(find_others(c, &others));
    definition_put_status(c->after, others, c->who.now_ns);
    return NULL;
}

struct err *definition_create_rules(struct change *c)
{
    if (c->kind->is_custom && custom_form_is_terminating(c->kind))
        return forbidden(c, "create not allowed while custom resource definition is terminating");
    if (c->kind != &kind_definition)
        return NULL;
    if (!json_is_object(json_object_get(c->after, "spec")))
        return NULL; /* the validation says so */
    json_put(c->after, "status", json_object());
    definition_default(c->after);
    return put_status(c);
}

struct err *definition_update_rules(struct change *c)
{
    if (c->kind != &kind_definition)
        return NULL;
    return put_status(c);
}

void definition_delete_rules(struct change *c)
{
    json_t *metadata = json_object_get(c->after, "metadata");
    const char *group = json_text_at(c->after, "spec", "group", NULL);
    const char *plural = json_text_at(c->after, "spec", "names", "plural", NULL);
    const struct kind *k;

    if (c->kind != &kind_definition || json_object_get(metadata, "deletionTimestamp"))
        return;
    k = kind_find(group ? group : "", plural ? plural : "");
    if (!k || !k->is_custom)
        return;
    if (!json_has_text(json_object_get(metadata, "finalizers"), DEFINITION_FINALIZER))
        (void)json_array_append_new(json_array_at(metadata, "finalizers"),
                                    json_string(DEFINITION_FINALIZER)); /* cannot fail */
    (void)object_set_condition(c->after, "Terminating", "True", "InstanceDeletionPending",
                               "CustomResourceDefinition marked for deletion; CustomResource "
                               "deletion will begin soon",
                               c->who.now_ns);
}
