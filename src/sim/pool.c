/* pool.c - nodes in bit sets by their number of free gpus */

#include "sim/pool.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct pool {
    uint32_t nodes;
    uint32_t gpus_per_node;
    uint32_t free_gpus;
    uint32_t words;                    /* of one set */
    uint32_t count[POOL_GPUS_MAX + 1]; /* by free gpus: the number of nodes */
    uint8_t *free;                     /* of each node */
    uint64_t *sets; /* by free gpus: a bit set of nodes, so that a search reads few words */
};

struct pool *pool_new(uint32_t nodes, uint32_t gpus_per_node)
{
    struct pool *p = mem_alloc(sizeof(*p));

    assert(nodes >= 1 && nodes <= POOL_NODES_MAX);
    assert(gpus_per_node >= 1 && gpus_per_node <= POOL_GPUS_MAX);
    p->nodes = nodes;
    p->gpus_per_node = gpus_per_node;
    p->free_gpus = nodes * gpus_per_node;
    p->words = (nodes + 63) / 64;
    p->free = mem_alloc(nodes);
    p->sets = mem_alloc(((size_t)gpus_per_node + 1) * p->words * sizeof(uint64_t));
    p->count[gpus_per_node] = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        p->free[i] = (uint8_t)gpus_per_node;
        p->sets[gpus_per_node * p->words + i / 64] |= UINT64_C(1) << i % 64;
    }
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    free(p->free);
    free(p->sets);
    free(p);
}

/* The lowest node with that many free gpus, which exists. */
static uint32_t pool_lowest(const struct pool *p, uint32_t free)
{
    const uint64_t *set = p->sets + (size_t)free * p->words;
    uint32_t i = 0;

    while (set[i] == 0)
        i++;
    return i * 64 + (uint32_t)__builtin_ctzll(set[i]);
}

static void set_free(struct pool *p, uint32_t node, uint32_t free)
{
    const uint32_t was = p->free[node];

    p->sets[was * p->words + node / 64] &= ~(UINT64_C(1) << node % 64);
    p->sets[free * p->words + node / 64] |= UINT64_C(1) << node % 64;
    p->count[was]--;
    p->count[free]++;
    p->free_gpus += free - was;
    p->free[node] = (uint8_t)free;
}

/* The smallest number of free gpus of a node, at least `gpus`; 0: no such node. */
static uint32_t tightest(const struct pool *p, uint32_t gpus)
{
    for (uint32_t f = gpus; f <= p->gpus_per_node; f++)
        if (p->count[f] > 0)
            return f;
    return 0;
}

bool pool_fits(const struct pool *p, uint32_t gpus)
{
    const uint32_t full = gpus / p->gpus_per_node;
    const uint32_t rest = gpus % p->gpus_per_node;
    const uint32_t idle = p->count[p->gpus_per_node];

    if (idle < full)
        return false;
    return rest == 0 || idle > full || tightest(p, rest) % p->gpus_per_node > 0;
}

bool pool_could_fit(const struct pool *p, uint32_t gpus)
{
    return gpus <= p->nodes * p->gpus_per_node;
}

bool pool_take(struct pool *p, uint32_t gpus, struct pool_hold *ret)
{
    const uint32_t full = gpus / p->gpus_per_node;
    const uint32_t rest = gpus % p->gpus_per_node;
    struct pool_hold hold = {.n_nodes = full, .gpus = rest};

    if (!pool_fits(p, gpus))
        return false;
    if (full > 0)
        hold.nodes = mem_alloc(full * sizeof(*hold.nodes));
    for (uint32_t i = 0; i < full; i++) {
        hold.nodes[i] = pool_lowest(p, p->gpus_per_node);
        set_free(p, hold.nodes[i], 0);
    }
    if (rest > 0) {
        uint32_t free = tightest(p, rest);

        hold.node = pool_lowest(p, free);
        set_free(p, hold.node, free - rest);
    }
    *ret = hold;
    return true;
}

void pool_give(struct pool *p, struct pool_hold *hold)
{
    for (uint32_t i = 0; i < hold->n_nodes; i++)
        set_free(p, hold->nodes[i], p->gpus_per_node);
    if (hold->gpus > 0)
        set_free(p, hold->node, p->free[hold->node] + hold->gpus);
    free(hold->nodes);
    *hold = (struct pool_hold){0};
}

void pool_clear(struct pool *p)
{
    if (p->free_gpus == pool_gpus(p))
        return;
    for (uint32_t i = 0; i < p->nodes; i++)
        if (p->free[i] != p->gpus_per_node)
            set_free(p, i, p->gpus_per_node);
}

bool pool_take_same(struct pool *p, const struct pool_hold *hold)
{
    for (uint32_t i = 0; i < hold->n_nodes; i++)
        if (p->free[hold->nodes[i]] != p->gpus_per_node)
            return false;
    if (hold->gpus > 0 && p->free[hold->node] < hold->gpus)
        return false;
    for (uint32_t i = 0; i < hold->n_nodes; i++)
        set_free(p, hold->nodes[i], 0);
    if (hold->gpus > 0)
        set_free(p, hold->node, p->free[hold->node] - hold->gpus);
    return true;
}

/* Takes the idle nodes with the most free gpus in `other`, on ties the lowest. */
static void take_idle(struct pool *p, const struct pool *other, struct pool_hold *hold)
{
    uint32_t n = 0;

    for (uint32_t want = p->gpus_per_node + 1; want > 0 && n < hold->n_nodes; want--) {
        for (uint32_t i = 0; i < p->nodes && n < hold->n_nodes; i++) {
            if (p->free[i] != p->gpus_per_node || other->free[i] != want - 1)
                continue;
            hold->nodes[n++] = i;
            set_free(p, i, 0);
        }
    }
    assert(n == hold->n_nodes);
}

/* The node with room for `gpus` that has most of them free in `other`, then the fullest. */
static uint32_t find_near(const struct pool *p, const struct pool *other, uint32_t gpus)
{
    uint32_t best = UINT32_MAX;
    uint32_t best_free = 0;

    for (uint32_t i = 0; i < p->nodes; i++) {
        const uint32_t free = other->free[i] < gpus ? other->free[i] : gpus;

        if (p->free[i] < gpus)
            continue;
        if (best == UINT32_MAX || free > best_free ||
            (free == best_free && p->free[i] < p->free[best])) {
            best = i;
            best_free = free;
        }
    }
    assert(best != UINT32_MAX);
    return best;
}

void pool_take_near(struct pool *p, const struct pool *other, uint32_t gpus, struct pool_hold *ret)
{
    struct pool_hold hold = {.n_nodes = gpus / p->gpus_per_node, .gpus = gpus % p->gpus_per_node};

    if (hold.n_nodes > 0)
        hold.nodes = mem_alloc(hold.n_nodes * sizeof(*hold.nodes));
    take_idle(p, other, &hold);
    if (hold.gpus > 0) {
        hold.node = find_near(p, other, hold.gpus);
        set_free(p, hold.node, p->free[hold.node] - hold.gpus);
    }
    *ret = hold;
}

uint32_t pool_gpus(const struct pool *p)
{
    return p->nodes * p->gpus_per_node;
}
