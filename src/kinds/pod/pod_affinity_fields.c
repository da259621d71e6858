/* pod_affinity_fields.c - the schema of affinity and topologySpreadConstraints */

#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/pod/pod_fields.h"
#include "model/names.h"

enum {
    TERMS_MAX = 64, /* in one list; the scheduler accepts more in total */
    EXPRESSIONS_MAX = 64,
    KEYS_MAX = 64
};

static const struct field requirement_fields[] = {
    F_STRING("key", "The label.", .is_required = true, .check = name_check_qualified),
    F_STRING("operator", "In, NotIn, Exists, DoesNotExist, Gt or Lt.", .is_required = true),
    F_LIST("values", &label_value_item, "The values of In and NotIn, or the number of Gt and Lt.",
           .items_max = 256),
    F_END,
};
static const struct field requirement_item =
    F_OBJECT(NULL, requirement_fields, "A condition on a label of the node.");

static const struct field field_requirement_fields[] = {
    F_STRING("key", "metadata.name.", .is_required = true),
    F_STRING("operator", "In or NotIn.", .is_required = true),
    F_LIST("values", &string_item, "The only value.", .items_max = 256),
    F_END,
};
static const struct field field_requirement_item =
    F_OBJECT(NULL, field_requirement_fields, "A condition on a field of the node.");

static const struct field node_term_fields[] = {
    F_LIST("matchExpressions", &requirement_item, "Conditions on labels, all of which must hold.",
           .items_max = EXPRESSIONS_MAX),
    F_LIST("matchFields", &field_requirement_item, "Conditions on the node's name.",
           .items_max = EXPRESSIONS_MAX),
    F_END,
};
static const struct field node_term_item =
    F_OBJECT(NULL, node_term_fields, "Conditions on a node, all of which must hold.");

static const struct field node_selector_fields[] = {
    F_LIST("nodeSelectorTerms", &node_term_item, "Terms, one of which must hold.",
           .items_max = TERMS_MAX),
    F_END,
};

static const struct field preferred_term_fields[] = {
    F_INT("weight", "1 to 100."),
    F_OBJECT("preference", node_term_fields, "Preferred nodes.", .is_required = true),
    F_END,
};
static const struct field preferred_term_item =
    F_OBJECT(NULL, preferred_term_fields, "Preferred nodes with a weight.");

static const struct field node_affinity_fields[] = {
    F_OBJECT("requiredDuringSchedulingIgnoredDuringExecution", node_selector_fields,
             "Required conditions on the node.", .is_atomic = true),
    F_LIST("preferredDuringSchedulingIgnoredDuringExecution", &preferred_term_item,
           "Preferred nodes.", .items_max = TERMS_MAX),
    F_END,
};

static const struct field pod_term_fields[] = {
    F_OBJECT("labelSelector", label_selector_fields, "The selected pods; absent: none.",
             .is_atomic = true),
    F_LIST("namespaces", &string_item, "Namespaces of the selected pods; absent: the pod's own.",
           .items_max = KEYS_MAX),
    F_OBJECT("namespaceSelector", label_selector_fields,
             "{}: the selected pods are in any namespace. Other selectors are refused.",
             .is_atomic = true),
    F_STRING("topologyKey", "The node label that defines domains.", .check = name_check_qualified),
    F_LIST("matchLabelKeys", &string_item,
           "Labels with the same value on the selected pods and this pod.", .items_max = KEYS_MAX),
    F_LIST("mismatchLabelKeys", &string_item,
           "Labels with another value on the selected pods than on this pod.",
           .items_max = KEYS_MAX),
    F_END,
};
static const struct field pod_term_item =
    F_OBJECT(NULL, pod_term_fields, "A set of pods, and a topology.");

static const struct field weighted_term_fields[] = {
    F_INT("weight", "1 to 100."),
    F_OBJECT("podAffinityTerm", pod_term_fields, "A set of pods, and a topology.",
             .is_required = true),
    F_END,
};
static const struct field weighted_term_item =
    F_OBJECT(NULL, weighted_term_fields, "A set of pods with a weight.");

static const struct field pod_affinity_rules[] = {
    F_LIST("requiredDuringSchedulingIgnoredDuringExecution", &pod_term_item, "Required rules.",
           .items_max = TERMS_MAX),
    F_LIST("preferredDuringSchedulingIgnoredDuringExecution", &weighted_term_item,
           "Preferred rules.", .items_max = TERMS_MAX),
    F_END,
};

const struct field pod_affinity_fields[] = {
    F_OBJECT("nodeAffinity", node_affinity_fields, "Affinity to nodes."),
    F_OBJECT("podAffinity", pod_affinity_rules, "Affinity to domains with certain pods."),
    F_OBJECT("podAntiAffinity", pod_affinity_rules, "Anti-affinity to domains with certain pods."),
    F_END,
};

static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
static const char *const policies[] = {"Honor", "Ignore", NULL};

static const struct field spread_fields[] = {
    F_INT("maxSkew", "The most pods that a domain may have above the domain with the fewest."),
    F_STRING("topologyKey", "The node label that defines domains.", .check = name_check_qualified),
    F_STRING("whenUnsatisfiable",
             "DoNotSchedule, or ScheduleAnyway: prefer the domain that is least uneven.",
             .is_required = true, .values = actions),
    F_OBJECT("labelSelector", label_selector_fields, "The selected pods; absent: none.",
             .is_atomic = true),
    F_INT("minDomains", "With fewer domains than this, the fewest counts as 0."),
    F_STRING("nodeAffinityPolicy",
             "Honor: only nodes that match the pod's node affinity count. Default: Honor.",
             .values = policies),
    F_STRING("nodeTaintsPolicy", "Honor: only nodes with tolerated taints count. Default: Ignore.",
             .values = policies),
    F_LIST("matchLabelKeys", &string_item,
           "Labels with the same value on the selected pods and this pod.", .items_max = KEYS_MAX),
    F_END,
};
const struct field pod_spread_item =
    F_OBJECT(NULL, spread_fields, "An even spread of pods over domains.");
