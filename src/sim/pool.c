/* Nodes by how many gpus they have free: a bit set each, so that the best node is a few words away.
 */
#include "sim/pool.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct pool {
    uint32_t nodes;
    uint32_t gpus_per_node;
    uint32_t free_gpus;
    uint32_t words;                    /* of one set */
    uint32_t count[POOL_GPUS_MAX + 1]; /* of nodes with so many free gpus */
    uint8_t *free;                     /* of each node */
    uint64_t *sets;                    /* gpus_per_node + 1 of them */
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
    p->sets = mem_alloc((gpus_per_node + 1) * p->words * sizeof(uint64_t));
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

void pool_copy(struct pool *to, const struct pool *from)
{
    assert(to->nodes == from->nodes && to->gpus_per_node == from->gpus_per_node);
    to->free_gpus = from->free_gpus;
    memcpy(to->count, from->count, sizeof(to->count));
    memcpy(to->free, from->free, from->nodes);
    memcpy(to->sets, from->sets, (from->gpus_per_node + 1) * from->words * sizeof(uint64_t));
}

/* The lowest node with that many free gpus; there is one. */
static uint32_t lowest(const struct pool *p, uint32_t free)
{
    const uint64_t *set = p->sets + free * p->words;
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

/* The smallest number of free gpus, at least `gpus`, that a node has; 0: none has. */
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
        hold.nodes[i] = lowest(p, p->gpus_per_node);
        set_free(p, hold.nodes[i], 0);
    }
    if (rest > 0) {
        uint32_t free = tightest(p, rest);

        hold.node = lowest(p, free);
        set_free(p, hold.node, free - rest);
    }
    *ret = hold;
    return true;
}

void pool_release(struct pool *p, const struct pool_hold *hold)
{
    for (uint32_t i = 0; i < hold->n_nodes; i++)
        set_free(p, hold->nodes[i], p->gpus_per_node);
    if (hold->gpus > 0)
        set_free(p, hold->node, p->free[hold->node] + hold->gpus);
}

void pool_give(struct pool *p, struct pool_hold *hold)
{
    pool_release(p, hold);
    free(hold->nodes);
    *hold = (struct pool_hold){0};
}

uint32_t pool_free_gpus(const struct pool *p)
{
    return p->free_gpus;
}

uint32_t pool_gpus(const struct pool *p)
{
    return p->nodes * p->gpus_per_node;
}

bool pool_take_both(struct pool *p, struct pool *other, uint32_t gpus, struct pool_hold *ret)
{
    const uint32_t full = gpus / p->gpus_per_node;
    const uint32_t rest = gpus % p->gpus_per_node;
    struct pool_hold hold = {.n_nodes = full, .gpus = rest};
    uint32_t n = 0;
    uint32_t best = UINT32_MAX;

    if (full > 0)
        hold.nodes = mem_alloc(full * sizeof(*hold.nodes));
    for (uint32_t i = 0; i < p->nodes && n < full; i++)
        if (p->free[i] == p->gpus_per_node && other->free[i] == p->gpus_per_node)
            hold.nodes[n++] = i;
    for (uint32_t i = 0; i < p->nodes && rest > 0; i++) {
        bool is_used = false;
        for (uint32_t k = 0; k < n; k++)
            is_used = is_used || hold.nodes[k] == i;
        if (is_used || p->free[i] < rest || other->free[i] < rest)
            continue;
        if (best == UINT32_MAX || p->free[i] < p->free[best])
            best = i;
    }
    if (n < full || (rest > 0 && best == UINT32_MAX)) {
        free(hold.nodes);
        return false;
    }
    for (uint32_t i = 0; i < full; i++) {
        set_free(p, hold.nodes[i], 0);
        set_free(other, hold.nodes[i], 0);
    }
    if (rest > 0) {
        hold.node = best;
        set_free(p, best, p->free[best] - rest);
        set_free(other, best, other->free[best] - rest);
    }
    *ret = hold;
    return true;
}

void pool_reset(struct pool *p)
{
    for (uint32_t i = 0; i < p->nodes; i++)
        if (p->free[i] != p->gpus_per_node)
            set_free(p, i, p->gpus_per_node);
}
bool pool_hold_take(struct pool *p, const struct pool_hold *hold)
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
bool pool_take_prefer(struct pool *p, struct pool *other, uint32_t gpus, struct pool_hold *ret)
{
    /* of the nodes where it fits, those where `other` has most free of what is asked, then fewest
     * free in p */
    const uint32_t full = gpus / p->gpus_per_node;
    const uint32_t rest = gpus % p->gpus_per_node;
    struct pool_hold hold = {.n_nodes = full, .gpus = rest};
    uint32_t n = 0;
    if (!pool_fits(p, gpus))
        return false;
    if (full > 0)
        hold.nodes = mem_alloc(full * sizeof(*hold.nodes));
    for (uint32_t want = p->gpus_per_node; n < full; want--)
        for (uint32_t i = 0; i < p->nodes && n < full; i++)
            if (p->free[i] == p->gpus_per_node && other->free[i] == want) {
                hold.nodes[n++] = i;
                set_free(p, i, 0);
            }
    if (rest > 0) {
        uint32_t best = UINT32_MAX;
        uint32_t bo = 0;
        for (uint32_t i = 0; i < p->nodes; i++) {
            uint32_t o = other->free[i] < rest ? other->free[i] : rest;
            if (p->free[i] < rest)
                continue;
            if (best == UINT32_MAX || o > bo || (o == bo && p->free[i] < p->free[best]))
                best = i, bo = o;
        }
        hold.node = best;
        set_free(p, best, p->free[best] - rest);
    }
    *ret = hold;
    return true;
}
