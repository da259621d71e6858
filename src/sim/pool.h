/*
 * pool.h - equal nodes with whole gpus, placed as by `consolidate` of the published Helios
 * simulator
 *
 * A job of at most a node's gpus goes to the node with the fewest free gpus that are enough, on
 * ties the lowest index. A larger job goes to idle nodes, and one further node for the rest.
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

/* The gpus that a job holds; {0}: none. pool_give frees it. */
struct pool_hold {
    uint32_t *nodes; /* held as a whole; NULL: none */
    uint32_t n_nodes;
    uint32_t node; /* the node of the rest */
    uint32_t gpus; /* gpus there; 0: none */
};

/* Both numbers are from 1 to their maximum: asserted. */
struct pool *pool_new(uint32_t nodes, uint32_t gpus_per_node);
void pool_free(struct pool *p);
static inline void pool_freep(struct pool **p)
{
    pool_free(*p);
}

/* Frees all gpus. */
void pool_clear(struct pool *p);

/* Would a job of this size fit now? */
bool pool_fits(const struct pool *p, uint32_t gpus);
/* Would a job of this size fit in the empty pool? */
bool pool_could_fit(const struct pool *p, uint32_t gpus);

/* Takes gpus. False: the job does not fit, and nothing changes. */
bool pool_take(struct pool *p, uint32_t gpus, struct pool_hold *ret);
/* Gives gpus back; `*hold` is {0} afterwards. */
void pool_give(struct pool *p, struct pool_hold *hold);

/* Takes the gpus of `hold`, which stays as it is. False: not all of them are free. */
bool pool_take_same(struct pool *p, const struct pool_hold *hold);

/* As pool_take, on nodes with the most free gpus in `other`. The job must fit: asserted. */
void pool_take_near(struct pool *p, const struct pool *other, uint32_t gpus, struct pool_hold *ret);

uint32_t pool_gpus(const struct pool *p);
