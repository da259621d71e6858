/*
 * schema.h - structural schemas of custom resources (openAPIV3Schema), compiled once
 *
 * A schema comes from whoever may write definitions, and is asked for each write of an object: its
 * nodes, its depth and the work of one validation are bounded. Texts are those of Kubernetes, so
 * that clients and people find the words that they know.
 */
#pragma once

#include "base/json.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/shape.h"

struct schema;

enum {
    SCHEMA_NODES_MAX = 100000,
    SCHEMA_DEPTH_MAX = 100,
    SCHEMA_UNKNOWN_MAX = 32 /* unknown fields that are named */
};

/*
 * Compiles `source` (the value of openAPIV3Schema) and adds a cause below `at` for each fault: what
 * is no structural schema, a default that its schema refuses, a rule that does not compile. NULL
 * with a cause. Takes a reference of `source`, which nobody may change.
 */
struct schema *schema_new(json_t *source, const struct path *at, struct causes *causes);
void schema_free(struct schema *s); /* accepts NULL */
static inline void schema_freep(struct schema **s)
{
    schema_free(*s);
}

/* The value of openAPIV3Schema. Borrowed. */
const json_t *schema_source(const struct schema *s);

/*
 * Removes the fields of an object that its schema does not know; apiVersion, kind and metadata
 * stay. Paths of the first SCHEMA_UNKNOWN_MAX removed fields are added to `unknown` (an array;
 * NULL: not wanted). Returns the number of removed fields.
 */
size_t schema_prune(const struct schema *s, json_t *object, json_t *unknown);

/* Sets absent members to their defaults, and drops null where it may not be. */
void schema_default(const struct schema *s, json_t *object);

/*
 * Checks an object against types, values, lists and rules. `before` is the stored object (NULL: a
 * creation): faults that it has already are let through (as Kubernetes ratchets), and rules see it
 * as oldSelf. `part` is NULL, or "status": only this member is checked.
 */
void schema_validate(const struct schema *s, const json_t *object, const json_t *before,
                     const char *part, struct causes *causes);

/* The type at a path of property names ("spec.state"): "string", "integer", "boolean" ...; NULL: no
 * such property. */
const char *schema_type_at(const struct schema *s, const char *path);

/* The shape by which a server-side apply merges the objects; valid as long as the schema. */
struct shape schema_shape(const struct schema *s);
