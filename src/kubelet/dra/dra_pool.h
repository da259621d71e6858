/*
 * dra_pool.h - the ResourceSlices of this node's pool, as documents without I/O
 *
 * The slices of a pool have one generation: the scheduler looks at a pool only when all slices of
 * its newest generation are there.
 */
#pragma once

#include "kubelet/dra/dra_devices.h"

enum dra_version {
    DRA_V1BETA1, /* Kubernetes 1.32: a device's facts are in its member `basic` */
    DRA_V1BETA2,
    DRA_V1,
    DRA_VERSIONS
};

/* "v1beta1", ... */
const char *dra_version_text(enum dra_version v);

/* The newest version of an APIGroup document that this driver knows. False: none. */
bool dra_version_choose(const json_t *group, enum dra_version *ret);

/*
 * The specs of the node's slices: an array, at least one, without generations. `has_taints` false:
 * the server keeps no taints, and devices that are not healthy are left out. A new array.
 */
json_t *dra_pool_specs(const char *node, const struct dra_devices *d, enum dra_version v,
                       bool has_taints);

/* "node-1-gpu.nvidia.com", "node-1-gpu.nvidia.com-1". The caller frees it. */
char *dra_pool_slice_name(const char *node, size_t number);

/* The spec of a published slice, without its generation and what the server adds: comparable with
 * dra_pool_specs. A new object. */
json_t *dra_pool_bare_spec(const json_t *slice);

/* Did the server drop the taints of a spec that it stored as `bare`? */
bool dra_pool_lost_taints(const json_t *spec, const json_t *bare);
