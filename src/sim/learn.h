/*
 * learn.h - learns the table of policy "mete" by filling a simulated cluster many times
 *
 * Each episode draws pods from the demand and places them by the present table, until the pods
 * asked for 130 % of the cluster's gpu. The next table comes from each gpu's earlier states and the
 * compute that stayed idle. The same input gives the same table. docs/placement.md has the method
 * and its figures.
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
    uint32_t model; /* index into `models` */
};

struct learn_kind {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t gpu_milli; /* of each: 1 .. 1000; 0 without gpus */
    uint64_t models;    /* bits of the accepted models; 0: any */
    uint64_t weight;    /* how often pods ask for it; the sum over kinds is at most 2^32 */
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

/* ERR_INVALID: the input exceeds a limit, has no gpus, or no kind asks for gpus. */
struct err *learn_values(const struct learn_input *in, struct value_table **ret) MUST_CHECK;
