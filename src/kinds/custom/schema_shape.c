/* schema_shape.c - pruning and defaults, as Kubernetes' schema/pruning and schema/defaulting */

#include "kinds/custom/schema_private.h"

struct pruning {
    json_t *unknown; /* NULL: not wanted */
    size_t n;
};

/* Recursive, as the value, whose depth json_parse caps. NULL: no schema, nothing is known. */
static void prune(struct pruning *p, const struct schema_node *n, const struct path *at,
                  json_t *value);

static void note_unknown(struct pruning *p, const struct path *at)
{
    AUTO(buf_done) struct buf text = {0};

    p->n++;
    if (!p->unknown || json_array_size(p->unknown) >= SCHEMA_UNKNOWN_MAX)
        return;
    path_add(&text, at);
    (void)json_array_append_new(p->unknown, json_string(text.at)); /* parsed keys are UTF-8 */
}

/* May the node's value have any member? Then only known members are looked into. */
static bool keeps(const struct schema_node *n)
{
    return n && (n->keeps_unknown || (n->has_additional && !n->additional));
}

static void prune_object(struct pruning *p, const struct schema_node *n, const struct path *at,
                         json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (object, next, key, value) {
        const struct schema_node *member = n ? schema_member(n, key) : NULL;
        const struct path *here = PATH(at, key);

        if (n && n->is_embedded && schema_is_meta(key))
            continue;
        if (member) {
            prune(p, member, here, value);
        } else if (!keeps(n)) {
            note_unknown(p, here);
            (void)json_object_del(object, key); /* present */
        }
    }
}

static void prune(struct pruning *p, const struct schema_node *n, const struct path *at,
                  json_t *value)
{
    if (json_is_object(value)) {
        prune_object(p, n, at, value);
        return;
    }
    if (keeps(n) && !n->items)
        return;
    for (size_t i = 0; i < json_array_size(value); i++)
        prune(p, n ? n->items : NULL, PATH_INDEX(at, i), json_array_get(value, i));
}

size_t schema_prune_node(const struct schema_node *n, json_t *value, const struct path *at,
                         json_t *unknown)
{
    struct pruning p = {.unknown = unknown};

    prune(&p, n, at, value);
    return p.n;
}

size_t schema_prune(const struct schema *s, json_t *object, json_t *unknown)
{
    struct schema_node root = *s->root;

    root.is_embedded = true;
    return schema_prune_node(&root, object, NULL, unknown);
}

/* ---- defaults ---- */

/* Is the value null where null may not be? */
static bool is_wrong_null(const struct schema_node *n, const json_t *value)
{
    return json_is_null(value) && n && !n->is_nullable;
}

static void default_properties(const struct schema_node *n, json_t *object)
{
    for (size_t i = 0; i < n->n_properties; i++) {
        const struct schema_node *property = n->properties[i].node;
        const char *name = n->properties[i].name;
        const json_t *value = json_object_get(object, name);

        if (property->fallback && (!value || is_wrong_null(property, value)))
            json_put(object, name, json_deep_copy(property->fallback));
    }
}

static void default_object(const struct schema_node *n, json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    default_properties(n, object);
    json_object_foreach_safe (object, next, key, value) {
        const struct schema_node *member = schema_member(n, key);

        if (!member)
            continue;
        /* As Kubernetes' PruneNonNullableNullsWithoutDefaults. */
        if (is_wrong_null(member, value) && !member->fallback)
            (void)json_object_del(object, key); /* present */
        else
            schema_default_node(member, value);
    }
}

/* Recursive, as the value. */
void schema_default_node(const struct schema_node *n, json_t *value)
{
    if (json_is_object(value))
        default_object(n, value);
    if (!json_is_array(value) || !n->items)
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (is_wrong_null(n->items, json_array_get(value, i)) && n->items->fallback)
            (void)json_array_set_new(value, i, json_deep_copy(n->items->fallback));
        schema_default_node(n->items, json_array_get(value, i));
    }
}

void schema_default(const struct schema *s, json_t *object)
{
    schema_default_node(s->root, object);
}
