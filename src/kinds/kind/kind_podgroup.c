/*
 * kind_podgroup.c - the PodGroups of scheduler-plugins and of Volcano, in the form of their
 * manifests
 */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/topology.h"
#include "model/names.h"

enum {
    MEMBERS_MAX = 100000
};

static const char *const coscheduling_phases[] = {"Pending",   "PreScheduling", "Scheduling",
                                                  "Scheduled", "Running",       "Unknown",
                                                  "Finished",  "Failed",        NULL};

static const struct field coscheduling_spec[] = {
    F_INT("minMember", "The number of pods that start together.", .min = 1, .max = MEMBERS_MAX,
          .is_required = true),
    F_MAP("minResources", &quantity_item,
          "Implied: a gang starts only if all its pods' requests fit.", .items_max = 64),
    F_INT("scheduleTimeoutSeconds", "Without effect: a waiting gang holds nothing.",
          .support = FIELD_IGNORED, .min = 0, .max = INT32_MAX),
    F_END,
};

static const struct field coscheduling_status[] = {
    F_STRING("phase", "Pending, Scheduling, Running, Finished or Failed.",
             .values = coscheduling_phases),
    F_STRING("occupiedBy", "The owner of the group's pods.", .size_max = 1024),
    F_INT("scheduled", "Pods with a node."),
    F_INT("running", "Pods that run."),
    F_INT("succeeded", "Pods that succeeded."),
    F_INT("failed", "Pods that failed."),
    F_TIME("scheduleStartTime", "Start of the wait."),
    F_END,
};

static const struct field coscheduling_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", coscheduling_spec, "The conditions for the pods' start.", .is_required = true),
    F_OBJECT("status", coscheduling_status, "The state of the group's pods."),
    F_END,
};

static const struct column coscheduling_columns[] = {
    {"Name", "string", "name", 0, "The name of the group."},
    {"Phase", "string", "", 0, "The state of the group's pods."},
    {"MinMember", "integer", "", 0, "The number of pods that start together."},
    {"Running", "integer", "", 0, "Pods that run."},
    {"Succeeded", "integer", "", 0, "Pods that succeeded."},
    {"Failed", "integer", "", 0, "Pods that failed."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *cell_int(const json_t *object, const char *part, const char *field)
{
    json_t *value = json_at(object, part, field, NULL);

    return value ? json_incref(value) : json_null();
}

static json_t *coscheduling_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "status", "phase", NULL), ""));
    (void)json_array_append_new(row, cell_int(object, "spec", "minMember"));
    (void)json_array_append_new(row, cell_int(object, "status", "running"));
    (void)json_array_append_new(row, cell_int(object, "status", "succeeded"));
    (void)json_array_append_new(row, cell_int(object, "status", "failed"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void coscheduling_validate(const json_t *object, struct causes *causes)
{
    topology_validate(object, NULL, causes);
}

const struct kind kind_podgroup_coscheduling = {
    .group = "scheduling.x-k8s.io",
    .version = "v1alpha1",
    .api_version = "scheduling.x-k8s.io/v1alpha1",
    .kind = "PodGroup",
    .plural = "podgroups",
    .singular = "podgroup",
    .short_names = {"pg", "pgs"},
    .is_namespaced = true,
    .has_status = true,
    .fields = coscheduling_fields,
    .columns = coscheduling_columns,
    .cells = coscheduling_cells,
    .validate = coscheduling_validate,
    .doc = "Pods that start together, as scheduler-plugins has them.",
};

static const char *const volcano_phases[] = {"Pending", "Inqueue",   "Running",
                                             "Unknown", "Completed", NULL};

static const struct field count_item =
    F_INT(NULL, "The minimum of the task's pods.", .min = 0, .max = MEMBERS_MAX);

static const char *const network_modes[] = {"hard", "soft", NULL};

static const struct field network_fields[] = {
    F_STRING("mode", "hard: within one domain of that tier; soft: rather so.",
             .values = network_modes, .fallback = "\"hard\""),
    F_INT("highestTierAllowed", "The widest tier that the pods may span: 1 is the nearest.",
          .min = 1, .max = NETWORK_TIERS_MAX),
    F_STRING("highestTierName", "The widest tier, by its node label.",
             .check = name_check_qualified),
    F_END,
};

static const struct field volcano_spec[] = {
    F_INT("minMember", "The number of pods that start together.", .min = 0, .max = MEMBERS_MAX),
    F_MAP("minTaskMember", &count_item, "The minimum of each task's pods.", .items_max = 64),
    F_STRING("queue", "Without effect: the label mete.dev/queue of the pods names their queue.",
             .support = FIELD_IGNORED, .harmless = "\"default\"", .size_max = 253),
    F_STRING("priorityClassName", "The PriorityClass of the group.", .check = name_check_subdomain),
    F_MAP("minResources", &quantity_item,
          "Implied: a gang starts only if all its pods' requests fit.", .items_max = 64),
    F_OBJECT("networkTopology", network_fields, "Topology constraints of the group's pods."),
    F_REFUSED("subGroupPolicy", "Groups within the group."),
    F_END,
};

static const struct field volcano_condition[] = {
    F_STRING("type", "Scheduled or Unschedulable.", .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_STRING("transitionID", "The scheduling session that set the condition.", .size_max = 128),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
static const struct field volcano_condition_item =
    F_OBJECT(NULL, volcano_condition, "An observation about the group.");

static const struct field volcano_status[] = {
    F_STRING("phase", "Pending, Inqueue, Running, Unknown or Completed.", .values = volcano_phases),
    F_LIST("conditions", &volcano_condition_item, "Conditions of the object.", .merge_key = "type",
           .items_max = 16),
    F_INT("running", "Pods that run."),
    F_INT("succeeded", "Pods that succeeded."),
    F_INT("failed", "Pods that failed."),
    F_END,
};

static const struct field volcano_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", volcano_spec, "The conditions for the pods' start.", .fallback = "{}"),
    F_OBJECT("status", volcano_status, "The state of the group's pods."),
    F_END,
};

static const struct column volcano_columns[] = {
    {"Name", "string", "name", 0, "The name of the group."},
    {"STATUS", "string", "", 0, "The state of the group's pods."},
    {"minMember", "integer", "", 0, "The number of pods that start together."},
    {"RUNNINGS", "integer", "", 0, "Pods that run."},
    {"AGE", "date", "", 0, "Time since the creation."},
    {"QUEUE", "string", "", 1, "The queue that the group names."},
    {0},
};

static json_t *volcano_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "status", "phase", NULL), ""));
    (void)json_array_append_new(row, cell_int(object, "spec", "minMember"));
    (void)json_array_append_new(row, cell_int(object, "status", "running"));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "spec", "queue", NULL), ""));
    return row;
}

/* The classes system-* are for the machine's own pods and for administrators. A PodGroup cannot
 * name them: pods name them, and there the caller is checked. */
static void volcano_validate(const json_t *object, struct causes *causes)
{
    const char *class = json_text_at(object, "spec", "priorityClassName", NULL);

    topology_validate(object, NULL, causes);
    if (class && text_starts_with(class, "system-"))
        cause_forbidden(causes, PATH(PATH(NULL, "spec"), "priorityClassName"),
                        "groups cannot have a system class; name the class in the pods");
}

const struct kind kind_podgroup_volcano = {
    .group = "scheduling.volcano.sh",
    .version = "v1beta1",
    .api_version = "scheduling.volcano.sh/v1beta1",
    .kind = "PodGroup",
    .plural = "podgroups",
    .singular = "podgroup",
    .short_names = {"pg", "podgroup-v1beta1"},
    .is_namespaced = true,
    .fields = volcano_fields,
    .columns = volcano_columns,
    .cells = volcano_cells,
    .validate = volcano_validate,
    .doc = "Pods that start together, as Volcano has them.",
};
