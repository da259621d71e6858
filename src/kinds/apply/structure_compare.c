/* structure_compare.c - two objects compared field by field, and the fields of one object */

#include "kinds/apply/structure_private.h"

struct comparing {
    struct arena *arena;
    struct comparison *into;
};

/* Recursive, as deep as the trees, which json_parse caps. */
static struct err *compare_value(struct comparing *c, struct shape shape,
                                 const struct fieldset_path *path, const json_t *before,
                                 const json_t *after);

static void note_presence(struct comparing *c, const struct fieldset_path *path,
                          const json_t *before, const json_t *after)
{
    if (!before)
        fieldset_add_path(c->arena, c->into->added, path);
    else if (!after)
        fieldset_add_path(c->arena, c->into->removed, path);
}

static void compare_leaf(struct comparing *c, const struct fieldset_path *path,
                         const json_t *before, const json_t *after)
{
    note_presence(c, path, before, after);
    if (before && after && !json_equal(before, after))
        fieldset_add_path(c->arena, c->into->modified, path);
}

static struct err *compare_member(struct comparing *c, struct shape shape,
                                  const struct fieldset_path *path, const char *name,
                                  const json_t *before, const json_t *after)
{
    const struct element e = element_field(name);
    const struct fieldset_path here = {.up = path, .element = &e};
    bool is_named = false;

    return compare_value(c, shape_member(shape, name, &is_named), &here, before, after);
}

static struct err *compare_object(struct comparing *c, struct shape shape,
                                  const struct fieldset_path *path, const json_t *before,
                                  const json_t *after)
{
    size_t n = 0;
    size_t m = 0;
    struct sorted_member *old = members_sort(c->arena, before, &n);
    struct sorted_member *new = members_sort(c->arena, after, &m);
    size_t i = 0;
    size_t j = 0;

    if (n == 0 && m == 0) {
        compare_leaf(c, path, before, after);
        return NULL;
    }
    while (i < n || j < m) {
        int order = i == n ? 1 : j == m ? -1 : strcmp(old[i].name, new[j].name);
        const char *name = order <= 0 ? old[i].name : new[j].name;

        TRY(compare_member(c, shape, path, name, order <= 0 ? old[i].value : NULL,
                           order >= 0 ? new[j].value : NULL));
        i += order <= 0;
        j += order >= 0;
    }
    note_presence(c, path, before, after);
    return NULL;
}

static bool groups_equal(const struct indexed_item *old, size_t n_old,
                         const struct indexed_item *new, size_t n_new)
{
    if (n_old != n_new)
        return false;
    for (size_t i = 0; i < n_old; i++)
        if (!json_equal(old[i].value, new[i].value))
            return false;
    return true;
}

/* Compares the items of one element: usually one each. Several equal ones count as one value. */
static struct err *compare_group(struct comparing *c, struct shape shape,
                                 const struct fieldset_path *path, const struct indexed_item *old,
                                 size_t n_old, const struct indexed_item *new, size_t n_new)
{
    if (n_old <= 1 && n_new <= 1)
        return compare_value(c, shape, path, n_old > 0 ? old->value : NULL,
                             n_new > 0 ? new->value : NULL);
    if (n_old > 1 && n_new > 1) {
        if (!groups_equal(old, n_old, new, n_new))
            fieldset_add_path(c->arena, c->into->modified, path);
        return NULL;
    }
    if (n_old > 1) {
        if (n_new > 0)
            TRY(compare_value(c, shape, path, NULL, new->value));
        fieldset_add_path(c->arena, c->into->removed, path);
        return NULL;
    }
    if (n_old > 0)
        TRY(compare_value(c, shape, path, old->value, NULL));
    fieldset_add_path(c->arena, c->into->added, path);
    return NULL;
}

static size_t group_size(const struct item_index *items, size_t i)
{
    size_t n = 1;

    while (i + n < items->n &&
           element_compare(&items->sorted[i].element, &items->sorted[i + n].element) == 0)
        n++;
    return n;
}

static struct err *compare_items(struct comparing *c, struct shape shape,
                                 const struct fieldset_path *path, const struct item_index *old,
                                 const struct item_index *new)
{
    size_t i = 0;
    size_t j = 0;

    while (i < old->n || j < new->n) {
        int order = i == old->n ? 1
                    : j == new->n
                        ? -1
                        : element_compare(&old->sorted[i].element, &new->sorted[j].element);
        const struct indexed_item *first = order <= 0 ? &old->sorted[i] : &new->sorted[j];
        const struct fieldset_path here = {.up = path, .element = &first->element};
        size_t n_old = order <= 0 ? group_size(old, i) : 0;
        size_t n_new = order >= 0 ? group_size(new, j) : 0;

        TRY(compare_group(c, shape, &here, &old->sorted[i], n_old, &new->sorted[j], n_new));
        i += n_old;
        j += n_new;
    }
    return NULL;
}

static struct err *compare_list(struct comparing *c, struct shape shape,
                                const struct fieldset_path *path, const json_t *before,
                                const json_t *after)
{
    struct item_index old = {0};
    struct item_index new = {0};

    if (json_array_size(before) == 0 && json_array_size(after) == 0) {
        compare_leaf(c, path, before, after);
        return NULL;
    }
    TRY(items_index(c->arena, shape, before, &old));
    TRY(items_index(c->arena, shape, after, &new));
    TRY(compare_items(c, shape_item(shape), path, &old, &new));
    note_presence(c, path, before, after);
    return NULL;
}

static struct err *compare_as(struct comparing *c, enum shape_form form, struct shape shape,
                              const struct fieldset_path *path, const json_t *before,
                              const json_t *after)
{
    switch (form) {
    case SHAPE_OBJECT:
        return compare_object(c, shape, path, before, after);
    case SHAPE_SET:
    case SHAPE_LIST_MAP:
        return compare_list(c, shape, path, before, after);
    case SHAPE_SCALAR:
    case SHAPE_ATOMIC:
    case SHAPE_DEDUCED:
    case SHAPE_UNDECLARED:
        break;
    }
    compare_leaf(c, path, before, after);
    return NULL;
}

static struct err *compare_value(struct comparing *c, struct shape shape,
                                 const struct fieldset_path *path, const json_t *before,
                                 const json_t *after)
{
    enum shape_form old = form_of(shape, before, after);
    enum shape_form new = form_of(shape, after, before);

    if (before == after)
        return NULL;
    if (old != new)
        TRY(compare_as(c, old, shape, path, before, after));
    return compare_as(c, new, shape, path, before, after);
}

struct err *structure_compare(struct arena *a, struct shape shape, const json_t *before,
                              const json_t *after, struct comparison *ret)
{
    struct comparing c = {.arena = a, .into = ret};

    ret->removed = arena_alloc(a, sizeof(*ret->removed));
    ret->modified = arena_alloc(a, sizeof(*ret->modified));
    ret->added = arena_alloc(a, sizeof(*ret->added));
    return compare_value(&c, shape, NULL, before, after);
}

/* ---- the fields of one object ---- */

struct gathering {
    struct arena *arena;
    struct fieldset *into;
};

static struct err *gather_value(struct gathering *g, struct shape shape,
                                const struct fieldset_path *path, const json_t *value);

static struct err *gather_object(struct gathering *g, struct shape shape,
                                 const struct fieldset_path *path, const json_t *object)
{
    size_t n = 0;
    struct sorted_member *members = members_sort(g->arena, object, &n);

    for (size_t i = 0; i < n; i++) {
        const struct element e = element_field(members[i].name);
        const struct fieldset_path here = {.up = path, .element = &e};
        const json_t *value = members[i].value;
        bool is_named = false;

        TRY(gather_value(g, shape_member(shape, e.name, &is_named), &here, value));
        if (!is_named || json_is_null(value) ||
            (json_is_object(value) && json_object_size(value) == 0))
            fieldset_add_path(g->arena, g->into, &here);
    }
    return NULL;
}

static struct err *gather_list(struct gathering *g, struct shape shape,
                               const struct fieldset_path *path, const json_t *list)
{
    struct item_index items = {0};
    size_t n = 0;

    TRY(items_index(g->arena, shape, list, &items));
    for (size_t i = 0; i < items.n; i += n) {
        const struct fieldset_path here = {.up = path, .element = &items.sorted[i].element};

        n = group_size(&items, i);
        if (n == 1)
            TRY(gather_value(g, shape_item(shape), &here, items.sorted[i].value));
        fieldset_add_path(g->arena, g->into, &here);
    }
    return NULL;
}

static struct err *gather_value(struct gathering *g, struct shape shape,
                                const struct fieldset_path *path, const json_t *value)
{
    switch (form_of(shape, value, NULL)) {
    case SHAPE_OBJECT:
        return gather_object(g, shape, path, value);
    case SHAPE_SET:
    case SHAPE_LIST_MAP:
        return gather_list(g, shape, path, value);
    case SHAPE_SCALAR:
    case SHAPE_ATOMIC:
    case SHAPE_DEDUCED:
    case SHAPE_UNDECLARED:
        break;
    }
    fieldset_add_path(g->arena, g->into, path);
    return NULL;
}

struct err *structure_fields(struct arena *a, struct shape shape, const json_t *object,
                             struct fieldset **ret)
{
    struct gathering g = {.arena = a, .into = arena_alloc(a, sizeof(*g.into))};

    TRY(gather_value(&g, shape, NULL, object));
    *ret = g.into;
    return NULL;
}
