/*
 * sim_cluster.h - nodes and queues for a replay on the engine itself: written by people, or those
 * of a running Mete
 *
 * Kept as lines of engine/record/record.h, so that whatever the engine can be told of nodes and
 * queues comes along.
 */
#pragma once

#include "base/json.h"
#include "mete/engine.h"

/* What ran or waited in a running Mete, where its end can be told: it has a time limit. */
struct cluster_job {
    uint64_t id;
    int64_t left_ns; /* until it ends, once it runs */
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
 * Adds what a document {"kind": "Cluster", "nodes": [{"name", "count", "gpus", "model",
 * "mig", "gpuMemory", "cpu", "memory", "labels"}]} says; docs/simulator.md has what they mean.
 * ERR_INVALID: what is wrong, and what would be right.
 */
struct err *sim_cluster_add_nodes(struct sim_cluster *c, const json_t *document) MUST_CHECK;

/* More nodes of one kind, named PREFIX-0 and so on. */
struct err *sim_cluster_add_like(struct sim_cluster *c, const char *prefix, uint32_t count,
                                 uint32_t gpus, const char *model) MUST_CHECK;
/* The last ones go. ERR_INVALID: there are not so many. */
struct err *sim_cluster_remove_last(struct sim_cluster *c, uint32_t count) MUST_CHECK;

/* A queue as the engine takes it; parents first. */
void sim_cluster_add_queue(struct sim_cluster *c, const struct mete_queue *queue);
void sim_cluster_set_fairness(struct sim_cluster *c, const struct mete_fairness *fairness);

/*
 * Adds nodes, queues and jobs of a recording. `ret_left_out`: so many jobs have no time limit, so
 * nobody knows how long they take: they are not in the cluster.
 */
struct err *sim_cluster_add_recording(struct sim_cluster *c, struct str recording,
                                      size_t *ret_left_out) MUST_CHECK;

size_t sim_cluster_node_count(const struct sim_cluster *c);
double sim_cluster_gpus(const struct sim_cluster *c);        /* of all nodes */
uint32_t sim_cluster_gpus_most(const struct sim_cluster *c); /* of one node */
int64_t sim_cluster_now_ns(const struct sim_cluster *c);     /* of the recording; else 0 */
const struct cluster_job *sim_cluster_jobs(const struct sim_cluster *c, size_t *ret_count);

/* Tells it all to an engine. ERR_INVALID: what it refuses. */
struct err *sim_cluster_apply(const struct sim_cluster *c, struct mete_engine *e) MUST_CHECK;
/* As given, or {0}. */
struct mete_fairness sim_cluster_fairness(const struct sim_cluster *c);
