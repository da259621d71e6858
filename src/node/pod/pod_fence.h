/*
 * pod_fence.h - the fence: what the pods of a node do without the node's lease (kinds/node_lease.h)
 *
 * No container starts while the lease is not held. A pod ends once it has been without the lease
 * for as long as it tolerates an unreachable node. A node without a fence (the node of `mete up`)
 * does neither: its containers go on while the server is away.
 */
#pragma once

#include "node/pod/pods.h"

/* Puts up the fence; called before pods_adopt. `held_to_ns` as of pods_lease. */
void pods_fence(struct pods *set, int64_t held_to_ns);
/* The lease is held until then (monotonic). Without a fence: nothing. */
void pods_lease(struct pods *set, int64_t held_to_ns);
bool pods_may_start(const struct pods *set);
