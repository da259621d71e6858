/*
 * Pods with asks: where the placements of slices that stay possible fall least, then where the
 * least is left of the gpus. "spread" goes where the most is left; "random" by chance. The other
 * policies place these pods alike.
 */
#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    LOSS_BITS = 9,
    LEFT_BITS = 16, /* 64 gpus of MILLI */
};

/* In 1/1000 of a gpu, of all that is healthy, however it is dealt out. */
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
