/*
 * A score is a list of terms, the first one leading: fewest disliked taints (3 bits), gpus that
 * reach each other (2), what the placement leaves of the gpus (7), how full the node gets (10).
 */
#include "engine/policy.h"

#include "base/str.h"
#include "engine/fit.h"

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

static uint32_t lead(const struct node *n, const struct shape *s, uint64_t free)
{
    unsigned disliked = n->n_taints > 0 ? fit_disliked(n, s) : 0;
    uint32_t liked = disliked < 7 ? 7 - disliked : 0;

    return liked << 28 | (uint32_t)devices_quality(n, free, s->gpus) << 26;
}

/* Pods without gpus keep away from nodes that have some. */
static uint32_t score_binpack(const struct node *n, const struct shape *s)
{
    uint64_t free = fit_gpus(n, s);
    uint32_t left = bits(n->healthy & ~n->held);

    if (s->gpus == 0)
        left = n->n_gpus == 0 ? 0 : 1 + left;
    else
        left -= s->gpus;
    return lead(n, s, free) | (127 - left) << 19 | fullness(n, s) << 9;
}

static uint32_t score_spread(const struct node *n, const struct shape *s)
{
    uint64_t free = fit_gpus(n, s);
    uint32_t left = bits(n->healthy & ~n->held);

    if (s->gpus == 0)
        left = n->n_gpus == 0 ? 127 : left;
    else
        left -= s->gpus;
    return lead(n, s, free) | left << 19 | (FULL - fullness(n, s)) << 9;
}

static const struct policy policies[] = {
    {"binpack", score_binpack},
    {"spread", score_spread},
};

const struct policy *policy_find(const char *name)
{
    if (!name)
        return &policies[0];
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (text_equal(policies[i].name, name))
            return &policies[i];
    return NULL;
}
