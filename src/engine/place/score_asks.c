/*
 * score_asks.c - the score of a node for a pod with asks
 *
 * The best node loses the fewest possible placements of slices, then has the least free compute.
 * Policy "spread" takes the node with the most free compute, "random" any node. All other policies
 * place pods with asks alike.
 */

#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    LOSS_BITS = 9,
    LEFT_BITS = 16, /* 64 gpus of MILLI */
};

/* The free compute of all healthy gpus in any mode, in 1/1000 of a gpu. */
static uint32_t milli_left(const struct node *n)
{
    return (uint32_t)(node_milli_free(n) + node_parts_milli_left(n));
}

uint32_t score_asks(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    static const uint32_t loss_max = (1u << LOSS_BITS) - 1;
    static const uint32_t left_max = (1u << LEFT_BITS) - 1;
    unsigned disliked = n->n_taints > 0 ? fit_disliked(n, s) : 0;
    uint32_t lead = (disliked < 7 ? 7 - disliked : 0) << (POLICY_BITS + 2);
    struct choice c;
    uint32_t left;

    if (!policy_deal(e, n, s, &c))
        return 0;
    if (e->policy->is_random)
        return (lead | (score_random(e, n, s) & ((1u << POLICY_BITS) - 1))) + 1;
    left = milli_left(n);
    left = left < left_max ? left : left_max;
    if (e->policy->spreads)
        return (lead | left) + 1;
    return (lead | (loss_max - (c.loss < loss_max ? c.loss : loss_max)) << LEFT_BITS |
            (left_max - left)) +
           1;
}
