/*
 * topology.h - which pods are to be together: in one domain, the nodes with the same value of a
 * label
 *
 * Said by annotations, in the words of Kueue: of a pod (in the template of a Job, ...) for the pods
 * of its set, of a PodGroup or Workload for all of a group. A native PodGroup says it in its spec.
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/network_tiers.h"

#define TOPOLOGY_REQUIRED  "kueue.x-k8s.io/podset-required-topology"
#define TOPOLOGY_PREFERRED "kueue.x-k8s.io/podset-preferred-topology"

/* Annotation of a pod, "required": its gpus are in one link group of the node. */
#define TOPOLOGY_GPU_LINK "mete.dev/gpu-link"

/* Annotations of a PodGroup, the server's own: the labels of its tiers (network_tiers.h), the
 * narrowest first, and the one that is required. */
#define TOPOLOGY_TIER_REQUIRED "mete.dev/network-tier-required"
extern const char *const topology_tier_names[NETWORK_TIERS_MAX];

enum {
    /* Of one object: preferred, required, that of its spec, and tiers. */
    TOPOLOGY_MAX = 3 + NETWORK_TIERS_MAX
};

struct topology_level {
    const char *key; /* of a node label; borrowed */
    bool is_required;
};

/* The narrowest first. `spec` is that of a native group, or NULL. How many there are. */
size_t topology_read(const json_t *object, const json_t *spec,
                     struct topology_level ret[TOPOLOGY_MAX]);

bool topology_is_linked(const json_t *pod);

/* Causes for annotations that cannot be, or that would restrict and are not implemented. */
void topology_validate(const json_t *object, const struct path *at, struct causes *causes);
