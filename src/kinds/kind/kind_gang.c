/* kind_gang.c - scheduling.k8s.io/v1beta1 Workload and PodGroup, the stored form of both */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/gang_fields.h"
#include "kinds/kind/tables.h"
#include "kinds/topology.h"
#include "model/names.h"

static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

static const struct field basic_fields[] = {F_END};

static const struct field gang_fields[] = {
    F_INT("minCount", "How many of its pods start together.", .min = 1, .max = GANG_MEMBERS_MAX,
          .is_required = true),
    F_END,
};

const struct field gang_policy_fields[] = {
    F_OBJECT("basic", basic_fields, "Each pod starts by itself."),
    F_OBJECT("gang", gang_fields, "So many start together."),
    F_END,
};

static const struct field disruption_fields[] = {
    F_OBJECT("single", basic_fields, "Its pods may end one by one; here a gang ends as a whole."),
    F_OBJECT("all", basic_fields, "All of it ends for another, or nothing."),
    F_END,
};

static const struct field topology_fields[] = {
    F_STRING("key", "All its pods are on nodes with the same value of this label.",
             .is_required = true, .check = name_check_qualified),
    F_END,
};
static const struct field topology_item = F_OBJECT(NULL, topology_fields, "A domain of nodes.");

const struct field gang_constraints_fields[] = {
    F_LIST("topology", &topology_item, "The domain that its pods share.", .items_max = 1),
    F_END,
};

#define GROUP_FIELDS                                                                         \
    F_OBJECT("schedulingPolicy", gang_policy_fields, "When its pods may start.",             \
             .is_required = true),                                                           \
        F_OBJECT("schedulingConstraints", gang_constraints_fields,                           \
                 "How near to each other its pods must be."),                                \
        F_REFUSED("resourceClaims", "Devices claimed by DRA."),                              \
        F_OBJECT("disruptionMode", disruption_fields, "What ends for others."),              \
        F_STRING("priorityClassName", "The PriorityClass that its priority comes from.",     \
                 .check = name_check_subdomain),                                             \
        F_REFUSED("priority", "Its priority: comes from its class."),                        \
        F_STRING("preemptionPolicy", "Whether others may be ended for it: as its pods say.", \
                 .support = FIELD_IGNORED, .harmless = "\"PreemptLowerPriority\"",           \
                 .values = preemption_policies)

static const struct field template_fields[] = {
    F_STRING("name", "The name of the template.", .is_required = true, .check = name_check_label),
    GROUP_FIELDS,
    F_END,
};
static const struct field template_item =
    F_OBJECT(NULL, template_fields, "What a group of pods is like.");

const struct field gang_controller_fields[] = {
    F_STRING("apiGroup", "The group of the controller.", .size_max = 253),
    F_STRING("kind", "Its kind.", .is_required = true, .size_max = 128),
    F_STRING("name", "Its name.", .is_required = true, .size_max = 253),
    F_END,
};

static const struct field workload_spec[] = {
    F_OBJECT("controllerRef", gang_controller_fields, "Whose pods these are; not used."),
    F_LIST("podGroupTemplates", &template_item, "The groups of pods in it.", .merge_key = "name",
           .is_unique = true, .is_required = true, .items_max = GANG_TEMPLATES_MAX),
    F_REFUSED("compositePodGroupTemplates", "Groups of groups."),
    F_END,
};

const struct field gang_workload_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", workload_spec, "Its groups of pods.", .is_required = true),
    F_END,
};

static const struct field reference_fields[] = {
    F_STRING("workloadName", "The Workload that it was made from.", .size_max = 253),
    F_STRING("templateName", "The template in it.", .size_max = 63),
    F_END,
};

static const struct field podgroup_spec[] = {
    F_OBJECT("workloadRef", reference_fields, "What it was made from; not used."),
    F_REFUSED("parentCompositePodGroupName", "The group of groups that it is of."),
    GROUP_FIELDS,
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("PodGroupInitiallyScheduled, PodGroupScheduled or DisruptionTarget."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "One observation about the group.");

const struct field gang_podgroup_status[] = {
    F_LIST("conditions", &condition_item, "Observations about it.", .merge_key = "type",
           .items_max = 16),
    F_ANY("resourceClaimStatuses", "Kept, not used."),
    F_END,
};

const struct field gang_podgroup_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", podgroup_spec, "When its pods may start.", .is_required = true),
    F_OBJECT("status", gang_podgroup_status, "What has become of its pods."),
    F_END,
};

/* Validates a pod group, or a template of one. */
static void validate_group(const json_t *group, const struct path *at, struct causes *causes)
{
    const json_t *policy = json_object_get(group, "schedulingPolicy");
    const json_t *mode = json_object_get(group, "disruptionMode");
    const char *class = json_text(group, "priorityClassName");

    if (policy && json_object_size(policy) != 1)
        cause_invalid(causes, PATH(at, "schedulingPolicy"), "",
                      "exactly one of basic and gang must be set");
    if (mode && json_object_size(mode) != 1)
        cause_invalid(causes, PATH(at, "disruptionMode"), "",
                      "exactly one of single and all must be set");
    if (class && text_starts_with(class, "system-"))
        cause_forbidden(causes, PATH(at, "priorityClassName"),
                        "system classes are named by pods themselves");
}

static void validate_workload(const json_t *object, struct causes *causes)
{
    const json_t *list = json_at(object, "spec", "podGroupTemplates", NULL);
    const struct path *at = PATH(PATH(NULL, "spec"), "podGroupTemplates");

    topology_validate(object, NULL, causes);
    for (size_t i = 0; i < json_array_size(list); i++)
        validate_group(json_array_get(list, i), PATH_INDEX(at, i), causes);
}

static void validate_podgroup(const json_t *object, struct causes *causes)
{
    topology_validate(object, NULL, causes);
    validate_group(json_object_get(object, "spec"), PATH(NULL, "spec"), causes);
}

const struct kind kind_gang = {
    .group = "scheduling.k8s.io",
    .version = "v1beta1",
    .api_version = "scheduling.k8s.io/v1beta1",
    .kind = "Workload",
    .plural = "workloads",
    .singular = "workload",
    .is_namespaced = true,
    .fields = gang_workload_fields,
    .validate = validate_workload,
    .doc = "Groups of pods that start together.",
};

const struct kind kind_podgroup = {
    .group = "scheduling.k8s.io",
    .version = "v1beta1",
    .api_version = "scheduling.k8s.io/v1beta1",
    .kind = "PodGroup",
    .plural = "podgroups",
    .singular = "podgroup",
    .is_namespaced = true,
    .has_status = true,
    .fields = gang_podgroup_fields,
    .validate = validate_podgroup,
    .doc = "Pods that start together.",
};
