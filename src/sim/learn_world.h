/* learn_world.h - a fast simulated cluster for learning; private to learn.c */
#pragma once

#include "sim/chance.h"
#include "sim/learn.h"

/* Pods with equal requests, except memory. */
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
    int64_t value; /* of its present state */
    uint16_t free[LEARN_GPUS_MAX];
};

/* The idle gpu of a node that the demand could not use, by model and free cpu: see world_value. */
struct world_fragment {
    int64_t *cpus; /* steps, ascending */
    size_t n_cpus;
    int32_t (
        *single)[METE_VALUES_LEVELS]; /* weight of kinds of one gpu that need more than the level */
    int32_t *none; /* weight of kinds without a gpu, with several gpus, or that do not run there */
    int32_t (*several)[METE_VALUES_WHOLE]; /* of these, kinds that run with this many whole gpus */
};

struct world {
    const struct learn_input *in;
    struct world_class *classes;
    size_t n_classes;
    uint32_t *class_of;       /* by kind */
    uint64_t *up_to;          /* sums of the kinds' weights */
    struct world_node *empty; /* the nodes without pods */
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

    int32_t *costs;    /* of each class on each node; INT32_MAX: does not fit */
    size_t *seen;      /* by class: the number of changes seen; SIZE_MAX: no costs yet */
    uint32_t *changes; /* the nodes that changed, in order */
    size_t n_changes;
    size_t changes_room;
};

void world_init(struct world *w, const struct learn_input *in);
void world_done(struct world *w);

/* Empties all nodes, and puts them in a random order, which breaks ties. */
void world_clear(struct world *w, struct chance *c);

/* A random kind, by weight. */
uint32_t world_draw(const struct world *w, struct chance *c);

/* Places a pod of the kind. Returns the node, or SIZE_MAX. */
size_t world_place(struct world *w, uint32_t kind);

/* The table's first entry for the node's present state. */
size_t world_entry(const struct world *w, const struct world_node *n);
