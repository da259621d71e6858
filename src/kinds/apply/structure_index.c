/* structure_index.c - members and items in the order of their elements */

#include <stdlib.h>

#include "kinds/apply/structure_private.h"

static int item_compare(const void *x, const void *y)
{
    const struct indexed_item *a = x;
    const struct indexed_item *b = y;
    int order = element_compare(&a->element, &b->element);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static struct err *no_element(struct shape shape, size_t index)
{
    AUTO(buf_done) struct buf names = {0};
    const char *keys[SHAPE_KEYS_MAX];
    size_t n;

    if (shape_form(shape) == SHAPE_SET)
        return err_new(ERR_INVALID,
                       ": element %zu: associative list without keys has an element "
                       "that is no text, number or boolean",
                       index);
    n = shape.ops->keys(shape.node, keys);
    for (size_t i = 0; i < n; i++)
        buf_printf(&names, "%s\"%s\"", i > 0 ? " " : "", keys[i]);
    return err_new(ERR_INVALID,
                   ": element %zu: associative list with keys has an element that omits all key "
                   "fields [%s] (and doesn't have default values for any key fields)",
                   index, names.at);
}

struct err *items_index(struct arena *a, struct shape shape, const json_t *list,
                        struct item_index *ret)
{
    size_t n = json_array_size(list);
    struct item_index made = {.ordered = arena_alloc(a, (n + 1) * sizeof(*made.ordered)),
                              .sorted = arena_alloc(a, (n + 1) * sizeof(*made.sorted)),
                              .n = n};

    for (size_t i = 0; i < n; i++) {
        struct indexed_item *item = &made.ordered[i];

        item->index = i;
        item->value = json_array_get(list, i);
        if (!element_of_item(a, shape, item->value, &item->element))
            return no_element(shape, i);
    }
    memcpy(made.sorted, made.ordered, n * sizeof(*made.sorted));
    qsort(made.sorted, n, sizeof(*made.sorted), item_compare);
    *ret = made;
    return NULL;
}

const struct indexed_item *items_find(const struct item_index *items, const struct element *e,
                                      size_t *ret_n)
{
    size_t low = 0;
    size_t high = items->n;
    size_t n = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (element_compare(&items->sorted[middle].element, e) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + n < items->n && element_compare(&items->sorted[low + n].element, e) == 0)
        n++;
    *ret_n = n;
    return n > 0 ? &items->sorted[low] : NULL;
}

static int member_compare(const void *x, const void *y)
{
    const struct sorted_member *a = x;
    const struct sorted_member *b = y;

    return strcmp(a->name, b->name);
}

struct sorted_member *members_sort(struct arena *a, const json_t *object, size_t *ret_n)
{
    size_t n = json_object_size(object);
    struct sorted_member *made = arena_alloc(a, (n + 1) * sizeof(*made));
    const char *key;
    json_t *value;
    size_t i = 0;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value)
        made[i++] = (struct sorted_member){.name = key, .value = value};
    qsort(made, n, sizeof(*made), member_compare);
    *ret_n = n;
    return made;
}

enum shape_form form_of(struct shape shape, const json_t *value, const json_t *other)
{
    enum shape_form form = shape_form(shape);

    if (form == SHAPE_UNDECLARED)
        return SHAPE_ATOMIC;
    if (form != SHAPE_DEDUCED)
        return form;
    if (!value || json_is_null(value))
        return other && !json_is_null(other) ? form_of(shape, other, NULL) : SHAPE_OBJECT;
    if (json_is_object(value))
        return SHAPE_OBJECT;
    return json_is_array(value) ? SHAPE_ATOMIC : SHAPE_SCALAR;
}
