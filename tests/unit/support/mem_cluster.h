/*
 * mem_cluster.h - a cluster for tests that obeys control/cluster.h and promises nothing more
 *
 * The objects are those of the world's store, which validates and judges each write. Between the
 * store and the loops everything is late, by a seeded generator: events of watches, `synced`,
 * reads, answers, and writes themselves. Events of one object keep their order, and so do writes of
 * one resource; all else comes in any order, answers before or after the events of their writes.
 *
 * Answers may be lost, and bindings and evictions may be lost with their answers.
 */
#pragma once

#include "control/cluster.h"
#include "world.h"

struct mem_cluster_options {
    struct world *world; /* outlives the cluster */
    uint64_t seed;
    unsigned turns_max;   /* of the loop, by which something is late */
    int64_t delay_max_ns; /* the same in time, one in four times; 0: time stands still */
    unsigned lost_pct;    /* of answers */
    unsigned dropped_pct; /* of bindings and evictions */
};

/* Watches and reads must be gone before cluster_free. Lost answers come then, as errors. */
struct cluster *mem_cluster_new(const struct mem_cluster_options *o);

/* From now on so many answers are lost, and so many bindings and evictions. */
void mem_cluster_lose(struct cluster *c, unsigned lost_pct, unsigned dropped_pct);
