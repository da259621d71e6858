/* schema_merge.c - how values of a schema merge: the shape of custom objects (kinds/kind/shape.h)
 */

#include "kinds/custom/schema_private.h"
#include "kinds/kind/fields.h"

static const struct shape_ops node_ops;

static enum shape_form node_form(const void *node)
{
    const struct schema_node *n = node;

    if (n->type == SCHEMA_OBJECT)
        return n->is_atomic_map ? SHAPE_ATOMIC : SHAPE_OBJECT;
    if (n->type != SCHEMA_ARRAY)
        return SHAPE_SCALAR;
    return n->list == SCHEMA_LIST_MAP   ? SHAPE_LIST_MAP
           : n->list == SCHEMA_LIST_SET ? SHAPE_SET
                                        : SHAPE_ATOMIC;
}

static struct shape shape_of(const struct schema_node *n)
{
    if (!n || (n->type == SCHEMA_ANY && !n->is_int_or_string))
        return (struct shape){0};
    return (struct shape){.ops = &node_ops, .node = n};
}

static struct shape node_member(const void *node, const char *name, bool *ret_is_named)
{
    const struct schema_node *n = node;
    const struct schema_node *property = schema_property(n, name);

    *ret_is_named = property != NULL;
    if (property || n->additional)
        return shape_of(property ? property : n->additional);
    if (n->keeps_unknown || n->has_additional || (n->is_embedded && schema_is_meta(name)))
        return (struct shape){0};
    return shape_undeclared();
}

static struct shape node_item(const void *node)
{
    const struct schema_node *n = node;

    return shape_of(n->items);
}

static size_t node_keys(const void *node, const char *ret[SHAPE_KEYS_MAX])
{
    const struct schema_node *n = node;
    size_t count = json_array_size(n->map_keys);

    count = count < SHAPE_KEYS_MAX ? count : SHAPE_KEYS_MAX;
    for (size_t i = 0; i < count; i++)
        ret[i] = json_string_value(json_array_get(n->map_keys, i));
    return count;
}

static json_t *node_key_default(const void *node, const char *key)
{
    const struct schema_node *n = node;
    const struct schema_node *property = n->items ? schema_property(n->items, key) : NULL;

    return property && property->fallback ? json_deep_copy(property->fallback) : NULL;
}

static const struct shape_ops node_ops = {.form = node_form,
                                          .member = node_member,
                                          .item = node_item,
                                          .keys = node_keys,
                                          .key_default = node_key_default};

/* ---- the whole object ---- */

static enum shape_form root_form(const void *node)
{
    (void)node;
    return SHAPE_OBJECT;
}

static struct shape root_member(const void *node, const char *name, bool *ret_is_named)
{
    static const struct field common[] = {F_TYPE_AND_METADATA, F_END};

    for (const struct field *f = common; f->name; f++) {
        if (!text_equal(f->name, name))
            continue;
        *ret_is_named = true;
        return shape_of_field(f);
    }
    return node_member(node, name, ret_is_named);
}

static const struct shape_ops root_ops = {.form = root_form, .member = root_member};

struct shape schema_shape(const struct schema *s)
{
    return (struct shape){.ops = &root_ops, .node = s->root};
}
