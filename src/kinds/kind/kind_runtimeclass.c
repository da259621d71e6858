/* kind_runtimeclass.c - node.k8s.io/v1 RuntimeClass */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/pod/pod_rules.h"
#include "model/names.h"

static const struct field overhead_fields[] = {
    F_MAP("podFixed", &quantity_item,
          "Amounts that a pod of the class takes beside its "
          "containers."),
    F_END,
};

static const struct field scheduling_fields[] = {
    F_MAP("nodeSelector", &label_value_item, "Labels of the nodes that have the class.",
          .check_key = name_check_qualified, .items_max = 64, .is_atomic = true),
    F_LIST("tolerations", &toleration_item, "Tolerations that the class's pods get.",
           .is_atomic = true, .items_max = 128),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_STRING("handler", "The nodes' name of the runtime.", .size_max = 1024),
    F_OBJECT("overhead", overhead_fields, "What the runtime itself takes."),
    F_OBJECT("scheduling", scheduling_fields, "The nodes that have the class."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the class."},
    {"Handler", "string", "", 0, "The nodes' name of the runtime."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *runtimeclass_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(object, "handler"), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void runtimeclass_validate(const json_t *object, struct causes *causes)
{
    const char *handler = value_text(object, "handler");
    const json_t *tolerations = json_at(object, "scheduling", "tolerations", NULL);
    const struct path *here = PATH(PATH(NULL, "scheduling"), "tolerations");

    if (*handler)
        cause_take(causes, PATH(NULL, "handler"), handler, name_check_label(handler));
    else
        cause_required(causes, PATH(NULL, "handler"), "");
    pod_validate_overhead(json_at(object, "overhead", "podFixed", NULL),
                          PATH(PATH(NULL, "overhead"), "podFixed"), causes);
    for (size_t i = 0; i < json_array_size(tolerations); i++) {
        toleration_validate(json_array_get(tolerations, i), PATH_INDEX(here, i), causes);
        for (size_t k = 0; k < i; k++) {
            if (!json_equal(json_array_get(tolerations, i), json_array_get(tolerations, k)))
                continue;
            cause_duplicate_json(causes, PATH_INDEX(here, i), json_array_get(tolerations, i));
            break;
        }
    }
}

static struct err *runtimeclass_validate_update(const json_t *before, const json_t *after,
                                                const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};

    (void)c;
    if (!text_equal(value_text(before, "handler"), value_text(after, "handler")))
        cause_invalid(&causes, PATH(NULL, "handler"), value_text(after, "handler"),
                      "field is immutable");
    return causes_err_of(&causes, &kind_runtimeclass,
                         text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_runtimeclass = {
    .zero = "{\"handler\":\"\"}",
    .group = "node.k8s.io",
    .version = "v1",
    .api_version = "node.k8s.io/v1",
    .kind = "RuntimeClass",
    .plural = "runtimeclasses",
    .singular = "runtimeclass",
    .fields = fields,
    .columns = columns,
    .cells = runtimeclass_cells,
    .validate = runtimeclass_validate,
    .validate_update = runtimeclass_validate_update,
    .doc = "A runtime of containers that pods may name.",
};
