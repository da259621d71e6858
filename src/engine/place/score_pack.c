/*
 * Below the lead: what the placement leaves of whole gpus (7 bits), how tightly a share sits or how
 * full the node gets (10), the same of the other (9).
 */
#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    FULL = 1000
};

/* used of capacity in 1/1000, at most 1000. */
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

/* The fullest of the requested resources once the pod is there. */
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

/* Whole gpus that are free once the pod is there. */
static uint32_t whole_left(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint64_t free = n->healthy & ~n->held;

    return shape_is_share(s) ? bits(free & ~policy_devices(e, n, s)) : bits(free) - s->gpus;
}

/* What a share leaves of its gpu, at most FULL. */
static uint32_t share_left(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    int bit = __builtin_ctzll(policy_devices(e, n, s));

    return n->free_milli[bit] - s->milli;
}

/* Pods without gpus keep away from nodes that have some. */
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
