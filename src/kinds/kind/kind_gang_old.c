/*
 * kind_gang_old.c - the versions of scheduling.k8s.io before v1beta1, converted from and to it
 *
 * v1alpha1 (1.35), v1alpha2 (1.36), v1alpha3 (as v1beta1). Kubernetes has no PodGroup in v1alpha1.
 * Manifests for the schedulers before it have a PodGroup with minMember, which becomes a gang of
 * that many pods.
 */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/gang_fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

static void set_version(json_t *object, const char *version)
{
    AUTO_FREE char *text = mem_format("scheduling.k8s.io/%s", version);

    json_put_text(object, "apiVersion", text);
}

/* Renames the member `from` to `to`. */
static void rename_member(json_t *object, const char *from, const char *to)
{
    json_t *value = json_object_get(object, from);

    if (!value)
        return;
    json_put(object, to, json_incref(value));
    (void)json_object_del(object, from); /* present */
}

static void to_kept(json_t *object)
{
    set_version(object, "v1beta1");
}

/* ---- v1alpha3 ---- */

static void from_kept_v1alpha3(json_t *object)
{
    set_version(object, "v1alpha3");
}

/* ---- v1alpha2 ---- */

static const char *const modes[] = {"Pod", "PodGroup", NULL};
static const char *const kept_modes[] = {"single", "all", NULL};

static void mode_to_kept(json_t *group)
{
    const char *mode = json_text(group, "disruptionMode");

    for (size_t i = 0; modes[i]; i++)
        if (text_equal(mode, modes[i])) {
            json_t *kept = json_object();

            (void)json_object_at(kept, kept_modes[i]);
            json_put(group, "disruptionMode", kept);
            return;
        }
}

static void mode_from_kept(json_t *group)
{
    const json_t *kept = json_object_get(group, "disruptionMode");

    for (size_t i = 0; modes[i]; i++)
        if (json_object_get(kept, kept_modes[i])) {
            json_put_text(group, "disruptionMode", modes[i]);
            return;
        }
}

static void each_template(json_t *object, void (*fn)(json_t *group))
{
    json_t *list = json_at(object, "spec", "podGroupTemplates", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        fn(json_array_get(list, i));
}

static void workload_to_kept_v1alpha2(json_t *object)
{
    each_template(object, mode_to_kept);
    to_kept(object);
}

static void without_policy(json_t *group)
{
    (void)json_object_del(group, "preemptionPolicy"); /* not in that version; may be absent */
    mode_from_kept(group);
}

static void workload_from_kept_v1alpha2(json_t *object)
{
    each_template(object, without_policy);
    set_version(object, "v1alpha2");
}

static void podgroup_to_kept_v1alpha2(json_t *object)
{
    json_t *spec = json_object_get(object, "spec");
    json_t *ref = json_object_get(json_object_get(spec, "podGroupTemplateRef"), "workload");

    mode_to_kept(spec);
    if (ref) {
        rename_member(ref, "podGroupTemplateName", "templateName");
        json_put(spec, "workloadRef", json_incref(ref));
    }
    (void)json_object_del(spec, "podGroupTemplateRef"); /* may be absent */
    to_kept(object);
}

static void podgroup_from_kept_v1alpha2(json_t *object)
{
    json_t *spec = json_object_get(object, "spec");
    json_t *ref = json_object_get(spec, "workloadRef");

    without_policy(spec);
    if (ref) {
        rename_member(ref, "templateName", "podGroupTemplateName");
        json_put(json_object_at(spec, "podGroupTemplateRef"), "workload", json_incref(ref));
        (void)json_object_del(spec, "workloadRef"); /* it is there */
    }
    set_version(object, "v1alpha2");
}

#define OLD_GROUP_FIELDS                                                                    \
    F_OBJECT("schedulingPolicy", gang_policy_fields, "The conditions for the pods' start.", \
             .is_required = true),                                                          \
        F_OBJECT("schedulingConstraints", gang_constraints_fields,                          \
                 "Topology constraints of the group's pods."),                              \
        F_REFUSED("resourceClaims", "Devices claimed by DRA."),                             \
        F_STRING("disruptionMode",                                                          \
                 "The unit of preemption; Mete always preempts a gang as a whole.",         \
                 .values = modes),                                                          \
        F_STRING("priorityClassName", "The PriorityClass of the group.",                    \
                 .check = name_check_subdomain),                                            \
        F_REFUSED("priority", "The group's priority, which comes from the class.")

static const struct field template_v1alpha2[] = {
    F_STRING("name", "The name of the template.", .is_required = true, .check = name_check_label),
    OLD_GROUP_FIELDS,
    F_END,
};
static const struct field template_item_v1alpha2 =
    F_OBJECT(NULL, template_v1alpha2, "A template of a group of pods.");

static const struct field workload_spec_v1alpha2[] = {
    F_OBJECT("controllerRef", gang_controller_fields, "The controller of the pods; not used."),
    F_LIST("podGroupTemplates", &template_item_v1alpha2, "The Workload's groups of pods.",
           .merge_key = "name", .is_unique = true, .is_required = true,
           .items_max = GANG_TEMPLATES_MAX),
    F_END,
};

static const struct field workload_v1alpha2[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", workload_spec_v1alpha2, "The Workload's groups of pods.", .is_required = true),
    F_END,
};

static const struct field reference_v1alpha2[] = {
    F_STRING("workloadName", "The Workload of the group's template.", .size_max = 253),
    F_STRING("podGroupTemplateName", "The template in the Workload.", .size_max = 63),
    F_END,
};

static const struct field template_ref_v1alpha2[] = {
    F_OBJECT("workload", reference_v1alpha2, "A template of a Workload."),
    F_END,
};

static const struct field podgroup_spec_v1alpha2[] = {
    F_OBJECT("podGroupTemplateRef", template_ref_v1alpha2, "The template of the group; not used."),
    OLD_GROUP_FIELDS,
    F_END,
};

static const struct field podgroup_v1alpha2[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", podgroup_spec_v1alpha2, "The conditions for the pods' start.",
             .is_required = true),
    F_OBJECT("status", gang_podgroup_status, "The state of the group's pods."),
    F_END,
};

/* ---- v1alpha1 ---- */

static void group_to_kept_v1alpha1(json_t *group)
{
    rename_member(group, "policy", "schedulingPolicy");
}

/* Drops the members that the version lacks. */
static void group_from_kept_v1alpha1(json_t *group)
{
    static const char *const later[] = {"disruptionMode", "priorityClassName", "preemptionPolicy"};

    rename_member(group, "schedulingPolicy", "policy");
    for (size_t i = 0; i < COUNT(later); i++)
        (void)json_object_del(group, later[i]); /* may be absent */
}

static void workload_to_kept_v1alpha1(json_t *object)
{
    rename_member(json_object_get(object, "spec"), "podGroups", "podGroupTemplates");
    each_template(object, group_to_kept_v1alpha1);
    to_kept(object);
}

static void workload_from_kept_v1alpha1(json_t *object)
{
    each_template(object, group_from_kept_v1alpha1);
    rename_member(json_object_get(object, "spec"), "podGroupTemplates", "podGroups");
    set_version(object, "v1alpha1");
}

static const struct field group_v1alpha1[] = {
    F_STRING("name", "The name of the group.", .is_required = true, .check = name_check_label),
    F_OBJECT("policy", gang_policy_fields, "The conditions for the pods' start.",
             .is_required = true),
    F_END,
};
static const struct field group_item_v1alpha1 = F_OBJECT(NULL, group_v1alpha1, "A group of pods.");

static const struct field workload_spec_v1alpha1[] = {
    F_OBJECT("controllerRef", gang_controller_fields, "The controller of the pods; not used."),
    F_LIST("podGroups", &group_item_v1alpha1, "The Workload's groups of pods.", .merge_key = "name",
           .is_unique = true, .is_required = true, .items_max = GANG_TEMPLATES_MAX),
    F_END,
};

static const struct field workload_v1alpha1[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", workload_spec_v1alpha1, "The Workload's groups of pods.", .is_required = true),
    F_END,
};

static void podgroup_to_kept_v1alpha1(json_t *object)
{
    static const char *const without_effect[] = {"minMember", "minResources",
                                                 "scheduleTimeoutSeconds"};
    json_t *spec = json_object_get(object, "spec");
    json_t *gang = json_object_at(json_object_at(spec, "schedulingPolicy"), "gang");

    json_put_int(gang, "minCount", json_int(spec, "minMember", 1));
    for (size_t i = 0; i < COUNT(without_effect); i++)
        (void)json_object_del(spec, without_effect[i]); /* may be absent */
    to_kept(object);
}

/* A group without a gang gets minMember 1. */
static void podgroup_from_kept_v1alpha1(json_t *object)
{
    const json_t *was = json_object_get(object, "spec");
    const char *class = json_text(was, "priorityClassName");
    json_t *spec = json_object();
    int64_t min = json_int_at(was, "schedulingPolicy", "gang", "minCount", NULL);

    json_put_int(spec, "minMember", min > 0 ? min : 1);
    if (class)
        json_put_text(spec, "priorityClassName", class);
    json_put(object, "spec", spec);
    set_version(object, "v1alpha1");
}

static const struct field podgroup_spec_v1alpha1[] = {
    F_INT("minMember", "The number of pods that start together.", .min = 1, .max = GANG_MEMBERS_MAX,
          .is_required = true),
    F_MAP("minResources", &quantity_item,
          "Implied: a gang starts only if all its pods' requests fit.", .support = FIELD_IGNORED,
          .items_max = 64),
    F_INT("scheduleTimeoutSeconds", "Without effect: a waiting gang holds nothing.",
          .support = FIELD_IGNORED, .min = 0, .max = INT32_MAX),
    F_STRING("priorityClassName", "The PriorityClass of the group.", .check = name_check_subdomain),
    F_END,
};

static const struct field podgroup_v1alpha1[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", podgroup_spec_v1alpha1, "The conditions for the pods' start.",
             .is_required = true),
    F_OBJECT("status", gang_podgroup_status, "The state of the group's pods."),
    F_END,
};

/* ---- the kinds ---- */

#define WORKLOAD_OF(v)                                                                        \
    .group = "scheduling.k8s.io", .version = (v), .api_version = "scheduling.k8s.io/" v,      \
    .kind = "Workload", .plural = "workloads", .singular = "workload", .is_namespaced = true, \
    .kept_as = &kind_gang, .doc = "Groups of pods that start together."

#define PODGROUP_OF(v)                                                                        \
    .group = "scheduling.k8s.io", .version = (v), .api_version = "scheduling.k8s.io/" v,      \
    .kind = "PodGroup", .plural = "podgroups", .singular = "podgroup", .is_namespaced = true, \
    .has_status = true, .kept_as = &kind_podgroup, .doc = "Pods that start together."

const struct kind kind_gang_v1alpha1 = {
    WORKLOAD_OF("v1alpha1"),
    .fields = workload_v1alpha1,
    .to_kept = workload_to_kept_v1alpha1,
    .from_kept = workload_from_kept_v1alpha1,
};

const struct kind kind_podgroup_v1alpha1 = {
    PODGROUP_OF("v1alpha1"),
    .fields = podgroup_v1alpha1,
    .to_kept = podgroup_to_kept_v1alpha1,
    .from_kept = podgroup_from_kept_v1alpha1,
};

const struct kind kind_gang_v1alpha2 = {
    WORKLOAD_OF("v1alpha2"),
    .fields = workload_v1alpha2,
    .to_kept = workload_to_kept_v1alpha2,
    .from_kept = workload_from_kept_v1alpha2,
};

const struct kind kind_gang_v1alpha3 = {
    WORKLOAD_OF("v1alpha3"),
    .fields = gang_workload_fields,
    .to_kept = to_kept,
    .from_kept = from_kept_v1alpha3,
};

const struct kind kind_podgroup_v1alpha2 = {
    PODGROUP_OF("v1alpha2"),
    .fields = podgroup_v1alpha2,
    .to_kept = podgroup_to_kept_v1alpha2,
    .from_kept = podgroup_from_kept_v1alpha2,
};

const struct kind kind_podgroup_v1alpha3 = {
    PODGROUP_OF("v1alpha3"),
    .fields = gang_podgroup_fields,
    .to_kept = to_kept,
    .from_kept = from_kept_v1alpha3,
};
