/*
 * demand.h - what is usually asked for, and how much of a node's idle gpu that could not use
 *
 * Fragmentation as in Weng et al., USENIX ATC 2023: for a kind of pod, idle gpu is a fragment where
 * the node cannot host such a pod (gpus, models, cpu; memory is not looked at), and else the part
 * on gpus with less than it asks of one. A node's is the mean over the kinds by weight. All in
 * integers: 1/1000 of a gpu times weights.
 */
#pragma once

#include "engine/state.h"

void levels_of(const struct mete_engine *e, const struct node *n, struct levels *ret);

/* A kind of pod, in the order in which they were told. */
struct demand_kind {
    struct shape *shape; /* held by the demand */
    int64_t weight;
};

const struct demand_kind *demand_kinds(const struct demand *d, size_t *ret_n);

/* The sum of all weights, and that with those of kinds that nobody told. */
int64_t demand_weight(const struct demand *d);
int64_t demand_total(const struct demand *d);

/* How many of the amounts of cpu that kinds ask for are within this one. */
size_t demand_cpus_within(const struct demand *d, int64_t cpu);

/* Fragment times weight. */
int64_t demand_fragment(const struct demand *d, const struct node *n, const struct levels *l);

void demand_free(struct mete_engine *e, struct demand *d);
