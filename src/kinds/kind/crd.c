/*
 * crd.c - CustomResourceDefinitions made from the tables of kinds
 *
 * The schema is "structural": metadata is left to the API server, and a field that this program
 * does not support is no field. The API server multiplies the cost of a rule by the limits of the
 * lists and texts that it reads: each has one.
 */

#include "kinds/kind/crd.h"

#include "base/mem.h"
#include "kinds/kind/tables.h"

enum {
    ITEMS_MAX = 1024, /* of a list or map whose table says nothing */
    TEXT_MAX = 32 << 10
};

#define QUANTITY_PATTERN \
    "^\\+?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(n|u|m|k|[KMGTPE]i|[MGTPE]|[eE][-+]?[0-9]+)?$"

const struct kind *const crd_kinds[] = {&kind_queue, &kind_reservation, NULL};

/* Recursive: objects hold objects. The tables bound the depth. */
static json_t *crd_field(const struct field *f);

static void crd_put_string(json_t *schema, const struct field *f)
{
    json_put_text(schema, "type", "string");
    json_put_text(schema, "pattern", f->pattern);
    if (!f->values)
        json_put_int(schema, "maxLength", (int64_t)(f->size_max ? f->size_max : TEXT_MAX));
    for (size_t i = 0; f->values && f->values[i]; i++)
        (void)json_array_append_new(json_array_at(schema, "enum"), json_string(f->values[i]));
}

static void crd_put_int(json_t *schema, const struct field *f)
{
    json_put_text(schema, "type", "integer");
    json_put_text(schema, "format", "int64");
    if (f->max <= f->min)
        return;
    json_put_int(schema, "minimum", f->min);
    json_put_int(schema, "maximum", f->max);
}

/* A text or a whole number. */
static void crd_put_quantity(json_t *schema)
{
    json_t *any = json_array_at(schema, "anyOf");

    (void)json_array_append_new(any, json_pack("{s: s}", "type", "integer"));
    (void)json_array_append_new(any, json_pack("{s: s}", "type", "string"));
    json_put_bool(schema, "x-kubernetes-int-or-string", true);
    json_put_int(schema, "minimum", 0);
    json_put_text(schema, "pattern", QUANTITY_PATTERN);
}

static void crd_put_fields(json_t *schema, const struct field *fields)
{
    json_t *properties = json_object_at(schema, "properties");

    json_put_text(schema, "type", "object");
    for (const struct field *f = fields; f->name; f++) {
        if (f->support != FIELD_SUPPORTED)
            continue;
        json_put(properties, f->name, crd_field(f));
        if (f->is_required)
            (void)json_array_append_new(json_array_at(schema, "required"), json_string(f->name));
    }
}

static void crd_put_list(json_t *schema, const struct field *f)
{
    json_put_text(schema, "type", "array");
    json_put(schema, "items", crd_field(f->item));
    json_put_int(schema, "maxItems", (int64_t)(f->items_max ? f->items_max : ITEMS_MAX));
    json_put_text(schema, "x-kubernetes-list-type",
                  f->merge_key     ? "map"
                  : f->is_set_list ? "set"
                                   : "atomic");
    if (f->merge_key)
        (void)json_array_append_new(json_array_at(schema, "x-kubernetes-list-map-keys"),
                                    json_string(f->merge_key));
}

static void crd_put_map(json_t *schema, const struct field *f)
{
    json_put_text(schema, "type", "object");
    json_put(schema, "additionalProperties", crd_field(f->item));
    json_put_int(schema, "maxProperties", (int64_t)(f->items_max ? f->items_max : ITEMS_MAX));
}

static void crd_put_type(json_t *schema, const struct field *f)
{
    switch (f->type) {
    case FIELD_STRING:
        crd_put_string(schema, f);
        break;
    case FIELD_INT:
        crd_put_int(schema, f);
        break;
    case FIELD_BOOL:
        json_put_text(schema, "type", "boolean");
        break;
    case FIELD_QUANTITY:
        crd_put_quantity(schema);
        break;
    case FIELD_INT_OR_STRING:
        json_put_bool(schema, "x-kubernetes-int-or-string", true);
        break;
    case FIELD_TIME:
        json_put_text(schema, "type", "string");
        json_put_text(schema, "format", "date-time");
        break;
    case FIELD_BYTES:
        json_put_text(schema, "type", "string");
        json_put_text(schema, "format", "byte");
        break;
    case FIELD_OBJECT:
        crd_put_fields(schema, f->fields);
        break;
    case FIELD_LIST:
        crd_put_list(schema, f);
        break;
    case FIELD_MAP:
        crd_put_map(schema, f);
        break;
    case FIELD_ANY:
        json_put_bool(schema, "x-kubernetes-preserve-unknown-fields", true);
        break;
    }
}

static json_t *crd_field(const struct field *f)
{
    json_t *schema = json_object();

    json_put_text(schema, "description", f->doc);
    crd_put_type(schema, f);
    if (f->fallback)
        json_put(schema, "default", json_loads(f->fallback, JSON_DECODE_ANY, NULL));
    return schema;
}

static json_t *crd_schema(const struct kind *k)
{
    json_t *schema = json_object();
    json_t *metadata;

    json_put_text(schema, "description", k->doc);
    crd_put_fields(schema, k->fields);
    metadata = json_object_get(json_object_get(schema, "properties"), "metadata");
    (void)json_object_clear(metadata); /* an object: cannot fail */
    json_put_text(metadata, "type", "object");
    for (const struct kind_rule *r = k->rules; r && r->rule; r++) {
        json_t *rule = json_object();

        json_put_text(rule, "rule", r->rule);
        json_put_text(rule, "message", r->message);
        (void)json_array_append_new(json_array_at(schema, "x-kubernetes-validations"), rule);
    }
    return schema;
}

/* NULL: the cell is computed. */
static const char *path_of(const struct kind *k, const struct column *c)
{
    for (const struct column_path *p = k->paths; p && p->name; p++)
        if (text_equal(p->name, c->name))
            return p->path;
    return NULL;
}

/* The columns that are a value of the object. */
static void crd_put_columns(json_t *version, const struct kind *k)
{
    for (const struct column *c = k->columns; c && c->name; c++) {
        const char *path = path_of(k, c);
        json_t *column;

        if (!path)
            continue;
        column = json_object();
        json_put_text(column, "name", c->name);
        json_put_text(column, "type", c->type);
        json_put_text(column, "jsonPath", path);
        json_put_text(column, "description", c->doc);
        if (c->priority)
            json_put_int(column, "priority", c->priority);
        (void)json_array_append_new(json_array_at(version, "additionalPrinterColumns"), column);
    }
}

static json_t *crd_version(const struct kind *k)
{
    json_t *version = json_object();

    json_put_text(version, "name", k->version);
    json_put_bool(version, "served", true);
    json_put_bool(version, "storage", true);
    if (k->has_status)
        json_put(json_object_at(version, "subresources"), "status", json_object());
    crd_put_columns(version, k);
    json_put(json_object_at(version, "schema"), "openAPIV3Schema", crd_schema(k));
    return version;
}

static void crd_put_names(json_t *spec, const struct kind *k)
{
    json_t *names = json_object_at(spec, "names");
    AUTO_FREE char *list = mem_format("%sList", k->kind);

    json_put_text(names, "kind", k->kind);
    json_put_text(names, "listKind", list);
    json_put_text(names, "plural", k->plural);
    json_put_text(names, "singular", k->singular);
    for (size_t i = 0; i < COUNT(k->short_names) && k->short_names[i]; i++)
        (void)json_array_append_new(json_array_at(names, "shortNames"),
                                    json_string(k->short_names[i]));
}

json_t *crd_make(const struct kind *k)
{
    AUTO_FREE char *name = mem_format("%s.%s", k->plural, k->group);
    json_t *crd = json_object();
    json_t *spec;

    json_put_text(crd, "apiVersion", "apiextensions.k8s.io/v1");
    json_put_text(crd, "kind", "CustomResourceDefinition");
    json_put_text(json_object_at(crd, "metadata"), "name", name);
    spec = json_object_at(crd, "spec");
    json_put_text(spec, "group", k->group);
    crd_put_names(spec, k);
    json_put_text(spec, "scope", k->is_namespaced ? "Namespaced" : "Cluster");
    (void)json_array_append_new(json_array_at(spec, "versions"), crd_version(k));
    return crd;
}
