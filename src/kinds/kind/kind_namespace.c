/* kind_namespace.c - core/v1 Namespace */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

static const char *const phases[] = {"Active", "Terminating", NULL};

static const struct field spec_fields[] = {
    F_LIST("finalizers", &string_item,
           "Finalizers that delay the namespace's removal: \"kubernetes\".", .items_max = 64),
    F_END,
};

static const struct field condition_fields[] = {
    F_STRING("type", "The condition's type.", .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the namespace.");

static const struct field status_fields[] = {
    F_STRING("phase", "Active, or Terminating while its objects are being deleted.",
             .values = phases),
    F_LIST("conditions", &condition_item, "Reasons why a deletion takes time.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The wanted state."),
    F_OBJECT("status", status_fields, "The observed state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the namespace."},
    {"Status", "string", "", 0, "Active or Terminating."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *namespace_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "status", "phase", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* Sets the label kubernetes.io/metadata.name, by which selectors name namespaces. */
static void namespace_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *status = json_object_at(object, "status");
    const char *name = json_text_at(object, "metadata", "name", NULL);

    (void)c;
    if (!json_text(status, "phase"))
        json_put_text(status, "phase", "Active");
    if (name && *name)
        json_put_text(json_object_at(json_object_at(object, "metadata"), "labels"),
                      "kubernetes.io/metadata.name", name);
}

static const char *const selectable[] = {"status.phase", NULL};

const struct kind kind_namespace = {
    .zero = "{\"spec\":{},\"status\":{}}",
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .short_names = {"ns"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = namespace_cells,
    .set_defaults = namespace_set_defaults,
    .selectable = selectable,
    .check_name = name_check_label,
    .doc = "A scope for names: most objects live in one.",
};
