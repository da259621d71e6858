/*
 * deployments.h - apps/v1 Deployments: a ReplicaSet for each version of the template, rolled out
 *
 * The semantics are those of Kubernetes' deployment controller. All writes of a turn are one
 * transaction. A turn counts a ReplicaSet with its pods that still exist, not only with those that
 * it should have: at no time there are more than maxSurge pods too many, or more than
 * maxUnavailable too few by the controller's doing.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"

struct deployments;

struct deployments_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *deployments_new(const struct deployments_options *o,
                            struct deployments **ret) MUST_CHECK;
void deployments_free(struct deployments *s); /* accepts NULL */
