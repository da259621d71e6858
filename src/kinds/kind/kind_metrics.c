/* kind_metrics.c - metrics.k8s.io PodMetrics and NodeMetrics: usage for kubectl top */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field container_fields[] = {
    F_STRING("name", "The container.", .size_max = 63),
    F_MAP("usage", &quantity_item, "cpu and memory."),
    F_END,
};

static const struct field container_item = {
    .type = FIELD_OBJECT, .fields = container_fields, .doc = "The usage of a container."};

static const struct field pod_fields[] = {
    F_TYPE_AND_METADATA,
    F_TIME("timestamp", "The end of the window."),
    F_STRING("window", "The length of the window.", .size_max = 32),
    F_LIST("containers", &container_item, "The running containers."),
    F_END,
};

static const struct field node_fields[] = {
    F_TYPE_AND_METADATA,
    F_TIME("timestamp", "The end of the window."),
    F_STRING("window", "The length of the window.", .size_max = 32),
    F_MAP("usage", &quantity_item, "cpu and memory."),
    F_END,
};

const struct kind kind_pod_metrics = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .api_version = "metrics.k8s.io/v1beta1",
    .kind = "PodMetrics",
    .plural = "pods",
    .singular = "",
    .is_namespaced = true,
    .is_view = true,
    .fields = pod_fields,
    .doc = "The usage of a pod's containers in its node's last sample; never stored.",
};

const struct kind kind_node_metrics = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .api_version = "metrics.k8s.io/v1beta1",
    .kind = "NodeMetrics",
    .plural = "nodes",
    .singular = "",
    .is_view = true,
    .fields = node_fields,
    .doc = "The usage of a node in its last sample; never stored.",
};
