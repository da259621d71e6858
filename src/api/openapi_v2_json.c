/*
 * openapi_v2_json.c - the OpenAPI v2 document in JSON, made from the v3 documents of all groups
 *
 * Version 2 has no oneOf, anyOf, not and nullable: they are left out, and what may be null has no
 * type. A parameter has its type itself, a reply its schema.
 */

#include "api/handlers.h"
#include "api/openapi_v2.h"

#define V3_REF "#/components/schemas/"
#define V2_REF "#/definitions/"

static void convert_schema(json_t *schema);

static void convert_schemas(json_t *named)
{
    const char *key;
    json_t *value;

    json_object_foreach (named, key, value)
        convert_schema(value);
}

/* Schemas of definitions have at most SCHEMA_DEPTH_MAX levels, ours fewer. */
static void convert_schema(json_t *schema)
{
    static const char *const words[] = {"oneOf", "anyOf", "not", "nullable"};
    const char *ref = json_text(schema, "$ref");
    json_t *part;
    size_t i;

    if (!json_is_object(schema))
        return;
    if (ref && text_starts_with(ref, V3_REF))
        json_put(schema, "$ref", json_sprintf(V2_REF "%s", ref + strlen(V3_REF)));
    if (json_bool(schema, "nullable", false))
        (void)json_object_del(schema, "type");
    for (size_t k = 0; k < COUNT(words); k++)
        (void)json_object_del(schema, words[k]);
    convert_schemas(json_object_get(schema, "properties"));
    convert_schema(json_object_get(schema, "items"));
    convert_schema(json_object_get(schema, "additionalProperties")); /* or a boolean */
    json_array_foreach (json_object_get(schema, "allOf"), i, part)
        convert_schema(part);
}

static void convert_parameters(json_t *of)
{
    json_t *parameter;
    size_t i;

    json_array_foreach (json_object_get(of, "parameters"), i, parameter) {
        json_put_text(parameter, "type", json_text_at(parameter, "schema", "type", NULL));
        (void)json_object_del(parameter, "schema");
    }
}

static void convert_path(json_t *item)
{
    const char *method;
    json_t *operation;

    convert_parameters(item);
    json_object_foreach (item, method, operation) {
        json_t *reply = json_at(operation, "responses", "200", NULL);
        json_t *schema = json_at(reply, "content", "application/json", "schema", NULL);

        convert_parameters(operation);
        convert_schema(schema);
        if (schema)
            json_put(reply, "schema", json_incref(schema));
        (void)json_object_del(reply, "content");
    }
}

static void add_version(json_t *document, const struct kind *k)
{
    AUTO(json_freep) json_t *v3 = openapi_document(k->group, k->version);
    json_t *schemas = json_at(v3, "components", "schemas", NULL);
    json_t *paths = json_object_get(v3, "paths");
    const char *path;
    json_t *item;

    convert_schemas(schemas);
    json_object_foreach (paths, path, item)
        convert_path(item);
    (void)json_object_update(json_object_at(document, "definitions"), schemas);
    (void)json_object_update(json_object_at(document, "paths"), paths);
    if (!json_object_get(document, "info"))
        json_put(document, "info", json_incref(json_object_get(v3, "info")));
}

static bool is_first_of_version(size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (text_equal(kinds_served(j)->api_version, kinds_served(i)->api_version))
            return false;
    return true;
}

json_t *openapi_v2_json(void)
{
    json_t *document = json_object();

    json_put_text(document, "swagger", "2.0");
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (is_first_of_version(i))
            add_version(document, kinds_served(i));
    return document;
}
