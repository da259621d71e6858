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
    F_INT("minCount", "The number of pods that start together.", .min = 1, .max = GANG_MEMBERS_MAX,
          .is_required = true),
    F_END,
};

const struct field gang_policy_fields[] = {
    F_OBJECT("basic", basic_fields, "Each pod starts by itself."),
    F_OBJECT("gang", gang_fields, "The pods start as a gang."),
    F_END,
};

static const struct field disruption_fields[] = {
    F_OBJECT("single", basic_fields,
             "Pods may be preempted one by one; Mete always preempts a gang as a whole."),
    F_OBJECT("all", basic_fields, "The group is preempted as a whole."),
    F_END,
};

static const struct field topology_fields[] = {
    F_STRING("key", "The node label whose value the nodes of all pods share.", .is_required = true,
             .check = name_check_qualified),
    F_END,
};
static const struct field topology_item = F_OBJECT(NULL, topology_fields, "A domain of nodes.");

const struct field gang_constraints_fields[] = {
    F_LIST("topology", &topology_item, "The domain that the group's pods share.", .items_max = 1),
    F_END,
};

#define GROUP_FIELDS                                                                        \
    F_OBJECT("schedulingPolicy", gang_policy_fields, "The conditions for the pods' start.", \
             .is_required = true),                                                          \
        F_OBJECT("schedulingConstraints", gang_constraints_fields,                          \
                 "Topology constraints of the group's pods."),                              \
        F_REFUSED("resourceClaims", "Devices claimed by DRA."),                             \
        F_OBJECT("disruptionMode", disruption_fields, "The unit of preemption."),           \
        F_STRING("priorityClassName", "The PriorityClass of the group.",                    \
                 .check = name_check_subdomain),                                            \
        F_REFUSED("priority", "The group's priority, which comes from the class."),         \
        F_STRING("preemptionPolicy",                                                        \
                 "Whether the group may preempt others: as its pods' specs say.",           \
                 .support = FIELD_IGNORED, .harmless = "\"PreemptLowerPriority\"",          \
                 .values = preemption_policies)

static const struct field template_fields[] = {
    F_STRING("name", "The name of the template.", .is_required = true, .check = name_check_label),
    GROUP_FIELDS,
    F_END,
};
static const struct field template_item =
    F_OBJECT(NULL, template_fields, "A template of a group of pods.");

const struct field gang_controller_fields[] = {
    F_STRING("apiGroup", "The group of the controller.", .size_max = 253),
    F_STRING("kind", "The controller's kind.", .is_required = true, .size_max = 128),
    F_STRING("name", "The controller's name.", .is_required = true, .size_max = 253),
    F_END,
};

static const struct field workload_spec[] = {
    F_OBJECT("controllerRef", gang_controller_fields, "The controller of the pods; not used."),
    F_LIST("podGroupTemplates", &template_item, "The Workload's groups of pods.",
           .merge_key = "name", .is_unique = true, .is_required = true,
           .items_max = GANG_TEMPLATES_MAX),
    F_REFUSED("compositePodGroupTemplates", "Groups of groups."),
    F_END,
};

const struct field gang_workload_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", workload_spec, "The Workload's groups of pods.", .is_required = true),
    F_END,
};

static const struct field reference_fields[] = {
    F_STRING("workloadName", "The Workload of the group's template.", .size_max = 253),
    F_STRING("templateName", "The template in the Workload.", .size_max = 63),
    F_END,
};

static const struct field podgroup_spec[] = {
    F_OBJECT("workloadRef", reference_fields, "The template of the group; not used."),
    F_REFUSED("parentCompositePodGroupName", "The parent group."),
    GROUP_FIELDS,
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("PodGroupInitiallyScheduled, PodGroupScheduled or DisruptionTarget."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the group.");

const struct field gang_podgroup_status[] = {
    F_LIST("conditions", &condition_item, "Conditions of the object.", .merge_key = "type",
           .items_max = 16),
    F_ANY("resourceClaimStatuses", "Kept, not used."),
    F_END,
};

const struct field gang_podgroup_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", podgroup_spec, "The conditions for the pods' start.", .is_required = true),
    F_OBJECT("status", gang_podgroup_status, "The state of the group's pods."),
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
                        "groups cannot have a system class; name the class in the pods");
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
