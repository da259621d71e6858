/* pod_spec_fields.c - the schema of PodSpec */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "model/names.h"

static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const operators[] = {"Equal", "Exists", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
static const char *const systems[] = {"linux", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirst", "ClusterFirstWithHostNet", "Default",
                                           "None", NULL};

static const struct field toleration_fields[] = {
    F_STRING("key", "The taint's key; none with Exists: every taint.",
             .check = name_check_qualified),
    F_STRING("operator", "Exists, or Equal to a value.", .values = operators),
    F_STRING("value", "The taint's value, for Equal.", .check = name_check_label_value),
    F_STRING("effect", "The taint's effect; none: every effect.", .values = effects),
    F_INT("tolerationSeconds", "How long a NoExecute taint is tolerated; none: for ever."),
    F_END,
};
static const struct field toleration_item =
    F_OBJECT(NULL, toleration_fields, "A taint that does not keep the pod away.");

static const struct field local_reference_fields[] = {
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_END,
};
static const struct field pull_secret_item =
    F_OBJECT(NULL, local_reference_fields, "A secret with a registry's password.");

static const struct field os_fields[] = {
    F_STRING("name", "linux.", .is_required = true, .values = systems),
    F_END,
};

static const struct field workload_ref_fields[] = {
    F_STRING("name", "The Workload.", .is_required = true, .check = name_check_subdomain),
    F_STRING("podGroup", "The pod group in it.", .is_required = true, .check = name_check_label),
    F_STRING("podGroupReplicaKey", "Which copy of that group.", .check = name_check_label),
    F_END,
};

static const struct field scheduling_group_fields[] = {
    F_STRING("podGroupName", "The PodGroup.", .is_required = true, .check = name_check_subdomain),
    F_END,
};

static const struct field gate_fields[] = {
    F_STRING("name", "Whose gate it is.", .is_required = true, .size_max = 317),
    F_END,
};
static const struct field gate_item = F_OBJECT(NULL, gate_fields, "One reason to wait.");

const struct field pod_spec_fields[] = {
    F_LIST("volumes", &volume_item, "Directories that containers can mount.", .merge_key = "name",
           .is_unique = true, .items_max = 128),
    F_LIST("initContainers", &container_item, "Run before the others, one after another.",
           .merge_key = "name", .is_unique = true, .items_max = 64),
    F_LIST("containers", &container_item, "The containers, which run together.",
           .merge_key = "name", .is_unique = true, .is_required = true, .items_max = 64),
    F_REFUSED("ephemeralContainers", "Containers added to a running pod."),
    F_STRING("restartPolicy", "When containers that ended are started again.",
             .fallback = "\"Always\"", .values = restart_policies),
    F_INT("terminationGracePeriodSeconds", "Between SIGTERM and SIGKILL.", .fallback = "30",
          .min = 0, .max = INT32_MAX),
    F_INT("activeDeadlineSeconds", "How long the pod may be active.", .min = 1, .max = INT32_MAX),
    F_STRING("dnsPolicy", "Where names are resolved: always as on the node.",
             .support = FIELD_IGNORED, .fallback = "\"ClusterFirst\"",
             .harmless = "\"ClusterFirst\"", .values = dns_policies),
    F_ANY("dnsConfig", "Where names are resolved.", .support = FIELD_IGNORED),
    F_MAP("nodeSelector", &label_value_item, "Labels that the node must have.",
          .check_key = name_check_qualified, .items_max = 64),
    F_STRING("serviceAccountName", "Who the pod is to the API.", .fallback = "\"default\"",
             .check = name_check_subdomain, .size_max = 253),
    F_STRING("serviceAccount", "The old name of serviceAccountName.", .size_max = 253),
    F_BOOL("automountServiceAccountToken",
           "Whether a token is mounted; else as its account says, else unless that is default."),
    F_STRING("nodeName", "The node it is bound to.", .check = name_check_subdomain),
    F_BOOL("hostNetwork", "Whether it uses the node's network: all pods do."),
    F_REFUSED("hostPID", "Whether it sees the node's processes.", .harmless = "false"),
    F_REFUSED("hostIPC", "Whether it shares the node's IPC.", .harmless = "false"),
    F_REFUSED("shareProcessNamespace", "Whether its containers see each other's processes.",
              .harmless = "false"),
    F_BOOL("hostUsers", "Whether its users are the node's: only where an administrator asks."),
    F_OBJECT("securityContext", pod_security_fields, "Rights of its containers.", .fallback = "{}"),
    F_LIST("imagePullSecrets", &pull_secret_item, "Passwords of registries.", .merge_key = "name",
           .items_max = 64),
    F_STRING("hostname", "Its host name: the node's.", .support = FIELD_IGNORED, .size_max = 63),
    F_STRING("hostnameOverride", "Its host name: the node's.", .support = FIELD_IGNORED,
             .size_max = 64),
    F_STRING("subdomain", "Its DNS subdomain.", .support = FIELD_IGNORED, .size_max = 63),
    F_BOOL("setHostnameAsFQDN", "Whether its host name is qualified.", .support = FIELD_IGNORED,
           .harmless = "false"),
    F_OBJECT("affinity", pod_affinity_fields, "Where it wants to be."),
    F_STRING("schedulerName", "Who places it.", .fallback = "\"default-scheduler\"",
             .size_max = 253),
    F_LIST("tolerations", &toleration_item, "Taints that do not keep it away.", .items_max = 128),
    F_LIST("hostAliases", &host_alias_item, "Lines of /etc/hosts, but for the image host.",
           .merge_key = "ip", .items_max = 256),
    F_STRING("priorityClassName", "The PriorityClass that its priority comes from.",
             .check = name_check_subdomain),
    F_INT("priority", "Higher goes first.", .min = INT32_MIN, .max = INT32_MAX),
    F_STRING("preemptionPolicy", "Whether others may be ended for it.",
             .values = preemption_policies),
    F_REFUSED("readinessGates", "More conditions of readiness."),
    F_REFUSED("runtimeClassName", "Which runtime starts it."),
    F_BOOL("enableServiceLinks", "Whether services are in its environment: there are none.",
           .fallback = "true"),
    F_REFUSED("overhead", "What its runtime needs."),
    F_LIST("topologySpreadConstraints", &pod_spread_item, "How copies spread.",
           .merge_key = "topologyKey", .items_max = 32),
    F_OBJECT("os", os_fields, "Its operating system."),
    F_LIST("schedulingGates", &gate_item, "What must be taken away before it is placed.",
           .merge_key = "name", .is_unique = true, .items_max = 64),
    F_REFUSED("resourceClaims", "Devices claimed by DRA."),
    F_REFUSED("resources", "What all its containers ask for together."),
    F_OBJECT("workloadRef", workload_ref_fields, "The gang that it is of, of a v1alpha1 Workload."),
    F_OBJECT("schedulingGroup", scheduling_group_fields, "The gang that it is of, a PodGroup."),
    F_END,
};
