/*
 * score_pack.c - policies "binpack" and "spread"
 *
 * Below the lead, the score has three parts: the whole gpus that stay free (7 bits), then how full
 * the pod makes its gpu or its node (10), then how full it makes the node (9). "binpack" prefers
 * few free gpus and full nodes, "spread" the opposite.
 */

#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    FULL = 1000
};

/* used / capacity in 1/1000, at most 1000. */
static uint32_t per_mille(int64_t used, int64_t capacity)
{
    while (capacity > (INT64_C(1) << 50)) {
        capacity >>= 10;
        used >>= 10;
    }
    if (capacity <= 0 || used >= capacity)
        return FULL;
    return used <= 0 ? 0 : (uint32_t)(used * FULL / capacity);
}

/* The fill of the fullest requested resource with the pod, in 1/1000. */
static uint32_t fullness(const struct node *n, const struct shape *s)
{
    uint32_t most = 0;

    for (size_t i = 0; i < s->n_requests; i++) {
        const struct room *room = node_room(n, s->requests[i].resource);
        uint32_t here = per_mille(room->used + s->requests[i].amount, room->capacity);

        most = here > most ? here : most;
    }
    return most;
}

/* The number of wholly free gpus beside the pod. */
static uint32_t whole_left(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint64_t free = n->healthy & ~n->held;

    return shape_is_share(s) ? bits(free & ~policy_devices(e, n, s)) : bits(free) - s->gpus;
}

/* The free compute of the gpu beside the share, at most FULL. */
static uint32_t share_left(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    int bit = __builtin_ctzll(policy_devices(e, n, s));

    return n->free_milli[bit] - s->milli;
}

/* Pods without gpus prefer nodes without gpus. */
uint32_t score_binpack(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint32_t left = whole_left(e, n, s);
    uint32_t full = fullness(n, s);
    uint32_t tight = full;

    if (s->gpus == 0)
        left = n->n_gpus == 0 ? 0 : 1 + left;
    else if (shape_is_share(s))
        tight = FULL - share_left(e, n, s);
    return policy_lead(n, s) | (127 - left) << 19 | tight << 9 | full / 2;
}

uint32_t score_spread(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint32_t left = whole_left(e, n, s);
    uint32_t empty = FULL - fullness(n, s);
    uint32_t loose = empty;

    if (s->gpus == 0)
        left = n->n_gpus == 0 ? 127 : left;
    else if (shape_is_share(s))
        loose = share_left(e, n, s);
    return policy_lead(n, s) | left << 19 | loose << 9 | empty / 2;
}
