/*
 * taints.h - ends pods on nodes with a NoExecute taint that they do not tolerate
 *
 * As Kubernetes' taint eviction controller: a pod without a matching toleration ends at once; a pod
 * whose matching tolerations have tolerationSeconds ends after the shortest of them. The time
 * counts from the taint's timeAdded, or from the pod's arrival on the node if that is later: a
 * restart of the server changes nothing. The pod gets the condition DisruptionTarget with the
 * reason DeletionByTaintManager and ends with its grace period; a pod without a controller returns
 * to the queue (kinds/object/requeue.h). Disruption budgets do not count here.
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
