/* kube_trim.h - what the cluster's scheduler keeps of a pod and of a node */
#pragma once

#include "base/json.h"

/*
 * Drops members that no decision and no report reads, in place: how a container's program starts
 * and is probed, mounts and volumes without a claim, addresses, images of nodes.
 */
void kube_trim_pod(json_t *pod);
void kube_trim_node(json_t *node);
