/*
 * openapi.c - OpenAPI v3 documents made from the schema tables
 *
 * kubectl reads x-kubernetes-group-version-kind of paths (an object), with a query parameter
 * fieldValidation, and x-kubernetes-group-version-kind of component schemas (a list). `kubectl
 * explain` prints the schemas' descriptions.
 */

#include <inttypes.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/version.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/kind.h"

/* Recursive: objects hold objects. The tables bound the depth. */
static json_t *format_field(const struct field *f);

static json_t *format_gvk(const struct kind *k)
{
    json_t *gvk = json_object();

    json_put_text(gvk, "group", k->group);
    json_put_text(gvk, "version", k->version);
    json_put_text(gvk, "kind", k->kind);
    return gvk;
}

static void put_type(json_t *schema, const char *type, const char *format)
{
    json_put_text(schema, "type", type);
    json_put_text(schema, "format", format);
}

static void put_string(json_t *schema, const struct field *f)
{
    put_type(schema, "string", NULL);
    if (!f->values)
        return;
    for (size_t i = 0; f->values[i]; i++)
        (void)json_array_append_new(json_array_at(schema, "enum"), json_string(f->values[i]));
}

static void put_fields(json_t *schema, const struct field *fields)
{
    json_t *properties = json_object_at(schema, "properties");

    for (const struct field *f = fields; f->name; f++) {
        json_put(properties, f->name, format_field(f));
        if (f->is_required)
            (void)json_array_append_new(json_array_at(schema, "required"), json_string(f->name));
    }
}

/* The way in which a server-side apply merges the list. */
static void put_list_type(json_t *schema, const struct field *f)
{
    const struct shape shape = shape_of_field(f);
    const char *keys[SHAPE_KEYS_MAX];
    size_t n;

    if (shape_form(shape) != SHAPE_LIST_MAP) {
        json_put_text(schema, "x-kubernetes-list-type",
                      shape_form(shape) == SHAPE_SET ? "set" : "atomic");
        return;
    }
    json_put_text(schema, "x-kubernetes-list-type", "map");
    n = shape.ops->keys(shape.node, keys);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(json_array_at(schema, "x-kubernetes-list-map-keys"),
                                    json_string(keys[i]));
}

static void put_list(json_t *schema, const struct field *f)
{
    put_type(schema, "array", NULL);
    json_put(schema, "items", format_field(f->item));
    put_list_type(schema, f);
    json_put_text(schema, "x-kubernetes-patch-merge-key", f->merge_key);
    if (f->merge_key || f->is_set_list)
        json_put_text(schema, "x-kubernetes-patch-strategy", "merge");
}

static void put_int(json_t *schema, const struct field *f)
{
    put_type(schema, "integer", "int64");
    if (f->max <= f->min)
        return;
    json_put_int(schema, "minimum", f->min);
    json_put_int(schema, "maximum", f->max);
}

static void put_by_type(json_t *schema, const struct field *f)
{
    switch (f->type) {
    case FIELD_STRING:
        put_string(schema, f);
        break;
    case FIELD_INT:
        put_int(schema, f);
        break;
    case FIELD_BOOL:
        put_type(schema, "boolean", NULL);
        break;
    case FIELD_QUANTITY:
        put_type(schema, "string", "quantity");
        break;
    case FIELD_INT_OR_STRING:
        put_type(schema, "string", "int-or-string");
        break;
    case FIELD_TIME:
        put_type(schema, "string", "date-time");
        break;
    case FIELD_BYTES:
        put_type(schema, "string", "byte");
        break;
    case FIELD_OBJECT:
        put_type(schema, "object", NULL);
        put_fields(schema, f->fields);
        break;
    case FIELD_LIST:
        put_list(schema, f);
        break;
    case FIELD_MAP:
        put_type(schema, "object", NULL);
        json_put(schema, "additionalProperties", format_field(f->item));
        break;
    case FIELD_ANY:
        put_type(schema, "object", NULL);
        json_put_bool(schema, "x-kubernetes-preserve-unknown-fields", true);
        break;
    }
}

static json_t *format_field(const struct field *f)
{
    static const char *const notes[] = {
        [FIELD_SUPPORTED] = "",
        [FIELD_IGNORED] = " Not implemented by mete yet: kept, without an effect.",
        [FIELD_REFUSED] = " Not implemented by mete yet: refused.",
    };
    json_t *schema = json_object();
    AUTO_FREE char *text = mem_format("%s%s", f->doc ? f->doc : "", notes[f->support]);

    json_put_text(schema, "description", text);
    put_by_type(schema, f);
    if (f->fallback)
        json_put(schema, "default", json_loads(f->fallback, JSON_DECODE_ANY, NULL));
    if (f->is_atomic && (f->type == FIELD_OBJECT || f->type == FIELD_MAP))
        json_put_text(schema, "x-kubernetes-map-type", "atomic");
    return schema;
}

/* The schema of a definition, as it was written, with the members that every object has. */
static json_t *format_custom(const struct kind *k)
{
    AUTO(json_freep) json_t *common = json_object();
    json_t *schema =
        k->form ? json_deep_copy(schema_source(custom_form_schema(k->form))) : json_object();
    const char *key;
    json_t *value;

    put_fields(common, k->fields);
    json_object_foreach (json_object_get(common, "properties"), key, value)
        json_put(json_object_at(schema, "properties"), key, json_incref(value));
    put_type(schema, "object", NULL);
    return schema;
}

static json_t *format_kind(const struct kind *k)
{
    json_t *schema = k->is_custom ? format_custom(k) : json_object();

    if (!k->is_custom) {
        json_put_text(schema, "description", k->doc);
        put_type(schema, "object", NULL);
        put_fields(schema, k->fields);
    }
    (void)json_array_append_new(json_array_at(schema, "x-kubernetes-group-version-kind"),
                                format_gvk(k));
    return schema;
}

/* The schema's name: "io.k8s.api.core.v1.Pod", "io.k8s.api.batch.v1.Job", "dev.mete.v1.Gpu",
 * "sh.volcano.scheduling.v1beta1.PodGroup". */
static char *reversed_name(const struct kind *k)
{
    AUTO_FREE char *group = mem_strdup("");
    struct str rest = str_of(k->group);

    while (rest.at) {
        struct str part = str_cut(&rest, '.');
        char *longer = mem_format(STR_FMT "%s%s", STR_ARG(part), *group ? "." : "", group);

        free(group);
        group = longer;
    }
    return mem_format("%s.%s.%s", group, k->version, k->kind);
}

static char *schema_name(const struct kind *k)
{
    struct str rest = str_of(k->group);
    struct str first = str_cut(&rest, '.');

    if (k->is_custom || (rest.at && !text_ends_with(k->group, ".k8s.io")))
        return reversed_name(k);
    if (first.size == 0)
        first = STR("core");
    return mem_format("io.k8s.api." STR_FMT ".%s.%s", STR_ARG(first), k->version, k->kind);
}

static json_t *format_parameter(const char *name, const char *in, const char *text)
{
    json_t *parameter = json_object();

    json_put_text(parameter, "name", name);
    json_put_text(parameter, "in", in);
    json_put_text(parameter, "description", text);
    put_type(json_object_at(parameter, "schema"), "string", NULL);
    if (text_equal(in, "path"))
        json_put_bool(parameter, "required", true);
    return parameter;
}

struct verb {
    const char *method; /* HTTP method */
    const char *action; /* x-kubernetes-action */
    bool is_write;
    bool is_named; /* acts on one object */
};

static const struct verb verbs[] = {
    {"get", "list", false, false},  {"post", "post", true, false},
    {"get", "get", false, true},    {"put", "put", true, true},
    {"patch", "patch", true, true}, {"delete", "delete", false, true},
};

static json_t *format_reply(const struct kind *k, bool is_list)
{
    AUTO_FREE char *name = schema_name(k);
    AUTO_FREE char *ref = mem_format("#/components/schemas/%s", name);
    json_t *reply = json_object();
    json_t *schema = json_object_at(
        json_object_at(json_object_at(reply, "content"), "application/json"), "schema");

    json_put_text(reply, "description", "OK");
    if (is_list)
        put_type(schema, "object", NULL);
    else
        json_put_text(schema, "$ref", ref);
    return reply;
}

static json_t *format_operation(const struct kind *k, const struct verb *v)
{
    json_t *operation = json_object();
    json_t *parameters = json_array();

    json_put(json_object_at(operation, "responses"), "200",
             format_reply(k, text_equal(v->action, "list")));
    if (v->is_write) {
        (void)json_array_append_new(
            parameters,
            format_parameter(
                "fieldValidation", "query",
                "The treatment of unknown fields: Strict refuses, Warn warns, Ignore drops them."));
        (void)json_array_append_new(
            parameters, format_parameter("fieldManager", "query", "The name of the writer."));
        (void)json_array_append_new(parameters,
                                    format_parameter("dryRun", "query", "All: nothing is stored."));
    }
    json_put(operation, "parameters", parameters);
    json_put_text(operation, "x-kubernetes-action", v->action);
    json_put(operation, "x-kubernetes-group-version-kind", format_gvk(k));
    return operation;
}

static void put_path(json_t *paths, const struct kind *k, bool is_namespaced, bool is_named)
{
    AUTO_FREE char *path = mem_format("%s/%s%s/%s%s", *k->group ? "/apis" : "/api", k->api_version,
                                      is_namespaced ? "/namespaces/{namespace}" : "", k->plural,
                                      is_named ? "/{name}" : "");
    json_t *item = json_object();
    json_t *parameters = json_array_at(item, "parameters");

    if (is_namespaced)
        (void)json_array_append_new(parameters,
                                    format_parameter("namespace", "path", "The namespace."));
    if (is_named)
        (void)json_array_append_new(parameters, format_parameter("name", "path", "The name."));
    for (size_t i = 0; i < COUNT(verbs); i++) {
        bool is_read = text_equal(verbs[i].method, "get");

        if (verbs[i].is_named != is_named || (k->is_view && !is_read))
            continue;
        if (k->is_namespaced && !is_namespaced && !is_read)
            continue; /* a path for all namespaces is read-only */
        if (k->is_question && !text_equal(verbs[i].method, "post"))
            continue;
        json_put(item, verbs[i].method, format_operation(k, &verbs[i]));
    }
    json_put(paths, path, item);
}

static json_t *format_info(void)
{
    json_t *info = json_object();

    json_put_text(info, "title", "mete");
    json_put_text(info, "version", METE_KUBERNETES_VERSION);
    return info;
}

json_t *openapi_document(const char *group, const char *version)
{
    json_t *document = json_object();
    json_t *paths = json_object();
    json_t *schemas = json_object();
    size_t n = 0;

    for (size_t i = 0; i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);
        AUTO_FREE char *name = schema_name(k);

        if (!text_equal(k->group, group) || !text_equal(k->version, version))
            continue;
        n++;
        json_put(schemas, name, format_kind(k));
        put_path(paths, k, false, false);
        if (k->is_namespaced)
            put_path(paths, k, true, false);
        if (!k->is_question)
            put_path(paths, k, k->is_namespaced, true);
    }
    json_put_text(document, "openapi", "3.0.0");
    json_put(document, "info", format_info());
    json_put(document, "paths", paths);
    json_put(json_object_at(document, "components"), "schemas", schemas);
    if (n > 0)
        return document;
    json_decref(document);
    return NULL;
}

/* A hash that changes with the document. Documents of definitions are large: their revisions stand
 * for them. */
static uint64_t document_hash(const struct kind *of)
{
    AUTO(json_freep) json_t *document = NULL;
    AUTO_FREE char *text = NULL;
    uint64_t hash = FNV_START;
    bool has_custom = false;

    for (size_t i = kinds_count; i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);
        AUTO_FREE char *state = NULL;

        if (!text_equal(k->api_version, of->api_version))
            continue;
        has_custom = true;
        state = mem_format("%s %" PRId64, k->plural, custom_form_since(k));
        hash = fnv_text(hash, state);
    }
    if (has_custom)
        return hash;
    document = openapi_document(of->group, of->version);
    text = json_format(document);
    return fnv_text(hash, text);
}

static void put_document(json_t *paths, const struct kind *k)
{
    AUTO_FREE char *path = mem_format("%s/%s", *k->group ? "apis" : "api", k->api_version);
    AUTO_FREE char *url = NULL;

    if (json_object_get(paths, path))
        return;
    url = mem_format("/openapi/v3/%s?hash=%016" PRIX64, path, document_hash(k));
    json_put_text(json_object_at(paths, path), "serverRelativeURL", url);
}

json_t *openapi_index(void)
{
    json_t *index = json_object();
    json_t *paths = json_object_at(index, "paths");

    for (size_t i = 0; i < kinds_served_count(); i++)
        put_document(paths, kinds_served(i));
    return index;
}
