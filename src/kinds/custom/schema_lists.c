/* schema_lists.c - items of sets and of list maps, which are distinct; embedded objects */

#include "base/mem.h"
#include "kinds/custom/schema_private.h"

struct keyed {
    char *text;
    size_t index;
};

/* Recursive, as the schema. */
static void check_lists(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *value);

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* The keys of an item of a list map; of a set, the item. New reference. */
static json_t *key_of(const struct schema_node *n, const json_t *item)
{
    json_t *key;

    if (n->list == SCHEMA_LIST_SET)
        return json_incref((json_t *)(uintptr_t)item);
    key = json_object();
    for (size_t i = 0; i < json_array_size(n->map_keys); i++) {
        const char *name = json_string_value(json_array_get(n->map_keys, i));
        json_t *value = name ? json_object_get(item, name) : NULL;

        if (value)
            json_put(key, name, json_incref(value));
    }
    return key;
}

/* As Kubernetes: each second one of equal items is told, a third one not. */
static void tell_duplicates(struct schema_check *c, const struct schema_node *n,
                            const struct path *at, const json_t *list, const struct keyed *keys)
{
    for (size_t i = 1; i < json_array_size(list); i++) {
        AUTO(json_freep) json_t *key = NULL;

        if (!text_equal(keys[i - 1].text, keys[i].text) ||
            (i > 1 && text_equal(keys[i - 2].text, keys[i].text)))
            continue;
        key = key_of(n, json_array_get(list, keys[i].index));
        c->n_faults++;
        cause_duplicate_json(c->causes, PATH_INDEX(at, keys[i].index), key);
    }
}

static bool has_only_objects(struct schema_check *c, const struct path *at, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (json_is_object(item) || json_is_null(item))
            continue;
        c->n_faults++;
        cause_invalid_json(c->causes, PATH_INDEX(at, i), item,
                           "must be an object for an array of list-type map");
        return false;
    }
    return true;
}

static void check_distinct(struct schema_check *c, const struct schema_node *n,
                           const struct path *at, const json_t *list)
{
    size_t count = json_array_size(list);
    struct keyed *keys;

    if (n->list == SCHEMA_LIST_MAP && !has_only_objects(c, at, list))
        return;
    if (count < 2)
        return;
    keys = mem_alloc(count * sizeof(*keys));
    for (size_t i = 0; i < count; i++) {
        AUTO(json_freep) json_t *key = key_of(n, json_array_get(list, i));

        keys[i] = (struct keyed){json_format(key), i};
    }
    qsort(keys, count, sizeof(*keys), compare_keyed);
    tell_duplicates(c, n, at, list, keys);
    for (size_t i = 0; i < count; i++)
        free(keys[i].text);
    free(keys);
}

static void check_members(struct schema_check *c, const struct schema_node *n,
                          const struct path *at, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        const struct schema_node *property = schema_property(n, key);

        if (property)
            check_lists(c, property, PATH(at, key), value);
        else if (n->additional)
            check_lists(c, n->additional, PATH_KEY(at, key), value);
    }
}

static void check_lists(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *value)
{
    if (!n->has_list_below)
        return;
    if (json_is_object(value)) {
        check_members(c, n, at, value);
        return;
    }
    if (json_is_array(value) && n->list != SCHEMA_LIST_ATOMIC)
        check_distinct(c, n, at, value);
    for (size_t i = 0; n->items && i < json_array_size(value); i++)
        check_lists(c, n->items, PATH_INDEX(at, i), json_array_get(value, i));
}

void schema_check_lists(struct schema_check *c, const struct schema *s, const json_t *object,
                        const json_t *before)
{
    AUTO(causes_done) struct causes old = {0};
    struct schema_check was = {.causes = &old};

    if (!s->root->has_list_below)
        return;
    if (before)
        check_lists(&was, s->root, NULL, before);
    if (was.n_faults == 0)
        check_lists(c, s->root, NULL, object);
}

/* ---- embedded objects ---- */

static void check_embedded_object(struct schema_check *c, const struct path *at,
                                  const json_t *object)
{
    static const char *const required[] = {"apiVersion", "kind"};
    const char *name = json_text_at(object, "metadata", "name", NULL);

    for (size_t i = 0; i < COUNT(required); i++) {
        if (json_object_get(object, required[i])) {
            if (!json_text_filled(object, required[i]))
                cause_invalid_json(c->causes, PATH(at, required[i]),
                                   json_object_get(object, required[i]), "must not be empty");
            continue;
        }
        c->is_blocked = true;
        cause_required(c->causes, PATH(at, required[i]), "");
    }
    if (name && (text_equal(name, ".") || text_equal(name, "..")))
        cause_invalid(c->causes, PATH(PATH(at, "metadata"), "name"), name,
                      text_equal(name, ".") ? "may not be '.'" : "may not be '..'");
    else if (name && strpbrk(name, "/%"))
        cause_invalid(c->causes, PATH(PATH(at, "metadata"), "name"), name,
                      strchr(name, '/') ? "may not contain '/'" : "may not contain '%'");
}

/* Recursive, as the schema. */
static void check_embedded(struct schema_check *c, const struct schema_node *n,
                           const struct path *at, const json_t *value)
{
    const char *key;
    json_t *member;

    if (!n->has_embedded_below)
        return;
    if (json_is_object(value) && n->is_embedded)
        check_embedded_object(c, at, value);
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        const struct schema_node *below = schema_member(n, key);

        if (below)
            check_embedded(c, below, PATH(at, key), member);
    }
    for (size_t i = 0; n->items && i < json_array_size(value); i++)
        check_embedded(c, n->items, PATH_INDEX(at, i), json_array_get(value, i));
}

void schema_check_embedded(struct schema_check *c, const struct schema *s, const json_t *object)
{
    struct schema_node root = *s->root;

    root.is_embedded = false; /* the object itself was decoded */
    check_embedded(c, &root, NULL, object);
}
