/*
 * level.h - the nodes by the values of some of their labels: racks, blocks, NVLink domains
 *
 * A level is a cache: which nodes are in which domain, as of e->labels_version, and how much is
 * free in each, which catches up as the trees of shapes do.
 */
#pragma once

#include "engine/state.h"

#define DOMAIN_NONE UINT32_MAX

struct domain {
    uint32_t first; /* its nodes, by name: level->nodes[first .. first + n_nodes - 1] */
    uint32_t n_nodes;
    uint32_t place;      /* in level->order */
    uint64_t free_gpus;  /* whole ones, on nodes that take pods */
    uint64_t free_milli; /* of all healthy gpus there */
    int64_t free_cpu;
};

/* What a node adds to its domain, and which of the level's nodes it is. */
struct level_node {
    uint32_t domain; /* or DOMAIN_NONE */
    uint32_t index;
    uint32_t free_gpus;
    uint32_t free_milli;
    int64_t free_cpu;
    bool is_vast;
};

struct level {
    uint32_t keys[2 * METE_DOMAINS_MAX]; /* the narrowest first */
    size_t n_keys;
    struct domain *domains; /* by the texts of their values */
    uint32_t n_domains;
    uint32_t *values; /* n_keys of each domain, as interned; the nodes hold them */
    struct node **nodes;
    size_t n_nodes;
    struct level_node *by_slot;
    size_t n_slots;
    uint32_t *order;   /* domains, the ones with fewest free gpus first, then by number */
    uint32_t *by_free; /* gpus_max + 1 of each domain: how many nodes have 0, 1, .. gpus free */
    uint32_t gpus_max;
    uint32_t n_vast;    /* nodes with more free cpu than is summed up: the sums are no bound */
    uint64_t labels_at; /* e->labels_version */
    uint64_t seen;      /* e->changes then */
    uint64_t used_at;
    unsigned pins; /* in use by that many: is not dropped */
};

/* Up to date, until something changes. Where it is pinned (`pins`) it is the same object again. */
struct level *level_get(struct mete_engine *e, const uint32_t *keys, size_t n_keys);
/* Counts what has changed since; which domains there are has not. */
void level_catch_up(struct mete_engine *e, struct level *l);
void levels_free(struct mete_engine *e);

static inline const uint32_t *domain_values(const struct level *l, uint32_t domain)
{
    return &l->values[domain * l->n_keys];
}

static inline struct node *const *domain_nodes(const struct level *l, uint32_t domain)
{
    return &l->nodes[l->domains[domain].first];
}

static inline uint32_t level_domain_of(const struct level *l, const struct node *n)
{
    return l->by_slot[n->slot].domain;
}

/* The first in level->order with at least so many free gpus. */
uint32_t level_first_with(const struct level *l, uint64_t free_gpus);

/* At least as many as pods of that shape fit there now; backfill reservations are not looked at. */
uint64_t level_bound(const struct level *l, uint32_t domain, const struct shape *s);

/* NULL, or what differs from counting anew. */
const char *levels_check(struct mete_engine *e);
