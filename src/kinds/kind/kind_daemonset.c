/* kind_daemonset.c - apps/v1 DaemonSet */

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"

static const char *const strategies[] = {"RollingUpdate", "OnDelete", NULL};

static const struct field rolling_fields[] = {
    F("maxUnavailable", FIELD_INT_OR_STRING,
      "Nodes without a pod during an update: a number, or a percentage."),
    F_REFUSED("maxSurge", "Nodes with two pods during an update.", .harmless = "0"),
    F_END,
};

static const struct field strategy_fields[] = {
    F_STRING("type", "RollingUpdate, or OnDelete, which waits until pods are deleted.",
             .values = strategies, .fallback = "\"RollingUpdate\""),
    F_OBJECT("rollingUpdate", rolling_fields, "The limits of a rolling update."),
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("selector", label_selector_fields, "The set's pods."),
    F_OBJECT("template", pod_template_fields, "The template of the pods.", .is_required = true),
    F_OBJECT("updateStrategy", strategy_fields, "How new pods replace old ones.", .fallback = "{}"),
    F_INT("minReadySeconds", "Seconds that a pod must be ready before it counts as available.",
          .min = 0, .max = INT32_MAX),
    F_INT("revisionHistoryLimit", "Old revisions that are kept.", .min = 0, .max = INT32_MAX,
          .fallback = "10"),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("currentNumberScheduled", "Nodes that should have a pod and have one.", .fallback = "0"),
    F_INT("numberMisscheduled", "Nodes that have a pod and should not.", .fallback = "0"),
    F_INT("desiredNumberScheduled", "Nodes that should have a pod.", .fallback = "0"),
    F_INT("numberReady", "Nodes with a ready pod.", .fallback = "0"),
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_INT("updatedNumberScheduled", "Nodes with a pod of the present template."),
    F_INT("numberAvailable", "Nodes with an available pod."),
    F_INT("numberUnavailable", "Nodes without an available pod."),
    F_INT("collisionCount", "Templates that had the same hash as another one."),
    F_LIST("conditions", &apps_set_condition_item, "Conditions of the set.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The template of the pods, and how they are updated.",
             .fallback = "{}"),
    F_OBJECT("status", status_fields, "The pods that exist.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the set."},
    {"Desired", "integer", "", 0, "Nodes that should have a pod."},
    {"Current", "integer", "", 0, "Nodes that have one."},
    {"Ready", "integer", "", 0, "Nodes with a ready pod."},
    {"Up-to-date", "integer", "", 0, "Nodes with a pod of the present template."},
    {"Available", "integer", "", 0, "Nodes with an available pod."},
    {"Node Selector", "string", "", 0, "Labels of the nodes."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The selector of the pods."},
    {0},
};

static json_t *cell_nodes(const json_t *spec)
{
    json_t *labels = json_at(spec, "template", "spec", "nodeSelector", NULL);
    AUTO(json_freep) json_t *selector = json_object();

    if (json_object_size(labels) > 0)
        json_put(selector, "matchLabels", json_incref(labels));
    return apps_cell_selector(selector);
}

static json_t *daemonset_cells(const json_t *object, int64_t now_ns)
{
    static const char *const numbers[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                          "numberReady", "updatedNumberScheduled",
                                          "numberAvailable"};
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    for (size_t i = 0; i < COUNT(numbers); i++)
        (void)json_array_append_new(row, apps_cell_number(object, "status", numbers[i]));
    (void)json_array_append_new(row, cell_nodes(json_object_get(object, "spec")));
    (void)json_array_append_new(row, cell_created(object));
    apps_add_wide_cells(row, json_object_get(object, "spec"), true);
    return row;
}

static void daemonset_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *strategy = json_object_at(spec, "updateStrategy");

    (void)c;
    if (text_equal(json_text(strategy, "type"), "RollingUpdate")) {
        json_t *rolling = json_object_at(strategy, "rollingUpdate");

        if (!json_object_get(rolling, "maxUnavailable"))
            json_put_int(rolling, "maxUnavailable", 1);
        if (!json_object_get(rolling, "maxSurge"))
            json_put_int(rolling, "maxSurge", 0);
    }
    template_set_defaults(json_object_at(spec, "template"));
}

static void daemonset_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *rolling = json_at(spec, "updateStrategy", "rollingUpdate", NULL);
    const json_t *unavailable = json_object_get(rolling, "maxUnavailable");
    const struct path *at = PATH(NULL, "spec");
    const struct path *here =
        PATH(PATH(PATH(at, "updateStrategy"), "rollingUpdate"), "maxUnavailable");

    apps_validate_template(spec, "DaemonSet", at, causes);
    apps_validate_amount(unavailable, here, causes);
    apps_validate_percent(unavailable, here, causes);
    if (unavailable && apps_amount(unavailable, 100, true) == 0)
        cause_required(causes, here, "cannot be 0 when maxSurge is 0");
}

static struct err *daemonset_validate_update(const json_t *before, const json_t *after,
                                             const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    (void)c;
    apps_validate_selector_kept(before, after, &causes);
    return causes_err(&causes, "DaemonSet.apps", name ? name : "");
}

const struct kind kind_daemonset = {
    .group = "apps",
    .version = "v1",
    .api_version = "apps/v1",
    .kind = "DaemonSet",
    .plural = "daemonsets",
    .singular = "daemonset",
    .short_names = {"ds"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = daemonset_cells,
    .validate = daemonset_validate,
    .validate_update = daemonset_validate_update,
    .set_defaults = daemonset_set_defaults,
    .doc = "A pod on each node.",
};
