/*
 * taints.h - ends pods on nodes with a NoExecute taint that they do not tolerate
 *
 * As Kubernetes' taint eviction controller: a pod without a matching toleration ends at once, a pod
 * whose matching tolerations have tolerationSeconds ends when the shortest of them is over. The
 * time counts from the taint's timeAdded, or from when the pod came to the node if that is later,
 * so that a restart of the server changes nothing. The pod gets the condition DisruptionTarget with
 * the reason DeletionByTaintManager and ends with its grace; a pod that no controller makes anew
 * comes back to the queue (kinds/object/requeue.h). Disruption budgets are not asked.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"

struct taints;

struct taints_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *taints_new(const struct taints_options *o, struct taints **ret) MUST_CHECK;
void taints_free(struct taints *t); /* accepts NULL */
