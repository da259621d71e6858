/*
 * demand.h - the usual demand, and the part of a node's idle gpu that it cannot use
 *
 * Fragmentation as in Weng et al., USENIX ATC 2023: for a kind of pod, a node's idle gpu is a
 * fragment when the node cannot host the pod (by gpus, models and cpu; memory is ignored); else the
 * fragment is the idle part of gpus with less than the pod asks of one. A node's fragment is the
 * mean over the kinds by weight, in integers: 1/1000 of a gpu times weights.
 */
#pragma once

#include "engine/state.h"

void levels_of(const struct mete_engine *e, const struct node *n, struct levels *ret);

/* A kind of pod of the demand. */
struct demand_kind {
    struct shape *shape; /* held by the demand */
    int64_t weight;
};

const struct demand_kind *demand_kinds(const struct demand *d, size_t *ret_n);

/* The sum of the weights; and the total of mete_demand_set, which includes untold kinds. */
int64_t demand_weight(const struct demand *d);
int64_t demand_total(const struct demand *d);

/* The count of kinds' cpu requests that are at most `cpu`. */
size_t demand_cpus_within(const struct demand *d, int64_t cpu);

/* The node's fragment times the weight. */
int64_t demand_fragment(const struct demand *d, const struct node *n, const struct levels *l);

void demand_free(struct mete_engine *e, struct demand *d);
