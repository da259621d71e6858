/*
 * shape.h - how the values of a schema merge: all that server-side apply asks of a schema
 *
 * A shape is a node of a schema: of the tables of kinds (kind_shape), or of another source that
 * fills `ops`. Shapes are values; their nodes live as long as the kind.
 */
#pragma once

#include "base/json.h"

enum shape_form {
    SHAPE_SCALAR,    /* text, number or boolean */
    SHAPE_ATOMIC,    /* an object or a list with one owner, replaced whole */
    SHAPE_OBJECT,    /* a struct or a map: each member has owners of its own */
    SHAPE_SET,       /* a list of distinct scalars, each with owners of its own */
    SHAPE_LIST_MAP,  /* a list of objects, known by the values of their keys */
    SHAPE_DEDUCED,   /* without a schema: objects merge member by member, lists are atomic */
    SHAPE_UNDECLARED /* a member that the schema does not have */
};

enum {
    SHAPE_KEYS_MAX = 8
};

struct shape {
    const struct shape_ops *ops; /* NULL: SHAPE_DEDUCED */
    const void *node;            /* of `ops` */
};

struct shape_ops {
    enum shape_form (*form)(const void *node);
    /* SHAPE_OBJECT: the shape of a member. `*ret_is_named`: the schema lists the member by its name
     * (a field of a struct, not a key of a map). */
    struct shape (*member)(const void *node, const char *name, bool *ret_is_named);
    /* SHAPE_SET, SHAPE_LIST_MAP: the shape of the items. */
    struct shape (*item)(const void *node);
    /* SHAPE_LIST_MAP: the names of the keys; returns their number, at least 1. */
    size_t (*keys)(const void *node, const char *ret[SHAPE_KEYS_MAX]);
    /* SHAPE_LIST_MAP: the default of a key, which counts where an item lacks the key. A new
     * reference, or NULL. */
    json_t *(*key_default)(const void *node, const char *key);
};

/* {0} is SHAPE_DEDUCED in all of these. */
enum shape_form shape_form(struct shape s);
struct shape shape_member(struct shape s, const char *name, bool *ret_is_named);
struct shape shape_item(struct shape s);

/* The shape of a member that a schema does not have. */
struct shape shape_undeclared(void);

struct kind;

/* The shape of a kind's objects. */
struct shape kind_shape(const struct kind *k);
