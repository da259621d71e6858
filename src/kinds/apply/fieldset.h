/*
 * fieldset.h - sets of an object's fields: sorted tries of path elements, and their text FieldsV1
 *
 * A set holds paths such as .spec.containers[name="a"].image. That a path is a member says nothing
 * of the paths above and below it. Memory is an arena's; sets share parts and are not changed
 * once another set was made from them. Order and texts are those of Kubernetes'
 * structured-merge-diff, so that equal sets have equal texts.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "kinds/kind/shape.h"

enum scalar_type {
    SCALAR_REAL, /* in the order in which values of different types sort */
    SCALAR_INT,
    SCALAR_TEXT,
    SCALAR_BOOL,
    SCALAR_NULL
};

struct scalar {
    enum scalar_type type;
    int64_t number; /* int, bool */
    double real;
    const char *text;
};

struct scalar_pair {
    const char *name;
    struct scalar value;
};

enum element_type {
    ELEMENT_FIELD, /* in the order in which elements sort */
    ELEMENT_KEY,
    ELEMENT_VALUE,
    ELEMENT_INDEX
};

/* A part of a path. */
struct element {
    enum element_type type;
    const char *name;                /* ELEMENT_FIELD */
    const struct scalar_pair *pairs; /* ELEMENT_KEY: sorted by name */
    size_t n_pairs;
    struct scalar value; /* ELEMENT_VALUE, ELEMENT_INDEX */
};

struct fieldset;

/* A path, from its end to its beginning. */
struct fieldset_path {
    const struct fieldset_path *up; /* NULL: the first element */
    const struct element *element;
};

struct fieldset_node {
    struct element element;
    bool is_member;
    struct fieldset *below; /* NULL: no paths below */
};

/* Nodes sorted by their elements. {0} is the empty set. */
struct fieldset {
    struct fieldset_node *at;
    size_t n;
    size_t room;
};

/* A field's element. `name` must live as long as the set. */
struct element element_field(const char *name);
/* The element of an item of a list; texts are borrowed from `item`. False: a set's item is no
 * scalar, or a list map's item is no object or has none of its keys. */
bool element_of_item(struct arena *a, struct shape list, const json_t *item, struct element *ret);
int element_compare(const struct element *x, const struct element *y);

/* Finds or adds the node of an element. The pointer is valid until the next addition. Additions in
 * order are cheap. */
struct fieldset_node *fieldset_at(struct arena *a, struct fieldset *s, const struct element *e);
/* The set below an element, made if it is missing. */
struct fieldset *fieldset_below(struct arena *a, struct fieldset *s, const struct element *e);
void fieldset_add(struct arena *a, struct fieldset *s, const struct element *e);
/* NULL, the path of the whole object, adds nothing. */
void fieldset_add_path(struct arena *a, struct fieldset *s, const struct fieldset_path *path);

/* The node of an element, or NULL. A NULL set is empty. */
const struct fieldset_node *fieldset_find(const struct fieldset *s, const struct element *e);
bool fieldset_is_empty(const struct fieldset *s);
bool fieldset_equal(const struct fieldset *x, const struct fieldset *y);
bool fieldset_has(const struct fieldset *s, const struct fieldset_path *path);

struct fieldset *fieldset_union(struct arena *a, const struct fieldset *x,
                                const struct fieldset *y);
struct fieldset *fieldset_common(struct arena *a, const struct fieldset *x,
                                 const struct fieldset *y);
/* The paths of `x` that `y` does not have. */
struct fieldset *fieldset_minus(struct arena *a, const struct fieldset *x,
                                const struct fieldset *y);
/* The same, without the paths below those of `y`, too. */
struct fieldset *fieldset_without(struct arena *a, const struct fieldset *x,
                                  const struct fieldset *y);
/* `x`, and the fields of structs through which its paths go. */
struct fieldset *fieldset_with_parents(struct arena *a, const struct fieldset *x, struct shape s);

/* Calls `fn` for each path: those of a level first, then those below it. */
void fieldset_each(const struct fieldset *s,
                   void (*fn)(void *arg, const struct fieldset_path *path), void *arg);

/* FieldsV1, {"f:spec":{"f:replicas":{}}}. Elements of unknown types are dropped. ERR_INVALID:
 * malformed; the error names the element. */
struct err *fieldset_parse(struct arena *a, const json_t *fields, struct fieldset **ret) MUST_CHECK;
/* A new reference. */
json_t *fieldset_format(const struct fieldset *s);

/* Appends `.spec.containers[name="a"].image`. */
void fieldset_path_add(struct buf *out, const struct fieldset_path *path);
void element_add(struct buf *out, const struct element *e);
