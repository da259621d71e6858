/* kind_replicaset.c - apps/v1 ReplicaSet */

#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"

static const struct field spec_fields[] = {
    F_INT("replicas", "The number of pods.", .min = 0, .max = INT32_MAX, .fallback = "1"),
    F_INT("minReadySeconds", "Seconds that a pod must be ready before it counts as available.",
          .min = 0, .max = INT32_MAX),
    F_OBJECT("selector", label_selector_fields, "The set's pods."),
    F_OBJECT("template", pod_template_fields, "The template of the pods.", .fallback = "{}"),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("replicas", "Pods that exist.", .fallback = "0"),
    F_INT("fullyLabeledReplicas", "Pods with all labels of the template."),
    F_INT("readyReplicas", "Pods that are ready."),
    F_INT("availableReplicas", "Pods that have been ready for minReadySeconds."),
    F_INT("terminatingReplicas", "Pods that are being deleted."),
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_LIST("conditions", &apps_set_condition_item, "Conditions of the set.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The number of pods, and their template.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The pods that exist.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the set."},
    {"Desired", "integer", "", 0, "Pods that are wanted."},
    {"Current", "integer", "", 0, "Pods that exist."},
    {"Ready", "integer", "", 0, "Pods that are ready."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The selector of the pods."},
    {0},
};

static json_t *replicaset_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, apps_cell_number(object, "spec", "replicas"));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "replicas"));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "readyReplicas"));
    (void)json_array_append_new(row, cell_created(object));
    apps_add_wide_cells(row, json_object_get(object, "spec"), true);
    return row;
}

static void replicaset_set_defaults(json_t *object, const struct kind_context *c)
{
    (void)c;
    template_set_defaults(json_object_at(json_object_at(object, "spec"), "template"));
}

static void replicaset_validate(const json_t *object, struct causes *causes)
{
    apps_validate_template(json_object_get(object, "spec"), "ReplicaSet", PATH(NULL, "spec"),
                           causes);
}

static struct err *replicaset_validate_update(const json_t *before, const json_t *after,
                                              const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    (void)c;
    apps_validate_selector_kept(before, after, &causes);
    return causes_err(&causes, "ReplicaSet.apps", name ? name : "");
}

const struct kind kind_replicaset = {
    .group = "apps",
    .version = "v1",
    .api_version = "apps/v1",
    .kind = "ReplicaSet",
    .plural = "replicasets",
    .singular = "replicaset",
    .short_names = {"rs"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .has_scale = true,
    .fields = fields,
    .columns = columns,
    .cells = replicaset_cells,
    .validate = replicaset_validate,
    .validate_update = replicaset_validate_update,
    .set_defaults = replicaset_set_defaults,
    .doc = "A number of pods of one template.",
};
