/* three_way.c - the patch of `mete apply` */

#include "cli/object/three_way.h"

#include "base/mem.h"

static json_t *diff_object(const struct field *fields, const json_t *last, const json_t *live,
                           const json_t *want);

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields && fields->name; fields++)
        if (text_equal(fields->name, name))
            return fields;
    return NULL;
}

/* Returns the member fields of `f`: its own, or those of its list's items. */
static const struct field *fields_of(const struct field *f)
{
    if (!f)
        return NULL;
    if (f->type == FIELD_LIST)
        return f->item ? f->item->fields : NULL;
    return f->type == FIELD_OBJECT ? f->fields : NULL;
}

static json_t *find_item(const json_t *list, const char *key, const json_t *value)
{
    json_t *item;
    size_t i;

    json_array_foreach (list, i, item)
        if (json_equal(json_object_get(item, key), value))
            return item;
    return NULL;
}

/* Is each item an object with a unique value of the key? */
static bool is_keyed(const json_t *list, const char *key)
{
    json_t *item;
    size_t i;

    json_array_foreach (list, i, item) {
        const json_t *value = json_object_get(item, key);

        if (!value || json_is_null(value) || find_item(list, key, value) != item)
            return false;
    }
    return true;
}

static json_t *key_only(const char *key, const json_t *value)
{
    json_t *object = json_object();

    json_put(object, key, json_deep_copy(value));
    return object;
}

/* Adds the whole list, with a directive that replaces the old list. */
static void replace_list(json_t *patch, const char *name, const json_t *want)
{
    json_t *list = json_deep_copy(want);
    json_t *directive = json_object();

    json_put_text(directive, "$patch", "replace");
    (void)json_array_insert_new(list, 0, directive);
    json_put(patch, name, list);
}

static void add_wanted_items(const struct field *f, const json_t *last, const json_t *live,
                             const json_t *want, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach (want, i, item) {
        const json_t *value = json_object_get(item, f->merge_key);
        const json_t *present = find_item(live, f->merge_key, value);
        json_t *change;

        if (!present) {
            (void)json_array_append_new(list, json_deep_copy(item));
            continue;
        }
        change = diff_object(fields_of(f), find_item(last, f->merge_key, value), present, item);
        if (json_object_size(change) > 0) {
            json_put(change, f->merge_key, json_deep_copy(value));
            (void)json_array_append(list, change);
        }
        json_decref(change);
    }
}

static void add_removed_items(const struct field *f, const json_t *last, const json_t *live,
                              const json_t *want, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach (last, i, item) {
        const json_t *value = json_object_get(item, f->merge_key);
        json_t *removal;

        if (!value || find_item(want, f->merge_key, value) || !find_item(live, f->merge_key, value))
            continue;
        removal = key_only(f->merge_key, value);
        json_put_text(removal, "$patch", "delete");
        (void)json_array_append_new(list, removal);
    }
}

/* Do the wanted items have another order than the present items? */
static bool is_reordered(const struct field *f, const json_t *live, const json_t *want)
{
    size_t at = 0;
    json_t *item;
    size_t i;

    json_array_foreach (live, i, item) {
        const json_t *value = json_object_get(item, f->merge_key);

        if (!value || !find_item(want, f->merge_key, value))
            continue;
        if (!json_equal(json_object_get(json_array_get(want, at++), f->merge_key), value))
            return true;
    }
    return false;
}

static void diff_keyed(const struct field *f, const json_t *last, const json_t *live,
                       const json_t *want, json_t *patch)
{
    AUTO(json_freep) json_t *list = json_array();
    AUTO_FREE char *order_name = mem_format("$setElementOrder/%s", f->name);
    json_t *order;
    json_t *item;
    size_t i;

    if (!is_keyed(want, f->merge_key) || !is_keyed(live, f->merge_key)) {
        replace_list(patch, f->name, want);
        return;
    }
    add_wanted_items(f, last, live, want, list);
    add_removed_items(f, last, live, want, list);
    if (json_array_size(list) == 0 && !is_reordered(f, live, want))
        return;
    order = json_array();
    json_array_foreach (want, i, item)
        (void)json_array_append_new(order,
                                    key_only(f->merge_key, json_object_get(item, f->merge_key)));
    json_put(patch, order_name, order);
    json_put(patch, f->name, json_incref(list));
}

static bool has_value(const json_t *list, const json_t *value)
{
    json_t *item;
    size_t i;

    json_array_foreach (list, i, item)
        if (json_equal(item, value))
            return true;
    return false;
}

/* Returns the members of `from` that are in `in` (NULL: any) and not in `without`. */
static json_t *items_pick(const json_t *from, const json_t *without, const json_t *in)
{
    json_t *list = json_array();
    json_t *item;
    size_t i;

    json_array_foreach (from, i, item)
        if (!has_value(without, item) && (!in || has_value(in, item)) && !has_value(list, item))
            (void)json_array_append(list, item);
    return list;
}

static void diff_set(const char *name, const json_t *last, const json_t *live, const json_t *want,
                     json_t *patch)
{
    AUTO_FREE char *deletion = mem_format("$deleteFromPrimitiveList/%s", name);
    AUTO(json_freep) json_t *added = items_pick(want, live, NULL);
    AUTO(json_freep) json_t *removed = items_pick(last, want, live);

    if (json_array_size(added) > 0)
        json_put(patch, name, json_incref(added));
    if (json_array_size(removed) > 0)
        json_put(patch, deletion, json_incref(removed));
}

static void diff_member(const struct field *f, const char *name, const json_t *last,
                        const json_t *live, const json_t *want, json_t *patch)
{
    json_t *change;

    if (json_equal(live, want))
        return;
    if (json_is_object(live) && json_is_object(want)) {
        change = diff_object(fields_of(f), last, live, want);
        if (json_object_size(change) > 0)
            json_put(patch, name, json_incref(change));
        json_decref(change);
    } else if (f && f->type == FIELD_LIST && json_is_array(live) && json_is_array(want) &&
               f->merge_key) {
        diff_keyed(f, last, live, want, patch);
    } else if (f && f->type == FIELD_LIST && json_is_array(live) && json_is_array(want) &&
               f->is_set_list) {
        diff_set(name, last, live, want, patch);
    } else {
        json_put(patch, name, json_deep_copy(want));
    }
}

/* Recurses as deep as `want`, whose depth the parser limits. */
static json_t *diff_object(const struct field *fields, const json_t *last, const json_t *live,
                           const json_t *want)
{
    json_t *patch = json_object();
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)want, name, value) {
        if (json_is_null(value) && !json_object_get(live, name))
            continue;
        diff_member(find_field(fields, name), name, json_object_get(last, name),
                    json_object_get(live, name), value, patch);
    }
    json_object_foreach ((json_t *)(uintptr_t)last, name, value)
        if (!json_object_get(want, name) && json_object_get(live, name))
            json_put(patch, name, json_null());
    return patch;
}

json_t *three_way(const struct kind *k, const json_t *last, const json_t *live, const json_t *want)
{
    return diff_object(k ? k->fields : NULL, last, live, want);
}
