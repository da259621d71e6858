/*
 * node_lease.h - the lease of a node, its only sign of life: names and times, for node and server
 *
 * The node renews the Lease kube-node-lease/NODE every NODE_LEASE_RENEW_S. The server counts
 * NODE_LEASE_S from the arrival of a renewal, by its own monotonic clock; wall clocks do not
 * matter.
 */
#pragma once

#define NODE_LEASE_NAMESPACE "kube-node-lease"

enum {
    NODE_LEASE_S = 40,
    NODE_LEASE_RENEW_S = 10,
};
