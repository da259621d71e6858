/*
 * node_monitor.h - which nodes are alive, and the taints that say so
 *
 * A node lives while it renews its Lease (kinds/node_lease.h). A renewal is a change of renewTime,
 * timed by our monotonic clock; wall clocks of nodes do not matter. A node whose Lease was not
 * renewed for `node_grace_ns` gets Ready Unknown (reason NodeStatusUnknown). Taints:
 * node.kubernetes.io/unreachable while Ready is Unknown, .../not-ready while Ready is False or
 * missing, each with the effect NoSchedule and, while another node is ready, also with NoExecute
 * (taints.h: pods tolerate these for 300 s by default); .../unschedulable with NoSchedule while
 * spec.unschedulable is set (cordon).
 *
 * A fenced node (kinds/node_lease.h) gets NoExecute only once its pods have surely ended.
 *
 * The server cannot know if the containers of a silent node run: a pod that is to end there keeps
 * its gpus until the node reports its end, or until the Node object is deleted (gc.h).
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct node_monitor;

struct node_monitor_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    int64_t node_grace_ns;   /* 0: NODE_LEASE_S */
};

struct err *node_monitor_new(const struct node_monitor_options *o,
                             struct node_monitor **ret) MUST_CHECK;
void node_monitor_free(struct node_monitor *m); /* accepts NULL */
