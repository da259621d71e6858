/*
 * jobs.h - batch/v1 Jobs: creates, replaces and counts pods until enough have succeeded
 *
 * The semantics are those of Kubernetes' job controller. Each pod carries the finalizer
 * batch.kubernetes.io/job-tracking until it is counted, and one transaction counts the pod and
 * removes the finalizer: every pod counts exactly once, whenever the server is killed. (Kubernetes,
 * which has no such transaction, needs uncountedTerminatedPods.) An active pod without the
 * finalizer was released and is deleted.
 *
 * A turn costs as much as changed: a Job keeps sums over its pods, and events update them.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"

struct jobs;

struct jobs_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *jobs_new(const struct jobs_options *o, struct jobs **ret) MUST_CHECK;
void jobs_free(struct jobs *s); /* accepts NULL */
