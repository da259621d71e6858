/*
 * kube_devices.h - the gpus of a cluster's nodes, where nobody says more of them than a number
 *
 * A node with `mete kube node` will say its gpus in the annotation mete.dev/gpus. Of any other node
 * the API server knows amounts: nvidia.com/gpu: 8. Such a node gets as many gpus with made-up names
 * ("NODE-gpu-3"), model and memory by the labels of GPU Feature Discovery; which of its gpus a pod
 * gets is its kubelet's affair. A pod that another scheduler bound gets the names of gpus that are
 * free, so that they count as held.
 */
#pragma once

#include "base/json.h"

struct kube_devices;

struct kube_devices *kube_devices_new(void);
void kube_devices_free(struct kube_devices *d); /* accepts NULL */

/*
 * The node with its gpus: a new reference to `node`, or to a copy with the annotation. Gpus that
 * the node has but may not give now (capacity over allocatable) are out of service, free ones
 * first.
 */
json_t *kube_devices_put_node(struct kube_devices *d, const json_t *node);
void kube_devices_remove_node(struct kube_devices *d, const char *name);

/* The pod with its devices, in the same way. A pod that has ended holds none. */
json_t *kube_devices_put_pod(struct kube_devices *d, const json_t *pod);
void kube_devices_remove_pod(struct kube_devices *d, const char *ns, const char *name);
