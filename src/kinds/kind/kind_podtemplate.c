/* kind_podtemplate.c - core/v1 PodTemplate: a template that no controller of Mete reads */

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("template", pod_template_fields, "The template of pods."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the template."},
    {"Containers", "string", "", 0, "The names of the containers."},
    {"Images", "string", "", 0, "The images of the containers."},
    {"Pod Labels", "string", "", 0, "The labels of the pods."},
    {0},
};

static json_t *podtemplate_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    AUTO(json_freep)
    json_t *labels =
        json_pack("{s:O*}", "matchLabels", json_at(object, "template", "metadata", "labels", NULL));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    apps_add_wide_cells(row, object, false);
    (void)json_array_append_new(row, apps_cell_selector(labels));
    return row;
}

static void podtemplate_set_defaults(json_t *object, const struct kind_context *c)
{
    (void)c;
    if (json_object_get(object, "template"))
        template_set_defaults(json_object_at(object, "template"));
}

static void podtemplate_validate(const json_t *object, struct causes *causes)
{
    const json_t *template = json_object_get(object, "template");

    if (template)
        template_validate(template, PATH(NULL, "template"), causes);
    else
        cause_required(causes, PATH(PATH(PATH(NULL, "template"), "spec"), "containers"), "");
}

const struct kind kind_podtemplate = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "PodTemplate",
    .plural = "podtemplates",
    .singular = "podtemplate",
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = podtemplate_cells,
    .validate = podtemplate_validate,
    .set_defaults = podtemplate_set_defaults,
    .doc = "A template of pods, for controllers of others.",
};
