/*
 * replay_cluster.h - the jobs of a trace on a cluster's nodes and queues, by the engine as a server
 * runs it
 *
 * Orders: ENGINE as the cluster's queues and fairness say, with backfill and preemption; PRIORITY
 * likewise, all queues as one; FIFO and SJF (true durations) start strictly one after the other,
 * whatever the queues' order. A preempted job keeps what it did and pays as in replay.h.
 */
#pragma once

#include "sim/replay.h"
#include "sim/sim_cluster.h"

enum cluster_order {
    CLUSTER_ENGINE,
    CLUSTER_PRIORITY,
    CLUSTER_FIFO,
    CLUSTER_SJF,
};

struct cluster_policy {
    enum cluster_order order;
    char placement[32]; /* of the engine */
};

/* "engine", "priority", "fifo" or "sjf", and if wanted ":" and a placement. ERR_INVALID: what is
 * known. */
struct err *cluster_policy_parse(struct str text, struct cluster_policy *ret) MUST_CHECK;

struct cluster_replay {
    const struct sim_cluster *cluster;
    const struct job_trace *trace;
    struct cluster_policy policy;
    struct replay_options options; /* nodes and gpus_per_node are not looked at */
};

/* Fills `ret`, one for each job. ERR_INVALID: the engine refuses something, or a job never starts:
 * says why. */
struct err *cluster_replay_run(const struct cluster_replay *r, struct replay_job *ret) MUST_CHECK;
