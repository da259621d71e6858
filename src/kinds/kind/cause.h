/*
 * cause.h - causes: the faults of an object, field by field, in Kubernetes' words
 *
 * A path is a chain of parts on the stack; only a fault writes it out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum path_part {
    PATH_IS_NAME,
    PATH_IS_INDEX,
    PATH_IS_KEY
};

struct path {
    const struct path *up; /* NULL: a top-level field */
    enum path_part part;
    const char *name; /* a field's name, or a key */
    size_t index;
};

/* spec.containers · spec.containers[0] · data[key]. Valid until the end of the block. */
#define PATH(parent, field) (&(const struct path){.up = (parent), .name = (field)})
#define PATH_INDEX(parent, i) \
    (&(const struct path){.up = (parent), .part = PATH_IS_INDEX, .index = (i)})
#define PATH_KEY(parent, key) \
    (&(const struct path){.up = (parent), .part = PATH_IS_KEY, .name = (key)})

void path_add(struct buf *out, const struct path *p);

/* {0} is empty; causes_done frees. Causes after CAUSES_MAX are only counted. */
struct causes {
    struct buf text; /* "a: Required value, b: ..." */
    json_t *details; /* array of {reason, message, field}, NULL without causes */
    size_t n;
};

enum {
    CAUSES_MAX = 64
};

void causes_done(struct causes *c);

/* `detail` may be "" for required. Values are quoted, and truncated. */
void cause_required(struct causes *c, const struct path *at, const char *detail);
void cause_invalid(struct causes *c, const struct path *at, const char *value, const char *detail);
void cause_invalid_int(struct causes *c, const struct path *at, int64_t value, const char *detail);
/* The same for any JSON value (NULL: ""). The path NULL is of no field ("<nil>"). */
void cause_invalid_json(struct causes *c, const struct path *at, const json_t *value,
                        const char *detail);
/* As cause_invalid, with the reason of a wrong type. */
void cause_type_invalid(struct causes *c, const struct path *at, const char *value,
                        const char *detail);
void cause_unsupported(struct causes *c, const struct path *at, const char *value,
                       const char *const *supported);
/* The same for JSON values; `supported` is an array. */
void cause_unsupported_json(struct causes *c, const struct path *at, const json_t *value,
                            const json_t *supported);
void cause_unsupported_why(struct causes *c, const struct path *at, const char *value,
                           const char *const *supported, const char *why);
void cause_duplicate(struct causes *c, const struct path *at, const char *value);
void cause_duplicate_json(struct causes *c, const struct path *at, const json_t *value);
/* A cause with a reason of the caller's choice; `body` is the text behind "FIELD: ". */
void cause_add(struct causes *c, const struct path *at, const char *reason, const char *body);
void cause_forbidden(struct causes *c, const struct path *at, const char *detail);
void cause_too_long(struct causes *c, const struct path *at, size_t max_bytes);
void cause_too_many(struct causes *c, const struct path *at, size_t found, size_t max);
void cause_not_found(struct causes *c, const struct path *at, const char *value);

/* Takes the error of a check (NULL: none) and adds it as the cause "Invalid value". */
void cause_take(struct causes *c, const struct path *at, const char *value, struct err *e);

/* If `before` has `immutable: true`: adds causes when `key` or `immutable` changes. */
void cause_if_immutable(struct causes *c, const json_t *before, const json_t *after,
                        const char *key);

/* NULL without causes, else ERR_INVALID `KIND "NAME" is invalid: ...` with its details. */
struct err *causes_err(const struct causes *c, const char *kind, const char *name) MUST_CHECK;

/* The same for an object of a kind, which is named with its group: `Deployment.apps "x" is
 * invalid`. */
struct kind;
struct err *causes_err_of(const struct causes *c, const struct kind *k,
                          const char *name) MUST_CHECK;

/* The `details.causes` of a Status about `e`: a new array, empty without causes. */
json_t *cause_list(const struct err *e);

/* "not implemented yet", the text for every field that is refused by its name. */
extern const char cause_not_implemented[];
