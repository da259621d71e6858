/*
 * podsets.h - ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets: keep the wanted
 * pods of each
 *
 * The semantics are those of Kubernetes' controllers. All sets share one watch of pods.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"

struct podsets;

struct podsets_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *podsets_new(const struct podsets_options *o, struct podsets **ret) MUST_CHECK;
void podsets_free(struct podsets *s); /* accepts NULL */
