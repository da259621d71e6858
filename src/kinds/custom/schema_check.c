/*
 * schema_check.c - the rules of one node of a structural schema, in Kubernetes' words
 *
 * As ValidateStructural and ValidateCustomResourceDefinitionOpenAPISchema of
 * apiextensions-apiserver have them. The rules between a node and its children are here, too; the
 * walk is schema_new.c's.
 */

#include "base/mem.h"
#include "kinds/custom/schema_private.h"

struct node {
    const json_t *source;
    enum schema_level level;
    const struct path *at;
    struct causes *causes;
    const char *type; /* "" if absent */
};

static bool has(const struct node *n, const char *key)
{
    const json_t *value = json_object_get(n->source, key);

    return value && !json_is_null(value);
}

static bool is_on(const struct node *n, const char *key)
{
    return json_bool(n->source, key, false);
}

static void refuse(const struct node *n, const char *key, const char *detail)
{
    cause_forbidden(n->causes, PATH(n->at, key), detail);
}

static void invalid(const struct node *n, const char *key, const char *detail)
{
    cause_invalid_json(n->causes, PATH(n->at, key), json_object_get(n->source, key), detail);
}

/* ---- all nodes ---- */

static const struct {
    const char *key;
    const char *detail;
} unsupported[] = {
    {"id", "id is not supported"},
    {"additionalItems", "additionalItems is not supported"},
    {"patternProperties", "patternProperties is not supported"},
    {"definitions", "definitions is not supported"},
    {"dependencies", "dependencies is not supported"},
    {"$ref", "$ref is not supported"},
};

static void check_type(const struct node *n)
{
    static const char *const types[] = {"array",  "boolean", "integer", "number",
                                        "object", "string",  NULL};
    bool is_known = *n->type == '\0';

    if (text_equal(n->type, "null")) {
        refuse(n, "type", "type cannot be set to null, use nullable as an alternative");
        return;
    }
    for (size_t i = 0; types[i]; i++)
        is_known |= text_equal(types[i], n->type);
    if (!is_known)
        cause_unsupported(n->causes, PATH(n->at, "type"), n->type, types);
}

/* Members whose JSON type Go's decoder would refuse. */
static void check_forms(const struct node *n)
{
    static const struct {
        const char *key;
        json_type type;
        const char *detail;
    } forms[] = {
        {"properties", JSON_OBJECT, "must be an object of schemas"},
        {"enum", JSON_ARRAY, "must be a list"},
        {"required", JSON_ARRAY, "must be a list of names"},
        {"allOf", JSON_ARRAY, "must be a list of schemas"},
        {"anyOf", JSON_ARRAY, "must be a list of schemas"},
        {"oneOf", JSON_ARRAY, "must be a list of schemas"},
        {"not", JSON_OBJECT, "must be a schema"},
        {"type", JSON_STRING, "must be a string"},
        {"pattern", JSON_STRING, "must be a string"},
        {"format", JSON_STRING, "must be a string"},
        {"x-kubernetes-list-map-keys", JSON_ARRAY, "must be a list of names"},
        {"x-kubernetes-validations", JSON_ARRAY, "must be a list of rules"},
    };

    for (size_t i = 0; i < COUNT(forms); i++)
        if (has(n, forms[i].key) &&
            json_typeof(json_object_get(n->source, forms[i].key)) != forms[i].type)
            invalid(n, forms[i].key, forms[i].detail);
}

static void check_additional(const struct node *n)
{
    const json_t *additional = json_object_get(n->source, "additionalProperties");
    bool has_properties = json_object_size(json_object_get(n->source, "properties")) > 0;

    if (!additional || json_is_null(additional))
        return;
    if (has_properties && !json_is_true(additional))
        refuse(n, "additionalProperties",
               "additionalProperties and properties are mutual exclusive");
    if (n->level == SCHEMA_ROOT)
        refuse(n, "additionalProperties", "must not be used at the root");
    if (is_on(n, "x-kubernetes-embedded-resource"))
        refuse(n, "additionalProperties",
               "must not be used if x-kubernetes-embedded-resource is set");
}

static void check_everywhere(const struct node *n)
{
    const json_t *keeps = json_object_get(n->source, "x-kubernetes-preserve-unknown-fields");

    check_forms(n);
    check_type(n);
    for (size_t i = 0; i < COUNT(unsupported); i++)
        if (has(n, unsupported[i].key))
            refuse(n, unsupported[i].key, unsupported[i].detail);
    if (is_on(n, "uniqueItems"))
        refuse(n, "uniqueItems",
               "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (json_is_array(json_object_get(n->source, "items")))
        refuse(n, "items", "items must be a schema object and not an array");
    if (json_is_false(keeps))
        cause_invalid_json(n->causes, PATH(n->at, "x-kubernetes-preserve-unknown-fields"), keeps,
                           "must be true or undefined");
}

/* ---- structural nodes ---- */

static void check_has_type(const struct node *n)
{
    bool is_embedded = is_on(n, "x-kubernetes-embedded-resource");

    if (is_embedded && *n->type && !text_equal(n->type, "object"))
        invalid(n, "type", "must be object if x-kubernetes-embedded-resource is true");
    else if (is_embedded && !*n->type)
        cause_required(n->causes, PATH(n->at, "type"),
                       "must be object if x-kubernetes-embedded-resource is true");
    else if (!*n->type && !is_on(n, "x-kubernetes-int-or-string") &&
             !is_on(n, "x-kubernetes-preserve-unknown-fields"))
        cause_required(n->causes, PATH(n->at, "type"),
                       n->level == SCHEMA_ROOT   ? "must not be empty at the root"
                       : n->level == SCHEMA_ITEM ? "must not be empty for specified array items"
                                                 : "must not be empty for specified object fields");
    if (n->level == SCHEMA_ROOT && *n->type && !text_equal(n->type, "object"))
        invalid(n, "type", "must be object at the root");
    if (n->level == SCHEMA_ROOT && is_on(n, "nullable"))
        refuse(n, "nullable", "nullable cannot be true at the root");
}

/* The schema of metadata may restrict name and generateName only. */
static void check_metadata(const struct node *n)
{
    const struct path *properties = PATH(n->at, "properties");
    const json_t *metadata = json_at(n->source, "properties", "metadata", NULL);
    const json_t *fields = json_object_get(metadata, "properties");
    size_t known = 0;
    const char *key;
    json_t *value;

    if (!metadata)
        return;
    if (!text_equal(json_text(metadata, "type"), "object"))
        cause_invalid(n->causes, PATH(PATH_KEY(properties, "metadata"), "type"),
                      json_text(metadata, "type"), "must be object");
    if (n->level != SCHEMA_ROOT)
        return;
    known = (size_t)(json_object_get(fields, "name") != NULL) +
            (size_t)(json_object_get(fields, "generateName") != NULL);
    json_object_foreach ((json_t *)(uintptr_t)metadata, key, value) {
        if (text_equal(key, "type") || text_equal(key, "description") ||
            (text_equal(key, "properties") && known == json_object_size(fields)))
            continue;
        cause_forbidden(n->causes, PATH_KEY(properties, "metadata"),
                        "must not specify anything other than name and generateName, but metadata "
                        "is implicitly specified");
        return;
    }
}

static void check_type_meta(const struct node *n)
{
    static const char *const names[] = {"kind", "apiVersion"};
    const struct path *properties = PATH(n->at, "properties");

    for (size_t i = 0; i < COUNT(names); i++) {
        const json_t *property = json_at(n->source, "properties", names[i], NULL);

        if (property && !text_equal(json_text(property, "type"), "string"))
            cause_invalid(n->causes, PATH(PATH_KEY(properties, names[i]), "type"),
                          json_text(property, "type"), "must be string");
    }
}

static void check_embedded(const struct node *n)
{
    bool is_embedded = is_on(n, "x-kubernetes-embedded-resource");

    if (is_on(n, "x-kubernetes-int-or-string")) {
        if (is_on(n, "x-kubernetes-preserve-unknown-fields"))
            invalid(n, "x-kubernetes-preserve-unknown-fields",
                    "must be false if x-kubernetes-int-or-string is true");
        if (is_embedded)
            invalid(n, "x-kubernetes-embedded-resource",
                    "must be false if x-kubernetes-int-or-string is true");
    }
    if (is_embedded && !is_on(n, "x-kubernetes-preserve-unknown-fields") &&
        json_object_size(json_object_get(n->source, "properties")) == 0)
        cause_required(n->causes, PATH(n->at, "properties"),
                       "must not be empty if x-kubernetes-embedded-resource is true without "
                       "x-kubernetes-preserve-unknown-fields");
    if (n->level != SCHEMA_ROOT && !is_embedded)
        return;
    check_type_meta(n);
    check_metadata(n);
}

/* ---- lists and maps ---- */

static void check_map_keys(const struct node *n)
{
    const json_t *items = json_object_get(n->source, "items");
    const json_t *keys = json_object_get(n->source, "x-kubernetes-list-map-keys");
    const struct path *at = PATH(n->at, "x-kubernetes-list-map-keys");
    const struct path *below = PATH(n->at, "items");
    const struct path *properties = PATH(below, "properties");

    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const json_t *property = json_at(items, "properties", key ? key : "", NULL);
        const char *type = json_text(property, "type");
        const struct path *there = PATH_KEY(properties, key ? key : "");

        if (!property) {
            cause_invalid_json(n->causes, at, keys, "entries must all be names of item properties");
            continue;
        }
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_array_get(keys, j), json_array_get(keys, i)))
                cause_invalid_json(n->causes, at, keys, "must not contain duplicate entries");
        if (text_equal(type, "array") || text_equal(type, "object"))
            cause_invalid(n->causes, PATH(there, "type"), type,
                          "must be a scalar type if parent array's x-kubernetes-list-type is map");
        if (!json_has_text(json_object_get(items, "required"), key) &&
            !json_object_get(property, "default"))
            cause_required(n->causes, PATH(there, "default"),
                           "this property is in x-kubernetes-list-map-keys, so it must have a "
                           "default or be a required property");
        if (json_bool(property, "nullable", false))
            cause_forbidden(
                n->causes, PATH(there, "nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
}

static void check_list_map(const struct node *n)
{
    const json_t *items = json_object_get(n->source, "items");
    const json_t *keys = json_object_get(n->source, "x-kubernetes-list-map-keys");

    if (json_array_size(keys) == 0)
        cause_required(n->causes, PATH(n->at, "x-kubernetes-list-map-keys"),
                       "must not be empty if x-kubernetes-list-type is map");
    if (!items)
        cause_required(n->causes, PATH(n->at, "items"),
                       "must have a schema if x-kubernetes-list-type is map");
    else if (!text_equal(json_text(items, "type"), "object"))
        cause_invalid(n->causes, PATH(PATH(n->at, "items"), "type"), json_text(items, "type"),
                      "must be object if parent array's x-kubernetes-list-type is map");
    else
        check_map_keys(n);
}

static void check_set(const struct node *n)
{
    const json_t *items = json_object_get(n->source, "items");
    const char *type = json_text(items, "type");
    const struct path *at = PATH(n->at, "items");

    if (text_equal(type, "array") && json_text(items, "x-kubernetes-list-type") &&
        !text_equal(json_text(items, "x-kubernetes-list-type"), "atomic"))
        cause_invalid(n->causes, PATH(at, "x-kubernetes-list-type"),
                      json_text(items, "x-kubernetes-list-type"),
                      "must be atomic as item of a list with x-kubernetes-list-type=set");
    if (text_equal(type, "object") &&
        !text_equal(json_text(items, "x-kubernetes-map-type"), "atomic"))
        cause_invalid_json(n->causes, PATH(at, "x-kubernetes-map-type"), json_null(),
                           "must be atomic as item of a list with x-kubernetes-list-type=set");
}

static void check_list_type(const struct node *n, const char *list)
{
    static const char *const types[] = {"atomic", "set", "map", NULL};
    bool is_keyed = text_equal(list, "set") || text_equal(list, "map");

    if (!is_keyed && !text_equal(list, "atomic"))
        cause_unsupported(n->causes, PATH(n->at, "x-kubernetes-list-type"), list, types);
    if (!*n->type)
        cause_required(n->causes, PATH(n->at, "type"),
                       "must be array if x-kubernetes-list-type is specified");
    else if (!text_equal(n->type, "array"))
        invalid(n, "type", "must be array if x-kubernetes-list-type is specified");
    else if (text_equal(list, "set"))
        check_set(n);
    if (text_equal(list, "map"))
        check_list_map(n);
    if (is_keyed && json_bool(json_object_get(n->source, "items"), "nullable", false)) {
        AUTO_FREE char *detail =
            mem_format("cannot be nullable when x-kubernetes-list-type is %s", list);

        cause_forbidden(n->causes, PATH(PATH(n->at, "items"), "nullable"), detail);
    }
}

static void check_lists_and_maps(const struct node *n)
{
    static const char *const types[] = {"atomic", "granular", NULL};
    const char *list = json_text(n->source, "x-kubernetes-list-type");
    const char *map = json_text(n->source, "x-kubernetes-map-type");

    if (text_equal(n->type, "array") && !has(n, "items"))
        cause_required(n->causes, PATH(n->at, "items"), "must be specified");
    if (map && !*n->type)
        cause_required(n->causes, PATH(n->at, "type"),
                       "must be object if x-kubernetes-map-type is specified");
    else if (map && !text_equal(n->type, "object"))
        invalid(n, "type", "must be object if x-kubernetes-map-type is specified");
    if (map && !text_equal(map, "atomic") && !text_equal(map, "granular"))
        cause_unsupported(n->causes, PATH(n->at, "x-kubernetes-map-type"), map, types);
    if (list)
        check_list_type(n, list);
    if (json_array_size(json_object_get(n->source, "x-kubernetes-list-map-keys")) == 0 ||
        text_equal(list, "map"))
        return;
    if (list)
        invalid(n, "x-kubernetes-list-type",
                "must be map if x-kubernetes-list-map-keys is non-empty");
    else
        cause_required(n->causes, PATH(n->at, "x-kubernetes-list-type"),
                       "must be map if x-kubernetes-list-map-keys is non-empty");
}

/* ---- nested nodes ---- */

static void check_nested(const struct node *n)
{
    static const struct {
        const char *key;
        const char *detail;
    } forbidden[] = {
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    };
    static const char *const switches[] = {"nullable", "x-kubernetes-preserve-unknown-fields",
                                           "x-kubernetes-embedded-resource",
                                           "x-kubernetes-int-or-string"};

    if (*n->type && n->level != SCHEMA_NESTED_TYPED)
        refuse(n, "type", "must be empty to be structural");
    for (size_t i = 0; i < COUNT(forbidden); i++)
        if (has(n, forbidden[i].key))
            refuse(n, forbidden[i].key, forbidden[i].detail);
    for (size_t i = 0; i < COUNT(switches); i++)
        if (is_on(n, switches[i]))
            refuse(n, switches[i], "must be false to be structural");
    if (json_at(n->source, "properties", "metadata", NULL))
        cause_forbidden(n->causes, PATH_KEY(PATH(n->at, "properties"), "metadata"),
                        "must not be specified in a nested context");
}

/* ---- completeness: what a nested schema of the root restricts, the structure must have ---- */

struct schema_place {
    const json_t *structure;
    const struct path *at;
};

/* Recursive, as the document, whose depth is capped. */
static void check_complete(const struct node *n, struct schema_place s, const json_t *nested,
                           const struct path *at);

static void check_complete_lists(const struct node *n, struct schema_place s, const json_t *values,
                                 const struct path *at)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};

    for (size_t i = 0; i < COUNT(lists); i++) {
        const json_t *list = json_object_get(values, lists[i]);
        const struct path *here = PATH(at, lists[i]);

        for (size_t j = 0; j < json_array_size(list); j++)
            check_complete(n, s, json_array_get(list, j), PATH_INDEX(here, j));
    }
    if (json_object_get(values, "not"))
        check_complete(n, s, json_object_get(values, "not"), PATH(at, "not"));
}

static void is_missing(const struct node *n, const struct path *at, const struct path *nested)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *detail = NULL;

    path_add(&path, nested);
    detail = mem_format("because it is defined in %s", path.at);
    cause_required(n->causes, at, detail);
}

static void check_complete(const struct node *n, struct schema_place s, const json_t *nested,
                           const struct path *at)
{
    const struct path *here = PATH(s.at, "properties");
    const struct path *there = PATH(at, "properties");
    json_t *items = json_object_get(nested, "items");
    const char *name;
    json_t *value;

    if (!s.structure) {
        is_missing(n, s.at, at);
        return;
    }
    check_complete_lists(n, s, nested, at);
    json_object_foreach (json_object_get(nested, "properties"), name, value)
        check_complete(n,
                       (struct schema_place){json_at(s.structure, "properties", name, NULL),
                                             PATH_KEY(here, name)},
                       value, PATH_KEY(there, name));
    if (items)
        check_complete(
            n, (struct schema_place){json_object_get(s.structure, "items"), PATH(s.at, "items")},
            items, PATH(at, "items"));
}

void schema_check_node(const json_t *source, enum schema_level level, const struct path *at,
                       struct causes *causes)
{
    const char *type = json_text(source, "type");
    const struct node n = {
        .source = source, .level = level, .at = at, .causes = causes, .type = type ? type : ""};

    check_everywhere(&n);
    if (level == SCHEMA_NESTED || level == SCHEMA_NESTED_TYPED) {
        check_nested(&n);
        return;
    }
    check_additional(&n);
    check_has_type(&n);
    check_embedded(&n);
    check_lists_and_maps(&n);
    if (level == SCHEMA_ROOT)
        check_complete_lists(&n, (struct schema_place){source, at}, source, at);
}
