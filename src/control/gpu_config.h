/*
 * gpu_config.h - finds for each node how its gpus are to be divided
 *
 * The sources are those of NVIDIA's GPU Operator. The ClusterPolicy (the first by name) names
 * ConfigMaps: devicePlugin.config for replicas (gpu/sharing_config.h), migManager.config for MIG
 * (gpu/mig_config.h, key config.yaml). A node's label nvidia.com/device-plugin.config chooses the
 * key, else the policy's default; without a policy that names a ConfigMap, the label names the
 * ConfigMap itself, whose only key counts. The label nvidia.com/mig.config names the configuration
 * within the mig-parted file; the policy's migManager.config.default is that of nodes without the
 * label, and with migManager.enabled: false there is none. ConfigMaps count in the namespaces
 * gpu-operator, nvidia-gpu-operator, nvidia-device-plugin and kube-system only, in this order: the
 * owner of another namespace must not divide gpus.
 *
 * The result is the annotation mete.dev/gpu-config of the Node:
 *
 *   {"plugin":{...},"mig":{"name":"all-1g.10gb","document":{...}},"problem":"ConfigMap ..."}
 *
 * A configuration that cannot be read leaves the node's last one, adds `problem`, and makes the
 * policy's status.state notReady.
 */
#pragma once

#include "control/cluster.h"

struct gpu_config;

struct gpu_config_options {
    struct loop *loop;
    struct cluster *cluster;
};

struct err *gpu_config_new(const struct gpu_config_options *o, struct gpu_config **ret) MUST_CHECK;
void gpu_config_free(struct gpu_config *g); /* accepts NULL */

/* The objects that a node's configuration is made of. */
struct gpu_config_sources {
    const json_t *policy; /* NULL: none */
    /* ConfigMaps by "NAMESPACE/NAME" */
    const json_t *maps;
};

/*
 * Makes the value of the annotation for a node; NULL: none. `before` is the present value, or NULL.
 * A new tree.
 */
json_t *gpu_config_resolve(const struct gpu_config_sources *s, const json_t *labels,
                           const json_t *before);

/* Can Mete read the ConfigMaps of this namespace? */
bool gpu_config_has_namespace(const char *ns);
