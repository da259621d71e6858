/*
 * topology.h - topology constraints: pods that go to one domain
 *
 * Kueue's annotations on a pod (or a Job's template) constrain the pods of its set; on a PodGroup
 * or Workload they constrain the whole group. A native PodGroup has constraints in its spec.
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/network_tiers.h"

#define TOPOLOGY_REQUIRED  "kueue.x-k8s.io/podset-required-topology"
#define TOPOLOGY_PREFERRED "kueue.x-k8s.io/podset-preferred-topology"

/* Annotation of a pod, "required": its gpus must be in one link group of the node. */
#define TOPOLOGY_GPU_LINK "mete.dev/gpu-link"

/* Annotations that the server writes onto a PodGroup: the node labels of its tiers
 * (network_tiers.h), the narrowest first, and the required one. */
#define TOPOLOGY_TIER_REQUIRED "mete.dev/network-tier-required"
extern const char *const topology_tier_names[NETWORK_TIERS_MAX];

enum {
    /* Levels of an object: preferred, required, that of its spec, and tiers. */
    TOPOLOGY_MAX = 3 + NETWORK_TIERS_MAX
};

struct topology_level {
    const char *key; /* key of a node label; borrowed */
    bool is_required;
};

/* Reads an object's levels, the narrowest first; returns their number. `spec`: a native group's, or
 * NULL. */
size_t topology_read(const json_t *object, const json_t *spec,
                     struct topology_level ret[TOPOLOGY_MAX]);

bool topology_is_linked(const json_t *pod);

/* Adds causes for malformed annotations, and for restricting ones that are not implemented. */
void topology_validate(const json_t *object, const struct path *at, struct causes *causes);
