/*
 * kind_clusterpolicy.c - nvidia.com/v1 ClusterPolicy: the GPU Operator's configuration
 *
 * Mete uses the members that choose how gpus are divided (control/gpu_config.h). The operator's
 * other members deploy programs that Mete does not need; each is kept and answered with a warning.
 */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const char *const strategies[] = {"none", "single", "mixed", NULL};

static const struct field map_fields[] = {
    F_STRING("name", "The ConfigMap with the configurations, by key.", .size_max = 253),
    F_STRING("default", "The key for nodes without a label.", .size_max = 253),
    F_BOOL("create", "Whether the operator makes the ConfigMap.", .support = FIELD_IGNORED),
    F_ANY("data", "Contents of the ConfigMap.", .support = FIELD_IGNORED),
    F_END,
};

#define F_UNUSED(n) F_ANY(n, "Not used by Mete.", .support = FIELD_IGNORED)
/* The members by which the operator deploys a program. */
#define F_DEPLOYMENT                                                                      \
    F_UNUSED("enabled"), F_UNUSED("repository"), F_UNUSED("image"), F_UNUSED("version"),  \
        F_UNUSED("imagePullPolicy"), F_UNUSED("imagePullSecrets"), F_UNUSED("resources"), \
        F_UNUSED("args"), F_UNUSED("env")

static const struct field plugin_mps_fields[] = {
    F_UNUSED("root"),
    F_END,
};

static const struct field plugin_fields[] = {
    F_OBJECT("config", map_fields,
             "Configurations of the device plugin; the node label nvidia.com/device-plugin.config "
             "names the key."),
    F_OBJECT("mps", plugin_mps_fields, "Not used by Mete."),
    F_DEPLOYMENT,
    F_END,
};

static const struct field mig_fields[] = {
    F_STRING("strategy", "The names of resources for MIG instances.", .values = strategies),
    F_END,
};

static const struct field mig_manager_fields[] = {
    F_OBJECT("config", map_fields,
             "mig-parted files; the node label nvidia.com/mig.config names the configuration."),
    F_UNUSED("gpuClientsConfig"),
    F_DEPLOYMENT,
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("devicePlugin", plugin_fields, "Replicas of gpus."),
    F_OBJECT("mig", mig_fields, "The strategy for MIG."),
    F_OBJECT("migManager", mig_manager_fields, "Partitions of gpus."),
    F_UNUSED("operator"),
    F_UNUSED("daemonsets"),
    F_UNUSED("driver"),
    F_UNUSED("toolkit"),
    F_UNUSED("dcgm"),
    F_UNUSED("dcgmExporter"),
    F_UNUSED("nodeStatusExporter"),
    F_UNUSED("gfd"),
    F_UNUSED("psp"),
    F_UNUSED("psa"),
    F_UNUSED("validator"),
    F_UNUSED("gds"),
    F_UNUSED("gdrcopy"),
    F_UNUSED("sandboxWorkloads"),
    F_UNUSED("vfioManager"),
    F_UNUSED("sandboxDevicePlugin"),
    F_UNUSED("kataSandboxDevicePlugin"),
    F_UNUSED("vgpuManager"),
    F_UNUSED("vgpuDeviceManager"),
    F_UNUSED("cdi"),
    F_UNUSED("kataManager"),
    F_UNUSED("ccManager"),
    F_UNUSED("hostPaths"),
    F_UNUSED("fabricManager"),
    F_UNUSED("nodeFeatureDiscovery"),
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
