/* kind_ingressclass.c - networking.k8s.io/v1 IngressClass */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/service/ingress.h"

static const struct field parameters_fields[] = {
    F_STRING("apiGroup", "The group of the object's kind.", .size_max = 253),
    F_STRING("kind", "The kind of the object.", .size_max = 253),
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_STRING("scope", "Cluster, or Namespace.", .fallback = "\"Cluster\"", .size_max = 64),
    F_STRING("namespace", "The object's namespace.", .size_max = 253),
    F_END,
};

static const struct field spec_fields[] = {
    F_STRING("controller", "The controller of the class.", .size_max = 1024),
    F_OBJECT("parameters", parameters_fields, "An object with the controller's settings."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The controller.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the class."},
    {"Controller", "string", "", 0, "The controller of the class."},
    {"Parameters", "string", "", 0, "An object with the controller's settings."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *cell_parameters(const json_t *parameters)
{
    const char *group = json_text(parameters, "apiGroup");
    AUTO_FREE char *text = NULL;

    if (!parameters)
        return json_string("<none>");
    text = mem_format("%s%s%s/%s", value_text(parameters, "kind"), group ? "." : "",
                      text_or_empty(group), value_text(parameters, "name"));
    return cell_text(text, "");
}

static json_t *ingressclass_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    const json_t *spec = json_object_get(object, "spec");
    AUTO_FREE char *name = mem_format("%s%s", json_text_at(object, "metadata", "name", NULL),
                                      ingress_class_is_default(object) ? " (default)" : "");

    (void)now_ns;
    (void)json_array_append_new(row, json_string(name));
    (void)json_array_append_new(row, cell_text(json_text(spec, "controller"), ""));
    (void)json_array_append_new(row, cell_parameters(json_object_get(spec, "parameters")));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static struct err *ingressclass_validate_update(const json_t *before, const json_t *after,
                                                const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *is = text_or_empty(json_text_at(after, "spec", "controller", NULL));

    (void)c;
    if (!text_equal(json_text_at(before, "spec", "controller", NULL), is))
        cause_invalid(&causes, PATH(PATH(NULL, "spec"), "controller"), is, "field is immutable");
    return causes_err_of(&causes, &kind_ingressclass,
                         text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_ingressclass = {
    .group = "networking.k8s.io",
    .version = "v1",
    .api_version = "networking.k8s.io/v1",
    .kind = "IngressClass",
    .plural = "ingressclasses",
    .singular = "ingressclass",
    .fields = fields,
    .columns = columns,
    .cells = ingressclass_cells,
    .validate = ingress_class_validate,
    .validate_update = ingressclass_validate_update,
    .doc = "The controller of a set of ingresses.",
};
