/*
 * level.h - nodes by the values of some labels: racks, blocks, NVLink domains
 *
 * A level is a cache of the domains and their nodes, as of e->labels_version, and of the free
 * amounts of each domain, which catch up with changed nodes as the trees of shapes do.
 */
#pragma once

#include "engine/state.h"

#define DOMAIN_NONE UINT32_MAX

struct domain {
    uint32_t first; /* the nodes, by name: level->nodes[first .. first + n_nodes - 1] */
    uint32_t n_nodes;
    uint32_t place;      /* in level->order */
    uint64_t free_gpus;  /* wholly free gpus, on nodes that take pods */
    uint64_t free_milli; /* of all healthy gpus */
    int64_t free_cpu;
};

/* The amounts that a node adds to its domain, and its index in level->nodes. */
struct level_node {
    uint32_t domain; /* or DOMAIN_NONE */
    uint32_t index;
    uint32_t free_gpus;
    uint32_t free_milli;
    int64_t free_cpu;
    bool is_vast;
};

struct level {
    uint32_t keys[2 * METE_DOMAINS_MAX]; /* label keys, the narrowest first */
    size_t n_keys;
    struct domain *domains; /* by the texts of their labels' values */
    uint32_t n_domains;
    uint32_t *values; /* n_keys for each domain, interned; the nodes hold them */
    struct node **nodes;
    size_t n_nodes;
    struct level_node *by_slot;
    size_t n_slots;
    uint32_t *order; /* domains by free gpus, fewest first, then by number */
    uint32_t
        *by_free; /* gpus_max + 1 for each domain: the number of nodes with 0, 1, .. free gpus */
    uint32_t gpus_max;
    uint32_t n_vast; /* nodes with more free cpu than the sums count: then the sums are no bound */
    uint64_t labels_at; /* e->labels_version */
    uint64_t seen;      /* e->changes at the last count */
    uint64_t used_at;
    unsigned pins; /* users; a level with pins is not dropped */
};

/* Finds or makes the level, up to date until the next change. A pinned level (`pins`) stays the
 * same object. */
struct level *level_get(struct mete_engine *e, const uint32_t *keys, size_t n_keys);
/* Recounts the nodes that changed. The set of nodes and their labels must be those of the level. */
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

/* The first index in level->order of a domain with at least `free_gpus`. */
uint32_t level_first_with(const struct level *l, uint64_t free_gpus);

/* An upper bound of the pods of this shape that fit in the domain now. Ignores backfill
 * reservations. */
uint64_t level_bound(const struct level *l, uint32_t domain, const struct shape *s);

/* NULL, or the first difference from a new count. */
const char *levels_check(struct mete_engine *e);
