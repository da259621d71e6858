/*
 * jobs.h - batch/v1 Jobs: pods are made, replaced and counted until enough of them have succeeded
 *
 * The semantics are those of Kubernetes' job controller. Each pod carries the finalizer
 * batch.kubernetes.io/job-tracking until it is counted, and the transaction that takes the
 * finalizer away is the one that counts it: every pod counts exactly once, whenever the server is
 * killed (Kubernetes, which has no such transaction, goes through uncountedTerminatedPods). An
 * active pod without the finalizer was let go and is deleted.
 *
 * A turn costs what changed: a job keeps sums over its pods, which events move.
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
