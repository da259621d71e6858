/* pod_spec_fields.c - the schema of PodSpec */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/pod/pod_view.h"
#include "model/names.h"

static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const operators[] = {"Equal", "Exists", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
static const char *const systems[] = {"linux", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirst", "ClusterFirstWithHostNet", "Default",
                                           "None", NULL};

static const struct field toleration_fields[] = {
    F_STRING("key", "The taint's key; absent with Exists: every taint.",
             .check = name_check_qualified),
    F_STRING("operator", "Exists, or Equal to a value.", .values = operators),
    F_STRING("value", "The taint's value, for Equal.", .check = name_check_label_value),
    F_STRING("effect", "The taint's effect; absent: every effect.", .values = effects),
    F_INT("tolerationSeconds", "Seconds that a NoExecute taint is tolerated; absent: for ever."),
    F_END,
};
const struct field toleration_item = F_OBJECT(NULL, toleration_fields, "A tolerated taint.");

static const struct field local_reference_fields[] = {
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_END,
};
static const struct field pull_secret_item = F_OBJECT(
    NULL, local_reference_fields, "A secret with a registry's password.", .is_atomic = true);

static const struct field os_fields[] = {
    F_STRING("name", "linux.", .is_required = true, .values = systems),
    F_END,
};

static const struct field workload_ref_fields[] = {
    F_STRING("name", "The Workload.", .is_required = true, .check = name_check_subdomain),
    F_STRING("podGroup", "The pod group in the Workload.", .is_required = true,
             .check = name_check_label),
    F_STRING("podGroupReplicaKey", "The replica of the pod group.", .check = name_check_label),
    F_END,
};

static const struct field scheduling_group_fields[] = {
    F_STRING("podGroupName", "The PodGroup.", .is_required = true, .check = name_check_subdomain),
    F_END,
};

static const struct field gate_fields[] = {
    F_STRING("name", "The name of the gate.", .is_required = true, .size_max = 317),
    F_END,
};
static const struct field gate_item =
    F_OBJECT(NULL, gate_fields, "A gate that keeps the pod unscheduled.");

static const struct field claim_fields[] = {
    F_STRING("name", "The pod's name for the claim.", .is_required = true,
             .check = name_check_label),
    F_STRING("resourceClaimName", "A ResourceClaim.", .check = name_check_subdomain),
    F_STRING("resourceClaimTemplateName", "The template of a claim of the pod's own.",
             .check = name_check_subdomain),
    F_END,
};
static const struct field claim_item = F_OBJECT(NULL, claim_fields, "A claim of devices.");

static const struct field dns_option_fields[] = {
    F_STRING("name", "The option.", .size_max = 253),
    F_STRING("value", "Its value.", .size_max = 253),
    F_END,
};
static const struct field dns_option_item = F_OBJECT(NULL, dns_option_fields, "An option.");
static const struct field dns_config_fields[] = {
    F_LIST("nameservers", &string_item, "Addresses of name servers.", .items_max = 3),
    F_LIST("searches", &string_item, "Domains to search.", .items_max = 32),
    F_LIST("options", &dns_option_item, "Options, as ndots.", .items_max = 64),
    F_END,
};

const struct field pod_spec_fields[] = {
    F_LIST("volumes", &volume_item, "Directories that containers can mount.", .merge_key = "name",
           .is_unique = true, .items_max = 128),
    F_LIST("initContainers", &container_item, "Run before the others, one after another.",
           .merge_key = "name", .is_unique = true, .items_max = 64),
    F_LIST("containers", &container_item, "The containers, which run together.",
           .merge_key = "name", .is_unique = true, .is_required = true, .items_max = 64),
    F_LIST("ephemeralContainers", &ephemeral_container_item,
           "Containers added to a running pod, by its subresource ephemeralcontainers.",
           .merge_key = "name", .is_unique = true, .items_max = POD_EPHEMERAL_MAX),
    F_STRING("restartPolicy", "When to restart containers that ended.", .fallback = "\"Always\"",
             .values = restart_policies),
    F_INT("terminationGracePeriodSeconds", "Seconds between SIGTERM and SIGKILL.", .fallback = "30",
          .min = 0, .max = INT32_MAX),
    F_INT("activeDeadlineSeconds", "Seconds that the pod may be active.", .min = 1,
          .max = INT32_MAX),
    F_STRING("dnsPolicy",
             "How names resolve; ClusterFirst needs the pod network, else: as on the node.",
             .fallback = "\"ClusterFirst\"", .values = dns_policies),
    F_OBJECT("dnsConfig", dns_config_fields, "Lines of resolv.conf, besides those of dnsPolicy."),
    F_MAP("nodeSelector", &label_value_item, "Labels that the node must have.",
          .check_key = name_check_qualified, .items_max = 64, .is_atomic = true),
    F_STRING("serviceAccountName", "The pod's identity to the API.", .fallback = "\"default\"",
             .check = name_check_subdomain, .size_max = 253),
    F_STRING("serviceAccount", "The old name of serviceAccountName.", .size_max = 253),
    F_BOOL("automountServiceAccountToken", "Whether a token is mounted; default: the account's "
                                           "setting, else true unless the account is `default`."),
    F_STRING("nodeName", "The pod's node.", .check = name_check_subdomain),
    F_BOOL("hostNetwork", "Whether the pod uses the node's network; without a pod network all do."),
    F_REFUSED("hostPID", "Whether the pod sees the node's processes.", .harmless = "false"),
    F_REFUSED("hostIPC", "Whether the pod shares the node's IPC.", .harmless = "false"),
    F_REFUSED("shareProcessNamespace", "Whether the containers see each other's processes.",
              .harmless = "false"),
    F_BOOL("hostUsers", "Whether the pod shares the node's users; true for administrators only."),
    F_OBJECT("securityContext", pod_security_fields, "Privileges of the containers.",
             .fallback = "{}"),
    F_LIST("imagePullSecrets", &pull_secret_item, "Passwords of registries.", .merge_key = "name",
           .items_max = 64),
    F_STRING("hostname",
             "The host name; absent: the pod's name, or without a pod network the "
             "node's.",
             .check = name_check_label, .size_max = 63),
    F_STRING("hostnameOverride", "The host name; without effect: pods have the node's.",
             .support = FIELD_IGNORED, .size_max = 64),
    F_STRING("subdomain", "A headless Service in whose domain the pod's hostname is.",
             .check = name_check_label, .size_max = 63),
    F_BOOL("setHostnameAsFQDN", "Whether the host name is qualified.", .support = FIELD_IGNORED,
           .harmless = "false"),
    F_OBJECT("affinity", pod_affinity_fields, "Affinity to nodes and pods."),
    F_STRING("schedulerName", "The scheduler of the pod.", .fallback = "\"default-scheduler\"",
             .size_max = 253),
    F_LIST("tolerations", &toleration_item, "Tolerated taints.", .items_max = 128),
    F_LIST("hostAliases", &host_alias_item, "Lines of /etc/hosts, except for the image `host`.",
           .merge_key = "ip", .items_max = 256),
    F_STRING("priorityClassName", "The pod's PriorityClass.", .check = name_check_subdomain),
    F_INT("priority", "The priority; higher starts first.", .min = INT32_MIN, .max = INT32_MAX),
    F_STRING("preemptionPolicy", "Whether the pod may preempt others.",
             .values = preemption_policies),
    F_REFUSED("readinessGates", "More conditions of readiness."),
    F_STRING("runtimeClassName", "The pod's RuntimeClass.", .check = name_check_subdomain),
    F_BOOL("enableServiceLinks", "Whether Services are in the environment, with a pod network.",
           .fallback = "true"),
    F_MAP("overhead", &quantity_item, "What the runtime takes: from the RuntimeClass.",
          .items_max = 64),
    F_LIST("topologySpreadConstraints", &pod_spread_item, "Spread constraints.",
           .merge_key = "topologyKey", .items_max = 32,
           .list_keys = {"topologyKey", "whenUnsatisfiable"}),
    F_OBJECT("os", os_fields, "The operating system."),
    F_LIST("schedulingGates", &gate_item, "Gates that must be removed before the pod is scheduled.",
           .merge_key = "name", .is_unique = true, .items_max = 64),
    F_LIST("resourceClaims", &claim_item, "Claims of devices that containers may name.",
           .merge_key = "name", .items_max = 32),
    F_REFUSED("resources", "Requests of all containers together."),
    F_OBJECT("workloadRef", workload_ref_fields, "The pod's gang, in a v1alpha1 Workload."),
    F_OBJECT("schedulingGroup", scheduling_group_fields, "The pod's gang, a PodGroup."),
    F_END,
};
