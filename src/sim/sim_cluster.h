/*
 * sim_cluster.h - nodes and queues for replays on the real engine: from a document, or from a
 * running Mete
 *
 * The cluster is kept as lines of engine/record/record.h, so it has everything that calls can say
 * of nodes and queues.
 */
#pragma once

#include "base/json.h"
#include "mete/engine.h"

/* A running or waiting job of a running Mete, with a time limit. */
struct cluster_job {
    uint64_t id;
    int64_t left_ns; /* time limit less the time already run */
    bool runs;
};

struct sim_cluster;

struct sim_cluster *sim_cluster_new(void);
void sim_cluster_free(struct sim_cluster *c); /* accepts NULL */
static inline void sim_cluster_freep(struct sim_cluster **c)
{
    sim_cluster_free(*c);
}

/*
 * Adds the nodes of a document {"kind": "Cluster", "nodes": [{"name", "count", "gpus", "model",
 * "mig", "gpuMemory", "cpu", "memory", "labels"}]}, which docs/simulator.md explains. ERR_INVALID:
 * the mistake, and the right form.
 */
struct err *sim_cluster_add_nodes(struct sim_cluster *c, const json_t *document) MUST_CHECK;

/* Adds nodes of one kind, named PREFIX-0 and so on. */
struct err *sim_cluster_add_like(struct sim_cluster *c, const char *prefix, uint32_t count,
                                 uint32_t gpus, const char *model) MUST_CHECK;
/* Removes the last nodes. ERR_INVALID: the cluster has fewer. */
struct err *sim_cluster_remove_last(struct sim_cluster *c, uint32_t count) MUST_CHECK;

/* Adds a queue; its parent first. */
void sim_cluster_add_queue(struct sim_cluster *c, const struct mete_queue *queue);
void sim_cluster_set_fairness(struct sim_cluster *c, const struct mete_fairness *fairness);

/*
 * Adds the nodes, queues and jobs of a recording. `ret_left_out` is the number of jobs without a
 * time limit, which are left out because their end is unknown.
 */
struct err *sim_cluster_add_recording(struct sim_cluster *c, struct str recording,
                                      size_t *ret_left_out) MUST_CHECK;

size_t sim_cluster_node_count(const struct sim_cluster *c);
double sim_cluster_gpus(const struct sim_cluster *c);        /* of all nodes */
uint32_t sim_cluster_gpus_most(const struct sim_cluster *c); /* of one node */
int64_t sim_cluster_now_ns(const struct sim_cluster *c);     /* of the recording; else 0 */
const struct cluster_job *sim_cluster_jobs(const struct sim_cluster *c, size_t *ret_count);

/* Makes the cluster's calls to an engine. ERR_INVALID: the engine refuses a call. */
struct err *sim_cluster_apply(const struct sim_cluster *c, struct mete_engine *e) MUST_CHECK;
/* The fairness set, or {0}. */
struct mete_fairness sim_cluster_fairness(const struct sim_cluster *c);
