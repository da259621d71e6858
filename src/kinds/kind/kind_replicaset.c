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

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The number of pods, and their template.", .fallback = "{}"),
    F_OBJECT("status", apps_replicas_status, "The pods that exist.", .fallback = "{}"),
    F_END,
};

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
    .columns = apps_replicas_columns,
    .cells = apps_replicas_cells,
    .validate = replicaset_validate,
    .validate_update = replicaset_validate_update,
    .set_defaults = replicaset_set_defaults,
    .doc = "A number of pods of one template.",
};
