/*
 * kube_devices.h - the gpus of a cluster's nodes, where nobody says more of them than a number
 *
 * A node with `mete kube node` will say its gpus in the annotation mete.dev/gpus. Of any other node
 * the API server knows amounts: nvidia.com/gpu: 8. Such a node gets as many gpus with made-up names
 * ("NODE-gpu-3"), model and memory by the labels of GPU Feature Discovery; which of its gpus a pod
 * gets is its kubelet's affair. A pod that another scheduler bound gets the names of gpus that are
 * free, so that they count as held; if too few are free, fewer.
 */
#pragma once

#include "base/json.h"
#include "kinds/ledger.h"
#include "model/device.h"

struct kube_devices;

/* Until kube_devices_loaded, nodes that go are kept: their pods may not have been put yet. */
struct kube_devices *kube_devices_new(void);
void kube_devices_loaded(struct kube_devices *d);
void kube_devices_free(struct kube_devices *d); /* accepts NULL */

/*
 * The node with its gpus: a new reference to `node`, or to a copy with the annotation. Gpus that
 * the node has but may not give now (capacity over allocatable) are out of service, free ones
 * first.
 */
json_t *kube_devices_put_node(struct kube_devices *d, const json_t *node);
/* Does the node's status or annotation say that it has gpus? */
bool kube_devices_has_gpus(const json_t *node);
void kube_devices_remove_node(struct kube_devices *d, const char *name);

/* The pod with its devices, in the same way. A pod that has ended holds none. Then
 * kube_devices_moved may have pods that have to be put again, before this one counts. */
json_t *kube_devices_put_pod(struct kube_devices *d, const json_t *pod);
/* "ns/name" of a pod whose made-up gpus another pod has by name: the pod gets others when it is put
 * again. The caller frees it; NULL: there are no more. */
char *kube_devices_moved(struct kube_devices *d);
/* The same of a pod that can get more of what it asks for, because another pod has ended: to be put
 * after that end. */
char *kube_devices_filled(struct kube_devices *d);
/* Does a pod that names its gpus hold the whole device, or all replicas of its gpu? What pods whose
 * gpus were named here have does not count. */
bool kube_devices_hold(const struct kube_devices *d, const char *node, const struct device *device);
void kube_devices_remove_pod(struct kube_devices *d, const char *ns, const char *name);

/* A binding of the pod ("ns/name") is on its way: while the node has other free gpus, pods of other
 * schedulers do not get the names of `pod`'s. The promise ends when the pod is put with a node,
 * when it is removed, or by kube_devices_unpromise. */
void kube_devices_promise(struct kube_devices *d, const char *key, const struct ledger_pod *pod);
void kube_devices_unpromise(struct kube_devices *d, const char *key); /* without one: nothing */
