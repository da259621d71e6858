/*
 * kind_clusterpolicy.c - nvidia.com/v1 ClusterPolicy: the GPU Operator's configuration
 *
 * Mete uses the members that choose how gpus are divided (control/gpu_config.h). The operator's
 * other members deploy programs that Mete does not need; each is kept and answered with a warning.
 */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const char *const strategies[] = {"none", "single", "mixed", NULL};

static const struct field plugin_map_fields[] = {
    F_STRING("name", "The ConfigMap with the configurations, by key.", .size_max = 253),
    F_STRING("default", "The key for nodes without a label.", .size_max = 253),
    F_END,
};

static const struct field mig_map_fields[] = {
    F_STRING("name", "The ConfigMap with a mig-parted file under the key config.yaml.",
             .size_max = 253),
    F_STRING("default", "The mig-config of nodes without a label.", .size_max = 253),
    F_END,
};

/* A member that Mete keeps and names in a warning; `reason` says why it has no effect. */
#define F_UNUSED(n, reason, ...) \
    F_ANY(n, "Not used by Mete.", .support = FIELD_IGNORED, .instead = (reason), ##__VA_ARGS__)
/* The same of a program that the operator deploys; `enabled: false` asks for nothing. */
#define F_PROGRAM(n, reason) F_UNUSED(n, reason, .is_switch = true)

static const char deploys_nothing[] = "mete deploys no such program";
static const char no_sandboxes[] = "mete runs no virtual machines";

/* The members by which the operator deploys a program. */
#define F_DEPLOYMENT                                                                           \
    F_UNUSED("repository", deploys_nothing), F_UNUSED("image", deploys_nothing),               \
        F_UNUSED("version", deploys_nothing), F_UNUSED("imagePullPolicy", deploys_nothing),    \
        F_UNUSED("imagePullSecrets", deploys_nothing), F_UNUSED("resources", deploys_nothing), \
        F_UNUSED("args", deploys_nothing), F_UNUSED("env", deploys_nothing),                   \
        F_UNUSED("securityContext", deploys_nothing),                                          \
        F_UNUSED("hostNetwork", deploys_nothing, .harmless = "false")

static const struct field plugin_mps_fields[] = {
    F_UNUSED("root", "mete keeps the directories of MPS daemons below its own data directory"),
    F_END,
};

static const struct field plugin_fields[] = {
    F_OBJECT("config", plugin_map_fields,
             "Configurations of the device plugin; the node label nvidia.com/device-plugin.config "
             "names the key."),
    F_OBJECT("mps", plugin_mps_fields, "Not used by Mete."),
    F_UNUSED("enabled", "mete offers gpus without a device plugin", .harmless = "true"),
    F_DEPLOYMENT,
    F_END,
};

static const struct field mig_fields[] = {
    F_STRING("strategy", "The names of resources for MIG instances.", .values = strategies),
    F_END,
};

static const struct field mig_manager_fields[] = {
    F_BOOL("enabled", "false: mig-configs have no effect."),
    F_OBJECT("config", mig_map_fields,
             "mig-parted files; the node label nvidia.com/mig.config names the configuration."),
    F_UNUSED("gpuClientsConfig", "mete stops no programs of others for a change of MIG",
             .harmless = "{\"name\": \"\"}"),
    F_DEPLOYMENT,
    F_END,
};

static const struct field host_paths_fields[] = {
    F_UNUSED("rootFS", "mete works in the root file system of its node", .harmless = "\"/\""),
    F_UNUSED("driverInstallDir",
             "a node finds its driver in /, in /run/nvidia/driver, or as --driver-root says",
             .harmless = "\"/run/nvidia/driver\""),
    F_UNUSED("kubeletRootDir", "mete has no kubelet", .harmless = "\"/var/lib/kubelet\""),
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("devicePlugin", plugin_fields, "Replicas of gpus."),
    F_OBJECT("mig", mig_fields, "The strategy for MIG."),
    F_OBJECT("migManager", mig_manager_fields, "Partitions of gpus."),
    F_OBJECT("hostPaths", host_paths_fields, "Not used by Mete."),
    F_PROGRAM("driver", "mete installs no driver, and uses the one in / or in /run/nvidia/driver"),
    F_PROGRAM("toolkit", "mete gives containers the driver's files without a toolkit"),
    F_UNUSED("operator", "there is no operator to configure"),
    F_UNUSED("daemonsets", "mete deploys no DaemonSets"),
    F_UNUSED("cdi", "mete mounts the driver's files itself; --cdi-file writes a CDI file",
             .harmless = "{\"enabled\": true}"),
    F_UNUSED("gfd", "mete writes the labels of GPU Feature Discovery itself"),
    F_PROGRAM("dcgm", deploys_nothing),
    F_UNUSED("dcgmExporter", "mete has metrics of its own"),
    F_PROGRAM("nodeStatusExporter", deploys_nothing),
    F_UNUSED("validator", deploys_nothing),
    F_PROGRAM("psp", "mete has no pod security policies"),
    F_PROGRAM("psa", "mete labels no namespaces"),
    F_PROGRAM("gds", deploys_nothing),
    F_PROGRAM("gdrcopy", deploys_nothing),
    F_PROGRAM("sandboxWorkloads", no_sandboxes),
    F_PROGRAM("vfioManager", no_sandboxes),
    F_PROGRAM("sandboxDevicePlugin", no_sandboxes),
    F_PROGRAM("kataSandboxDevicePlugin", no_sandboxes),
    F_PROGRAM("vgpuManager", no_sandboxes),
    F_PROGRAM("vgpuDeviceManager", no_sandboxes),
    F_PROGRAM("kataManager", no_sandboxes),
    F_PROGRAM("ccManager", "mete sets no confidential computing mode"),
    F_UNUSED("fabricManager", deploys_nothing),
    F_UNUSED("nodeFeatureDiscovery", deploys_nothing),
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("Ready, Error."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the policy.");

static const struct field status_fields[] = {
    F_STRING("state", "ready, or notReady if a configuration cannot be used.", .size_max = 32),
    F_STRING("namespace", "The namespace of the ConfigMaps.", .size_max = 63),
    F_LIST("conditions", &condition_item, "The policy's conditions.", .merge_key = "type",
           .items_max = 16),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "How gpus are divided.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The present state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the policy."},
    {"Status", "string", "", 0, "ready or notReady."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *policy_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "status", "state", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_clusterpolicy = {
    .group = "nvidia.com",
    .version = "v1",
    .api_version = "nvidia.com/v1",
    .kind = "ClusterPolicy",
    .plural = "clusterpolicies",
    .singular = "clusterpolicy",
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = policy_cells,
    .doc = "The configuration of NVIDIA's GPU Operator, of which Mete uses what divides gpus.",
};
