/*
 * pool.h - equal nodes of whole gpus, dealt out as the published Helios simulator's `consolidate`
 *
 * A job of at most a node's gpus goes to the feasible node with the fewest free ones (the lowest
 * index on ties); a larger one to entirely free nodes, and where it is no multiple of a node, to
 * one node more for the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    POOL_NODES_MAX = 1 << 16,
    POOL_GPUS_MAX = 64 /* of a node */
};

struct pool;

/* What a job holds: {0} for nothing. Freed by pool_give. */
struct pool_hold {
    uint32_t *nodes; /* entirely; NULL: none */
    uint32_t n_nodes;
    uint32_t node; /* and of this one */
    uint32_t gpus; /* so many; 0: none */
};

/* Both numbers from 1 to their cap: asserted. */
struct pool *pool_new(uint32_t nodes, uint32_t gpus_per_node);
void pool_free(struct pool *p);
static inline void pool_freep(struct pool **p)
{
    pool_free(*p);
}

/* Nobody holds anything. */
void pool_clear(struct pool *p);

/* Would that many fit now? */
bool pool_fits(const struct pool *p, uint32_t gpus);
/* And in the empty pool? */
bool pool_could_fit(const struct pool *p, uint32_t gpus);

/* False where it does not fit, and nothing changes. */
bool pool_take(struct pool *p, uint32_t gpus, struct pool_hold *ret);
/* {0} after. */
void pool_give(struct pool *p, struct pool_hold *hold);

/* Takes what `hold` says, which is not changed; false where not all of it is free. */
bool pool_take_same(struct pool *p, const struct pool_hold *hold);

/* As pool_take for what fits (asserted), on nodes of which `other` has as much free as can be. */
void pool_take_near(struct pool *p, const struct pool *other, uint32_t gpus, struct pool_hold *ret);

uint32_t pool_gpus(const struct pool *p);
