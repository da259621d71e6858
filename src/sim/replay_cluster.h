/*
 * replay_cluster.h - replays of a trace's jobs on a cluster's nodes and queues, by the real engine
 *
 * ENGINE takes the order of the cluster's queues and fairness, with backfill and preemption.
 * PRIORITY is the same with all queues as one. FIFO and SJF (true durations) start jobs strictly
 * one after the other, and ignore the queues' order. A preempted job keeps its progress, and pays
 * as in replay.h.
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

/* Reads "engine", "priority", "fifo" or "sjf", optionally with ":" and a placement policy.
 * ERR_INVALID lists these. */
struct err *cluster_policy_parse(struct str text, struct cluster_policy *ret) MUST_CHECK;

struct cluster_replay {
    const struct sim_cluster *cluster;
    const struct job_trace *trace;
    struct cluster_policy policy;
    struct replay_options options; /* nodes and gpus_per_node are ignored */
};

/* Fills `ret`, one entry for each job. ERR_INVALID: the engine refuses a call, or a job never
 * starts, with the reason. */
struct err *cluster_replay_run(const struct cluster_replay *r, struct replay_job *ret) MUST_CHECK;
