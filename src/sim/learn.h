/*
 * learn.h - learns the table of policy "mete" by filling a cluster again and again, on paper
 *
 * Pods are drawn from what is asked for and placed by the table as it is so far, until 130 % of the
 * cluster's gpu was asked for; what stayed idle beside each gpu's earlier states makes the next
 * table. The same input gives the same table. docs/placement.md has the method and its figures.
 */
#pragma once

#include "sim/value_table.h"

enum {
    LEARN_NODES_MAX = 1 << 16,
    LEARN_KINDS_MAX = 4096,
    LEARN_MODELS_MAX = 64,
    LEARN_GPUS_MAX = 64 /* of a node */
};

struct learn_node {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t model; /* which of the models */
};

struct learn_kind {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t gpu_milli; /* of each: 1 .. 1000; 0 without gpus */
    uint64_t models;    /* bits of those it accepts; 0: any */
    uint64_t weight;    /* how often it is asked for; their sum is at most 2^32 */
};

struct learn_input {
    const struct learn_node *nodes;
    size_t n_nodes;
    const struct learn_kind *kinds;
    size_t n_kinds;
    const char *const *models;
    size_t n_models;
    uint64_t seed;
};

/* ERR_INVALID: past one of the limits, or nothing to learn from (no gpus, none asked for). */
struct err *learn_values(const struct learn_input *in, struct value_table **ret) MUST_CHECK;
