/*
 * structure.h - objects as structures of fields: what differs, which fields are there, the merge of
 * an applied configuration, and the removal of fields
 *
 * The rules are those of Kubernetes' structured-merge-diff; a null is a value, an absent member is
 * none. Sets borrow names and texts from the trees, which must stay unchanged while a set is used.
 */
#pragma once

#include "kinds/apply/fieldset.h"

struct comparison {
    struct fieldset *removed;  /* fields of `before` alone */
    struct fieldset *modified; /* fields with another value */
    struct fieldset *added;    /* fields of `after` alone */
};

/* ERR_INVALID: an item of a list that is known by its keys has none of them. */
struct err *structure_compare(struct arena *a, struct shape shape, const json_t *before,
                              const json_t *after, struct comparison *ret) MUST_CHECK;

/* The fields of an object: its leaves, items and keys of maps. ERR_INVALID as above. */
struct err *structure_fields(struct arena *a, struct shape shape, const json_t *object,
                             struct fieldset **ret) MUST_CHECK;

/* Checks a configuration before its merge: ERR_INVALID names undeclared fields, items without keys
 * or with equal keys, and values of another type (".spec.containers: duplicate entries ..."). */
struct err *structure_check(struct arena *a, struct shape shape, const json_t *config) MUST_CHECK;

/* `live` with all fields of `config`. The new tree shares parts with both: copy it before changing
 * it. `config` was checked. */
struct err *structure_merge(struct arena *a, struct shape shape, const json_t *live,
                            const json_t *config, json_t **ret) MUST_CHECK;

/* `object` without the members of `set`. The new tree shares parts with `object`. An object or list
 * that loses all its parts becomes null. */
json_t *structure_remove(struct arena *a, struct shape shape, const json_t *object,
                         const struct fieldset *set);
