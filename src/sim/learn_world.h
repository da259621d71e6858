/* learn_world.h - a cluster on paper, as fast as can be, for learning; private to learn.c */
#pragma once

#include "sim/chance.h"
#include "sim/learn.h"

/* Pods alike but for their memory. */
struct world_class {
    int64_t cpu_milli;
    uint32_t gpus;
    uint32_t gpu_milli;
    uint64_t models;
    uint64_t weight;
    int64_t asked_milli; /* in this episode */
    int64_t denied_milli;
};

struct world_node {
    int64_t cpu_milli; /* free */
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t model;
    int64_t value; /* what it comes to as it is */
    uint16_t free[LEARN_GPUS_MAX];
};

/* What of a node's idle gpu the mix could not use, by model and free cpu: see world_value. */
struct world_fragment {
    int64_t *cpus; /* steps, ascending */
    size_t n_cpus;
    int32_t (*single)[METE_VALUES_LEVELS]; /* weight of kinds of one gpu that need more than that */
    int32_t *none; /* weight of all that do not run there, or need more gpus */
    int32_t (*several)[METE_VALUES_WHOLE]; /* of these, those that run with so many whole gpus */
};

struct world {
    const struct learn_input *in;
    struct world_class *classes;
    size_t n_classes;
    uint32_t *class_of;       /* of a kind */
    uint64_t *up_to;          /* sums of the kinds' weights */
    struct world_node *empty; /* the nodes as they are without pods */
    struct world_node *nodes;
    size_t n_nodes;
    int64_t capacity_milli;
    int64_t used_milli;
    int64_t model_milli[LEARN_MODELS_MAX];

    int64_t cpu_steps[METE_VALUES_CPU_MAX];
    size_t n_cpu_steps;
    const int32_t *idle; /* the table: METE_VALUES_SIZE entries */
    int32_t price_milli[LEARN_MODELS_MAX];
    int64_t fragment_milli;
    struct world_fragment fragments[LEARN_MODELS_MAX];

    int32_t *costs;    /* of each class for each node; INT32_MAX where it does not fit */
    size_t *seen;      /* of each class: how many of the changes; SIZE_MAX: none */
    uint32_t *changes; /* nodes */
    size_t n_changes;
    size_t changes_room;
};

void world_init(struct world *w, const struct learn_input *in);
void world_done(struct world *w);

/* All nodes empty, in an order drawn by chance, which breaks ties. */
void world_clear(struct world *w, struct chance *c);

/* A kind, as often as it is asked for. */
uint32_t world_draw(const struct world *w, struct chance *c);

/* The node that got it, or SIZE_MAX. */
size_t world_place(struct world *w, uint32_t kind);

/* Of the table: the first entry for a node as it is. */
size_t world_entry(const struct world *w, const struct world_node *n);
