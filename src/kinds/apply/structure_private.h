/* structure_private.h - lists as sorted elements, for the walks of structure_*.c */
#pragma once

#include "kinds/apply/structure.h"

struct indexed_item {
    struct element element;
    json_t *value;
    size_t index; /* in the list */
};

/* The items of a set or list map. `sorted` orders them by element, equal ones by index; `ordered`
 * is as in the list. */
struct item_index {
    struct indexed_item *sorted;
    struct indexed_item *ordered;
    size_t n;
};

/* ERR_INVALID: an item without an element. A `list` that is no array is empty. */
struct err *items_index(struct arena *a, struct shape shape, const json_t *list,
                        struct item_index *ret) MUST_CHECK;

/* The first item with this element, and the number of those that have it; NULL: none. */
const struct indexed_item *items_find(const struct item_index *items, const struct element *e,
                                      size_t *ret_n);

/* The members of an object, sorted by name. */
struct sorted_member {
    const char *name;
    json_t *value;
};
struct sorted_member *members_sort(struct arena *a, const json_t *object, size_t *ret_n);

/* The form that the shape gives this value: SHAPE_DEDUCED is resolved by the value's type. A null
 * or an absent value takes the form of `other`, or SHAPE_OBJECT. */
enum shape_form form_of(struct shape shape, const json_t *value, const json_t *other);
