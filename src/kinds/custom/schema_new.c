/*
 * schema_new.c - the value of openAPIV3Schema to nodes
 *
 * A node of the document becomes one node here; nothing refers to another place of the document,
 * so the nodes are a tree, as deep and as large as the document.
 */

#include "base/mem.h"
#include "kinds/custom/schema_private.h"

struct maker {
    struct schema *s;
    struct causes *causes;
    size_t n_nodes;
    unsigned depth;
    bool is_over; /* a bound was passed: a cause says so, and the rest is not read */
};

/* Recursive: schemas hold schemas. The depth is capped. */
static const struct schema_node *make_node(struct maker *m, const json_t *source,
                                           enum schema_level level, const struct path *at);

static int compare_properties(const void *a, const void *b)
{
    const struct schema_property *x = a;
    const struct schema_property *y = b;

    return strcmp(x->name, y->name);
}

const struct schema_node *schema_property(const struct schema_node *n, const char *name)
{
    const struct schema_property key = {.name = name};
    const struct schema_property *found =
        n->n_properties > 0
            ? bsearch(&key, n->properties, n->n_properties, sizeof(key), compare_properties)
            : NULL;

    return found ? found->node : NULL;
}

const struct schema_node *schema_member(const struct schema_node *n, const char *name)
{
    const struct schema_node *property = schema_property(n, name);

    return property ? property : n->additional;
}

bool schema_is_meta(const char *name)
{
    return text_equal(name, "apiVersion") || text_equal(name, "kind") ||
           text_equal(name, "metadata");
}

static enum schema_type type_of(const char *name)
{
    static const char *const names[] = {
        [SCHEMA_OBJECT] = "object",   [SCHEMA_ARRAY] = "array",   [SCHEMA_STRING] = "string",
        [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number", [SCHEMA_BOOLEAN] = "boolean",
    };

    for (size_t i = SCHEMA_OBJECT; i < COUNT(names); i++)
        if (text_equal(names[i], name))
            return (enum schema_type)i;
    return SCHEMA_ANY;
}

/* The facts of a node that its parent has to know. */
static void note_below(struct schema_node *n, const struct schema_node *below)
{
    if (!below)
        return;
    n->has_rules_below |= below->has_rules_below;
    n->has_default_below |= below->has_default_below || below->fallback;
    n->has_list_below |= below->has_list_below;
    n->has_embedded_below |= below->has_embedded_below;
}

static void read_properties(struct maker *m, struct schema_node *n, json_t *properties,
                            enum schema_level level, const struct path *at)
{
    const struct path *here = PATH(at, "properties");
    struct schema_property *list =
        arena_alloc(m->s->arena, (json_object_size(properties) + 1) * sizeof(*list));
    const char *name;
    json_t *source;

    json_object_foreach (properties, name, source) {
        const struct schema_node *property = make_node(m, source, level, PATH_KEY(here, name));

        if (!property)
            continue;
        note_below(n, property);
        list[n->n_properties++] = (struct schema_property){name, property};
    }
    if (n->n_properties > 1)
        qsort(list, n->n_properties, sizeof(*list), compare_properties);
    n->properties = list;
}

/* Is it [{type: integer}, {type: string}], the way to write int-or-string? */
static bool is_int_or_string(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);
    const json_t *second = json_array_get(list, 1);

    return json_array_size(list) == 2 && json_object_size(first) == 1 &&
           json_object_size(second) == 1 && text_equal(json_text(first, "type"), "integer") &&
           text_equal(json_text(second, "type"), "string");
}

static void read_nested(struct maker *m, const json_t *source, const char *key,
                        const struct path *at, struct schema_nodes *ret)
{
    const json_t *list = json_object_get(source, key);
    const struct path *here = PATH(at, key);
    enum schema_level level = is_int_or_string(list) ? SCHEMA_NESTED_TYPED : SCHEMA_NESTED;

    ret->at = arena_alloc(m->s->arena, (json_array_size(list) + 1) * sizeof(*ret->at));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const struct schema_node *n =
            make_node(m, json_array_get(list, i), level, PATH_INDEX(here, i));

        if (n)
            ret->at[ret->n++] = n;
    }
}

static struct schema_limit read_limit(const json_t *source, const char *key, const char *exclusive)
{
    const json_t *value = json_object_get(source, key);

    return (struct schema_limit){.is_set = json_is_number(value),
                                 .is_exclusive = exclusive && json_bool(source, exclusive, false),
                                 .value = json_number_value(value),
                                 .text = value};
}

static void read_limits(struct schema_node *n, const json_t *source)
{
    const char *least = n->type == SCHEMA_ARRAY    ? "minItems"
                        : n->type == SCHEMA_OBJECT ? "minProperties"
                                                   : "minLength";
    const char *most = n->type == SCHEMA_ARRAY    ? "maxItems"
                       : n->type == SCHEMA_OBJECT ? "maxProperties"
                                                  : "maxLength";

    n->minimum = read_limit(source, "minimum", "exclusiveMinimum");
    n->maximum = read_limit(source, "maximum", "exclusiveMaximum");
    n->multiple_of = read_limit(source, "multipleOf", NULL);
    n->min_size = read_limit(source, least, NULL);
    n->max_size = read_limit(source, most, NULL);
}

static void read_pattern(struct maker *m, struct schema_node *n, const json_t *source,
                         const struct path *at)
{
    const char *text = json_text_filled(source, "pattern");
    struct pattern *p = NULL;
    struct err *e;

    if (!text)
        return;
    e = pattern_parse(str_of(text), &p);
    if (e) {
        AUTO(err_freep) struct err *mine = e;
        AUTO_FREE char *detail =
            mem_format("must be a valid regular expression, but isn't: %s", err_message(mine));

        cause_invalid(m->causes, PATH(at, "pattern"), text, detail);
        return;
    }
    vec_add(&m->s->patterns, p);
    n->pattern = p;
    n->pattern_text = text;
}

/* A nested schema has no type: the limits for sizes are told by their names. */
static void read_nested_type(struct schema_node *n, const json_t *source)
{
    if (n->type != SCHEMA_ANY)
        return;
    if (json_object_get(source, "minItems") || json_object_get(source, "maxItems"))
        n->type = SCHEMA_ARRAY;
    else if (json_object_get(source, "minProperties") || json_object_get(source, "maxProperties"))
        n->type = SCHEMA_OBJECT;
    read_limits(n, source);
    n->type = SCHEMA_ANY;
}

static void read_values(struct maker *m, struct schema_node *n, const json_t *source,
                        const struct path *at)
{
    const json_t *values = json_object_get(source, "enum");
    const json_t *required = json_object_get(source, "required");

    n->is_nullable = json_bool(source, "nullable", false);
    n->values = json_array_size(values) > 0 ? values : NULL;
    n->required = json_array_size(required) > 0 ? required : NULL;
    n->fallback = json_object_get(source, "default");
    if (json_is_null(n->fallback) && !n->is_nullable)
        n->fallback = NULL;
    n->format = json_text_filled(source, "format");
    if (n->format && (n->type == SCHEMA_STRING || n->type == SCHEMA_ANY))
        n->format_check = schema_format_find(n->format);
    read_pattern(m, n, source, at);
    read_limits(n, source);
    read_nested_type(n, source);
}

static void read_list(struct schema_node *n, const json_t *source)
{
    const char *type = json_text(source, "x-kubernetes-list-type");

    n->map_keys = json_object_get(source, "x-kubernetes-list-map-keys");
    n->list = text_equal(type, "set")   ? SCHEMA_LIST_SET
              : text_equal(type, "map") ? SCHEMA_LIST_MAP
                                        : SCHEMA_LIST_ATOMIC;
    n->has_list_below |= n->list != SCHEMA_LIST_ATOMIC;
}

static void read_children(struct maker *m, struct schema_node *n, const json_t *source,
                          enum schema_level level, const struct path *at)
{
    bool is_nested = level == SCHEMA_NESTED || level == SCHEMA_NESTED_TYPED;
    json_t *additional = json_object_get(source, "additionalProperties");
    json_t *items = json_object_get(source, "items");

    read_properties(m, n, json_object_get(source, "properties"),
                    is_nested ? SCHEMA_NESTED : SCHEMA_FIELD, at);
    n->has_additional = json_is_object(additional) || json_is_true(additional);
    if (json_is_object(additional))
        n->additional = make_node(m, additional, is_nested ? SCHEMA_NESTED : SCHEMA_FIELD,
                                  PATH(at, "additionalProperties"));
    if (json_is_object(items))
        n->items = make_node(m, items, is_nested ? SCHEMA_NESTED : SCHEMA_ITEM, PATH(at, "items"));
    note_below(n, n->additional);
    note_below(n, n->items);
    read_nested(m, source, "allOf", at, &n->all_of);
    read_nested(m, source, "anyOf", at, &n->any_of);
    read_nested(m, source, "oneOf", at, &n->one_of);
    if (json_is_object(json_object_get(source, "not")))
        n->not_of = make_node(m, json_object_get(source, "not"), SCHEMA_NESTED, PATH(at, "not"));
}

static bool is_in_bounds(struct maker *m, const struct path *at)
{
    m->n_nodes++;
    if (m->is_over)
        return false;
    if (m->n_nodes <= SCHEMA_NODES_MAX && m->depth < SCHEMA_DEPTH_MAX)
        return true;
    m->is_over = true;
    cause_forbidden(m->causes, at,
                    m->depth >= SCHEMA_DEPTH_MAX ? "the schema is deeper than 100 levels"
                                                 : "the schema has more than 100000 nodes");
    return false;
}

static const struct schema_node *make_node(struct maker *m, const json_t *source,
                                           enum schema_level level, const struct path *at)
{
    struct schema_node *n;

    if (!is_in_bounds(m, at))
        return NULL;
    if (!json_is_object(source)) {
        cause_invalid_json(m->causes, at, source, "must be a schema object");
        return NULL;
    }
    schema_check_node(source, level, at, m->causes);
    n = arena_alloc(m->s->arena, sizeof(*n));
    n->type = type_of(json_text(source, "type"));
    n->is_int_or_string = json_bool(source, "x-kubernetes-int-or-string", false);
    n->keeps_unknown = json_bool(source, "x-kubernetes-preserve-unknown-fields", false);
    n->is_embedded = json_bool(source, "x-kubernetes-embedded-resource", false);
    n->has_embedded_below = n->is_embedded;
    n->is_atomic_map = text_equal(json_text(source, "x-kubernetes-map-type"), "atomic");
    m->depth++;
    read_values(m, n, source, at);
    read_list(n, source);
    read_children(m, n, source, level, at);
    n->is_root = level == SCHEMA_ROOT;
    if (level != SCHEMA_NESTED && level != SCHEMA_NESTED_TYPED)
        n->rules = schema_rules_new(m->s, n, source, at, m->causes);
    n->has_rules_below |= n->rules != NULL;
    m->depth--;
    return n;
}

/* ---- defaults ---- */

/* A default must be an object that its own schema would take. */
static void check_default(struct maker *m, const struct schema_node *n, const struct path *at)
{
    const struct path *here = PATH(at, "default");
    struct schema_check check = {.steps = INT64_C(1) << 22, .causes = m->causes};
    AUTO(json_freep) json_t *value = json_deep_copy(n->fallback);
    AUTO(json_freep) json_t *unknown = json_array();

    if (schema_prune_node(n, value, NULL, unknown) > 0)
        cause_invalid_json(m->causes, here, n->fallback, "must not have unknown fields");
    schema_default_node(n, value);
    schema_check_value(&check, n, here, value, NULL);
}

/* Recursive, as the nodes. */
static void check_defaults(struct maker *m, const struct schema_node *n, const struct path *at)
{
    const struct path *properties = PATH(at, "properties");

    if (n->fallback)
        check_default(m, n, at);
    if (!n->has_default_below)
        return;
    for (size_t i = 0; i < n->n_properties; i++)
        check_defaults(m, n->properties[i].node, PATH_KEY(properties, n->properties[i].name));
    if (n->additional)
        check_defaults(m, n->additional, PATH(at, "additionalProperties"));
    if (n->items)
        check_defaults(m, n->items, PATH(at, "items"));
}

struct schema *schema_new(json_t *source, const struct path *at, struct causes *causes)
{
    struct schema *s = mem_alloc(sizeof(*s));
    struct maker m = {.s = s, .causes = causes};
    size_t before = causes->n;

    s->arena = arena_new();
    s->source = json_incref(source);
    s->root = make_node(&m, source, SCHEMA_ROOT, at);
    if (s->root && causes->n == before)
        check_defaults(&m, s->root, at);
    if (s->root && causes->n == before)
        return s;
    schema_free(s);
    return NULL;
}

void schema_free(struct schema *s)
{
    if (!s)
        return;
    VEC_EACH (&s->patterns, p)
        pattern_free(*p);
    vec_done(&s->patterns);
    schema_rules_done(s);
    arena_free(s->arena);
    json_decref(s->source);
    free(s);
}

const json_t *schema_source(const struct schema *s)
{
    return s->source;
}

const char *schema_type_at(const struct schema *s, const char *path)
{
    static const char *const names[] = {
        [SCHEMA_ANY] = "",           [SCHEMA_OBJECT] = "object",   [SCHEMA_ARRAY] = "array",
        [SCHEMA_STRING] = "string",  [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number",
        [SCHEMA_BOOLEAN] = "boolean"};
    const struct schema_node *n = s->root;
    struct str rest = str_of(path);

    while (n && rest.at) {
        struct str part = str_cut(&rest, '.');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);

        n = schema_property(n, name);
    }
    return n ? names[n->type] : NULL;
}
