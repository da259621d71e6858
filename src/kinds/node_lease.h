/*
 * node_lease.h - the lease of a node, its only sign of life: names and times, for node and server
 *
 * The node renews the Lease kube-node-lease/NODE every NODE_LEASE_RENEW_S. The server counts
 * NODE_LEASE_S from the arrival of a renewal, by its own monotonic clock; wall clocks do not
 * matter. The node counts from when it sent the renewal, which is never later: its lease ends
 * first.
 *
 * A fenced node (annotation NODE_FENCED) starts nothing without its lease, and ends each pod that
 * does not tolerate an unreachable node for longer, by NODE_FENCE_STOP_S after the pod's
 * toleration. The server lets evictions begin NODE_FENCE_STOP_S + NODE_FENCE_MARGIN_S after the
 * node's lease: then the node's pods have surely ended. The margin covers the times of signals and
 * timers; clocks may differ by 500 ppm each, for which the node shortens tolerations by a
 * thousandth. The node's process must run: containers outlive it, and without it nobody ends them.
 */
#pragma once

#define NODE_LEASE_NAMESPACE "kube-node-lease"
#define NODE_FENCED          "mete.dev/fenced" /* annotation of a Node: "true" */
#define TAINT_UNREACHABLE    "node.kubernetes.io/unreachable"

/* Message in the status of a pod that its node ended, with the reason Evicted, for want of a lease.
 */
#define NODE_LEASE_LOST "the node could not renew its lease with the server"

enum {
    NODE_LEASE_S = 40,
    NODE_LEASE_RENEW_S = 10,
    NODE_FENCE_STOP_S = 30, /* the longest grace of a pod that a fence ends */
    NODE_FENCE_MARGIN_S = 10,
};
