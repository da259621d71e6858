/*
 * node_monitor.h - which nodes are alive, and the taints that tell it
 *
 * A sign of life is a change of the condition Ready's lastHeartbeatTime, timed by our monotonic
 * clock: nobody's wall clock counts. After `node_grace_ns` without one Ready becomes Unknown
 * (reason NodeStatusUnknown). Taints: node.kubernetes.io/unreachable while Ready is Unknown,
 * .../not-ready while it is False or was never told, each with the effect NoSchedule and, while
 * another node is ready, with the effect NoExecute (taints.h: pods tolerate these for 300 s, if
 * they say nothing else); .../unschedulable with NoSchedule while spec.unschedulable is set
 * (cordon).
 *
 * Whether the containers of a silent node run cannot be known: a pod that is to end there keeps its
 * gpus until the node says that it has ended, or the node's object is deleted (gc.h).
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct node_monitor;

struct node_monitor_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    int64_t node_grace_ns;   /* 0: 40 s */
};

struct err *node_monitor_new(const struct node_monitor_options *o,
                             struct node_monitor **ret) MUST_CHECK;
void node_monitor_free(struct node_monitor *m); /* accepts NULL */
