/* schema_private.h - the nodes of a compiled schema */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "kinds/custom/schema.h"
#include "model/pattern.h"

enum schema_type {
    SCHEMA_ANY, /* no type is given */
    SCHEMA_OBJECT,
    SCHEMA_ARRAY,
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_NUMBER,
    SCHEMA_BOOLEAN
};

enum schema_list {
    SCHEMA_LIST_ATOMIC,
    SCHEMA_LIST_SET,
    SCHEMA_LIST_MAP
};

/* Checks the form of a text; false: another form. */
typedef bool (*schema_format_fn)(struct str text);

struct schema_node;
struct schema_rules; /* schema_rules.c */
struct cel_rule;     /* model/cel/cel_rule.h */

struct schema_property {
    const char *name;
    const struct schema_node *node;
};

struct schema_nodes {
    const struct schema_node **at;
    size_t n;
};

/* A limit of a number or a count. */
struct schema_limit {
    bool is_set;
    bool is_exclusive;
    double value;
    const json_t *text; /* as it was written */
};

struct schema_node {
    enum schema_type type;
    bool is_int_or_string;
    bool is_nullable;
    bool keeps_unknown;
    bool is_embedded;
    bool is_root;
    bool is_atomic_map;
    enum schema_list list;
    const struct schema_property *properties; /* by name */
    size_t n_properties;
    const struct schema_node *additional; /* NULL: none, or any */
    bool has_additional;
    const struct schema_node *items;
    const json_t *fallback; /* NULL: no default */
    const json_t *values;   /* enum; NULL: any */
    const json_t *required; /* array of names, or NULL */
    const json_t *map_keys; /* of SCHEMA_LIST_MAP */
    const struct pattern *pattern;
    const char *pattern_text;
    const char *format;
    schema_format_fn format_check; /* NULL: the format is not checked */
    struct schema_limit minimum;
    struct schema_limit maximum;
    struct schema_limit multiple_of;
    struct schema_limit min_size; /* of a string, list or object */
    struct schema_limit max_size;
    struct schema_nodes all_of;
    struct schema_nodes any_of;
    struct schema_nodes one_of;
    const struct schema_node *not_of;
    const struct schema_rules *rules; /* NULL: none */
    bool has_rules_below;             /* or here */
    bool has_default_below;
    bool has_list_below;     /* sets or list maps, here or below */
    bool has_embedded_below; /* or here */
};

struct schema {
    struct arena *arena;
    json_t *source;
    VEC(struct pattern *) patterns;
    VEC(struct cel_rule *) rules; /* also NULL */
    const struct schema_node *root;
};

/* The property of a name; NULL: none. */
const struct schema_node *schema_property(const struct schema_node *n, const char *name);

/* The node of the member `name` of an object: the property, or the schema of additional properties.
 * NULL: none. */
const struct schema_node *schema_member(const struct schema_node *n, const char *name);

/* Is it apiVersion, kind or metadata, which an embedded object has without its schema? */
bool schema_is_meta(const char *name);

/* schema_check.c: the rules of one node that Kubernetes has, besides those of its types */
enum schema_level {
    SCHEMA_ROOT,
    SCHEMA_FIELD,
    SCHEMA_ITEM,
    SCHEMA_NESTED,      /* below allOf, anyOf, oneOf, not: only values are restricted */
    SCHEMA_NESTED_TYPED /* of an anyOf of integer and string, which alone may name types */
};
void schema_check_node(const json_t *source, enum schema_level level, const struct path *at,
                       struct causes *causes);

/* schema_format.c: the check of a format; NULL: it is not checked */
schema_format_fn schema_format_find(const char *format);

/* schema_shape.c */
size_t schema_prune_node(const struct schema_node *n, json_t *value, const struct path *at,
                         json_t *unknown);
void schema_default_node(const struct schema_node *n, json_t *value);

/* schema_validate.c: adds a fault of a value; `is_blocking` says that rules cannot be asked. */
struct schema_check {
    struct causes *causes; /* NULL: only count */
    size_t n_faults;
    size_t n_good; /* checks that held: the alternative with most of them tells its faults */
    bool is_blocked;
    int64_t steps; /* left */
};
void schema_check_value(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *value, const json_t *before);

/* The item of the old list that is the same place as item `i`; NULL: none. */
const json_t *schema_item_before(struct schema_check *c, const struct schema_node *n,
                                 const json_t *item, const json_t *before, size_t i);

/* schema_rules.c; NULL: the node has no rules. */
const struct schema_rules *schema_rules_new(struct schema *s, const struct schema_node *n,
                                            const json_t *source, const struct path *at,
                                            struct causes *causes);
void schema_rules_done(struct schema *s);
void schema_check_rules(struct schema_check *c, const struct schema *s, const json_t *object,
                        const json_t *before);

/* schema_lists.c */
void schema_check_lists(struct schema_check *c, const struct schema *s, const json_t *object,
                        const json_t *before);
void schema_check_embedded(struct schema_check *c, const struct schema *s, const json_t *object);
