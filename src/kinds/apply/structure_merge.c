/*
 * structure_merge.c - the merge of an applied configuration, and the removal of fields
 *
 * The order of a merged list: that of `live` if the configuration adds nothing there, else that of
 * the configuration, around which the other items of `live` keep their places.
 */

#include "kinds/apply/structure_private.h"

struct merging {
    struct arena *arena;
};

/* A NULL `*ret`: nothing is there. Recursive, as deep as the trees, which json_parse caps. */
static struct err *merge_value(struct merging *m, struct shape shape, const json_t *live,
                               const json_t *config, json_t **ret);

static json_t *shared(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

static struct err *merge_member(struct merging *m, struct shape shape, json_t *made,
                                const char *name, const json_t *live, const json_t *config)
{
    bool is_named = false;
    json_t *value = NULL;

    TRY(merge_value(m, shape_member(shape, name, &is_named), live, config, &value));
    if (value)
        json_put(made, name, value);
    return NULL;
}

static struct err *merge_objects(struct merging *m, struct shape shape, const json_t *live,
                                 const json_t *config, json_t **ret)
{
    AUTO(json_freep) json_t *made = json_object();
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)live, key, value)
        TRY(merge_member(m, shape, made, key, value, json_object_get(config, key)));
    json_object_foreach ((json_t *)(uintptr_t)config, key, value)
        if (!json_object_get(live, key))
            TRY(merge_member(m, shape, made, key, NULL, value));
    if (json_object_size(made) > 0)
        *ret = TAKE(made);
    return NULL;
}

struct list_merge {
    struct merging *m;
    struct shape item;
    struct item_index live;
    struct item_index config;
    size_t next_shared; /* index in config.ordered of the next item that `live` has, too */
    bool *is_merged;    /* by index in `config` */
    json_t *made;
};

static const struct indexed_item *in_config(const struct list_merge *l, const struct element *e)
{
    size_t n = 0;

    return items_find(&l->config, e, &n);
}

static void find_shared(struct list_merge *l, size_t from)
{
    size_t n = 0;

    while (from < l->config.n && !items_find(&l->live, &l->config.ordered[from].element, &n))
        from++;
    l->next_shared = from;
}

static struct err *put_item(struct list_merge *l, const json_t *live, const json_t *config)
{
    json_t *value = NULL;

    TRY(merge_value(l->m, l->item, live, config, &value));
    if (value)
        (void)json_array_append_new(l->made, value);
    return NULL;
}

/* Takes the item `r` of the configuration, merged with the item of `live` unless that is one of
 * several equal ones. */
static struct err *put_config_item(struct list_merge *l, size_t r)
{
    const struct indexed_item *item = &l->config.ordered[r];
    size_t n = 0;
    const struct indexed_item *old = items_find(&l->live, &item->element, &n);

    l->is_merged[r] = true;
    if (l->next_shared == r)
        find_shared(l, r + 1);
    return put_item(l, n == 1 ? old->value : NULL, item->value);
}

static struct err *merge_items(struct list_merge *l)
{
    size_t i = 0;
    size_t r = 0;

    while (i < l->live.n || r < l->config.n) {
        const struct indexed_item *old = i < l->live.n ? &l->live.ordered[i] : NULL;
        const struct indexed_item *same = old ? in_config(l, &old->element) : NULL;

        if (same && same->index == r) {
            TRY(put_config_item(l, r++));
            i++;
        } else if (old && !same) {
            TRY(put_item(l, old->value, NULL));
            i++;
        } else if (same && r < l->config.n && l->next_shared < l->config.n &&
                   same->index != l->next_shared) {
            i++; /* its turn comes in the configuration's order */
        } else {
            i += same && l->is_merged[same->index];
            if (r < l->config.n)
                TRY(put_config_item(l, r++));
        }
    }
    return NULL;
}

static struct err *merge_lists(struct merging *m, struct shape shape, const json_t *live,
                               const json_t *config, json_t **ret)
{
    struct list_merge l = {.m = m, .item = shape_item(shape)};
    struct err *e;

    TRY(items_index(m->arena, shape, live, &l.live));
    TRY(items_index(m->arena, shape, config, &l.config));
    l.is_merged = arena_alloc(m->arena, l.config.n + 1);
    find_shared(&l, 0);
    l.made = json_array();
    e = merge_items(&l);
    if (!e && json_array_size(l.made) > 0)
        *ret = json_incref(l.made);
    json_decref(l.made);
    return e;
}

static bool is_blank(const json_t *value)
{
    return json_object_size(value) == 0 && json_array_size(value) == 0;
}

static struct err *merge_value(struct merging *m, struct shape shape, const json_t *live,
                               const json_t *config, json_t **ret)
{
    enum shape_form form = form_of(shape, config, live);
    bool is_list = form == SHAPE_SET || form == SHAPE_LIST_MAP;

    if (!live || !config) {
        *ret = shared(config ? config : live);
        return NULL;
    }
    if ((form != SHAPE_OBJECT && !is_list) || (is_blank(live) && is_blank(config))) {
        *ret = shared(config);
        return NULL;
    }
    if (is_list)
        return merge_lists(m, shape, live, config, ret);
    return merge_objects(m, shape, json_is_object(live) ? live : NULL, config, ret);
}

struct err *structure_merge(struct arena *a, struct shape shape, const json_t *live,
                            const json_t *config, json_t **ret)
{
    struct merging m = {.arena = a};

    return merge_value(&m, shape, live, config, ret);
}

/* ---- removal ---- */

static json_t *remove_below(struct arena *a, struct shape shape, const json_t *value,
                            const struct fieldset *set);

/* The rest of a member or an item; NULL: nothing stays. */
static json_t *remove_part(struct arena *a, struct shape shape, const json_t *value,
                           const struct fieldset_node *node)
{
    if (node && node->is_member)
        return NULL;
    if (!node || fieldset_is_empty(node->below))
        return shared(value);
    return remove_below(a, shape, value, node->below);
}

static json_t *remove_members(struct arena *a, struct shape shape, const json_t *object,
                              const struct fieldset *set)
{
    json_t *made = json_object();
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        const struct element e = element_field(key);
        bool is_named = false;
        json_t *kept =
            remove_part(a, shape_member(shape, key, &is_named), value, fieldset_find(set, &e));

        if (kept)
            json_put(made, key, kept);
    }
    return made;
}

static json_t *remove_items(struct arena *a, struct shape shape, const json_t *list,
                            const struct fieldset *set)
{
    json_t *made = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        struct element e = {.type = ELEMENT_INDEX};
        bool has_element = element_of_item(a, shape, value, &e);
        json_t *kept =
            remove_part(a, shape_item(shape), value, has_element ? fieldset_find(set, &e) : NULL);

        if (kept)
            (void)json_array_append_new(made, kept);
    }
    return made;
}

static json_t *remove_below(struct arena *a, struct shape shape, const json_t *value,
                            const struct fieldset *set)
{
    enum shape_form form = form_of(shape, value, NULL);
    bool is_list = form == SHAPE_SET || form == SHAPE_LIST_MAP;
    json_t *made;

    if (is_blank(value) || (form != SHAPE_OBJECT && !is_list))
        return shared(value);
    made = is_list ? remove_items(a, shape, value, set) : remove_members(a, shape, value, set);
    if (!is_blank(made))
        return made;
    json_decref(made);
    return json_null();
}

json_t *structure_remove(struct arena *a, struct shape shape, const json_t *object,
                         const struct fieldset *set)
{
    return remove_below(a, shape, object, set);
}
