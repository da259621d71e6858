/* kind_replicationcontroller.c - core/v1 ReplicationController */

#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"
#include "model/names.h"

static const struct field spec_fields[] = {
    F_INT("replicas", "The number of pods.", .min = 0, .max = INT32_MAX, .fallback = "1"),
    F_INT("minReadySeconds", "Seconds that a pod must be ready before it counts as available.",
          .min = 0, .max = INT32_MAX),
    F_MAP("selector", &label_value_item,
          "Labels of the controller's pods; absent: those of the template.",
          .check_key = name_check_qualified, .is_atomic = true),
    F_OBJECT("template", pod_template_fields, "The template of the pods."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The number of pods, and their template.", .fallback = "{}"),
    F_OBJECT("status", apps_replicas_status, "The pods that exist.", .fallback = "{}"),
    F_END,
};

static void controller_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *metadata = json_object_at(object, "metadata");
    json_t *labels = json_at(spec, "template", "metadata", "labels", NULL);

    (void)c;
    if (!json_object_get(spec, "template"))
        return;
    template_set_defaults(json_object_at(spec, "template"));
    if (json_object_size(labels) == 0)
        return;
    if (json_object_size(json_object_get(spec, "selector")) == 0)
        json_put(spec, "selector", json_deep_copy(labels));
    if (json_object_size(json_object_get(metadata, "labels")) == 0)
        json_put(metadata, "labels", json_deep_copy(labels));
}

static bool has_labels(const json_t *labels, json_t *selector)
{
    const char *key;
    json_t *value;

    json_object_foreach (selector, key, value)
        if (!text_equal(json_text(labels, key), json_string_value(value)))
            return false;
    return true;
}

static void controller_validate(const json_t *object, struct causes *causes)
{
    const struct path *at = PATH(NULL, "spec");
    const struct path *here = PATH(at, "template");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *template = json_object_get(spec, "template");
    const json_t *labels = json_at(template, "metadata", "labels", NULL);
    json_t *selector = json_object_get(spec, "selector");

    if (json_object_size(selector) == 0)
        cause_required(causes, PATH(at, "selector"), "");
    if (!template) {
        cause_required(causes, here, "");
        return;
    }
    if (!has_labels(labels, selector))
        cause_invalid_json(causes, PATH(PATH(here, "metadata"), "labels"), labels,
                           "`selector` does not match template `labels`");
    apps_validate_pods(template, "ReplicationController", here, causes);
}

const struct kind kind_replicationcontroller = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "ReplicationController",
    .plural = "replicationcontrollers",
    .singular = "replicationcontroller",
    .short_names = {"rc"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .has_scale = true,
    .fields = fields,
    .columns = apps_replicas_columns,
    .cells = apps_replicas_cells,
    .validate = controller_validate,
    .set_defaults = controller_set_defaults,
    .doc = "A number of pods of one template; ReplicaSets are newer.",
};
