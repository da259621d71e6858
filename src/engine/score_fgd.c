/*
 * Fragmentation gradient descent (Weng et al., USENIX ATC 2023): a pod goes where the fragment
 * grows least. The published score is 100 times the sigmoid of what the fragment falls by, in gpus,
 * cut to a whole number; so it is a table of steps here: the fall, in 1/1000 gpu, from which on the
 * score is k is 1000 ln(k / (100 - k)).
 */
#include "engine/demand.h"
#include "engine/fit.h"
#include "engine/policy.h"

enum {
    STEP_UNIT = 4096,
    STEPS = 100
};

/* In 1/1000 gpu times STEP_UNIT; the first is never looked at. */
static const int32_t steps[STEPS] = {
    0,         -18821611, -15940896, -14238100, -13017308, -12060422, -11270289, -10595080,
    -10003853, -9476649,  -8999832,  -8563676,  -8160994,  -7786327,  -7435428,  -7104926,
    -6792102,  -6494729,  -6210959,  -5939242,  -5678262,  -5426894,  -5184169,  -4949243,
    -4721375,  -4499916,  -4284287,  -4073974,  -3868515,  -3667493,  -3470532,  -3277289,
    -3087449,  -2900726,  -2716853,  -2535585,  -2356692,  -2179960,  -2005190,  -1832191,
    -1660785,  -1490802,  -1322080,  -1154462,  -987800,   -821947,   -656763,   -492111,
    -327855,   -163862,   0,         163862,    327855,    492111,    656763,    821947,
    987800,    1154462,   1322080,   1490802,   1660785,   1832191,   2005190,   2179960,
    2356692,   2535585,   2716853,   2900726,   3087449,   3277289,   3470532,   3667493,
    3868515,   4073974,   4284287,   4499916,   4721375,   4949243,   5184169,   5426894,
    5678262,   5939242,   6210959,   6494729,   6792102,   7104926,   7435428,   7786327,
    8160994,   8563676,   8999832,   9476649,   10003853,  10595080,  11270289,  12060422,
    13017308,  14238100,  15940896,  18821611,
};

/* `fall` is in 1/1000 gpu times weight. */
static uint32_t score_of(int64_t fall, int64_t weight)
{
    uint32_t low = 0;
    uint32_t high = STEPS;

    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        if ((__int128)fall * STEP_UNIT >= (__int128)steps[middle] * weight)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct best {
    uint32_t score;
    uint64_t gpus;
};

/* A share: the gpu with the best score, the first on ties; gpus with as much left score the same.
 */
static struct best best_share(const struct demand *d, const struct node *n, const struct shape *s,
                              struct levels *l, int64_t before, uint64_t free)
{
    struct best best = {0};

    for (unsigned i = 0; i < l->n; i++) {
        bool is_known = !(free >> l->bit[i] & 1);
        uint32_t score;

        for (unsigned k = 0; k < i && !is_known; k++)
            is_known = l->free[k] == l->free[i] && (free >> l->bit[k] & 1);
        if (is_known)
            continue;
        l->free[i] = (uint16_t)(l->free[i] - s->milli);
        score = score_of(before - demand_fragment(d, n, l), demand_weight(d));
        l->free[i] = (uint16_t)(l->free[i] + s->milli);
        if (best.gpus == 0 || score > best.score)
            best = (struct best){score, UINT64_C(1) << l->bit[i]};
    }
    return best;
}

static struct best find_best(const struct mete_engine *e, const struct node *n,
                             const struct shape *s, uint64_t free)
{
    const struct demand *d = e->demand;
    struct best best = {0};
    struct levels l;
    int64_t before;

    levels_of(e, n, &l);
    before = demand_fragment(d, n, &l);
    l.cpu -= shape_cpu(e, s);
    if (shape_is_share(s) && s->gpus == 1)
        return best_share(d, n, s, &l, before, free);
    if (s->gpus > 0)
        best.gpus =
            shape_is_share(s) ? devices_best_fit(n, s, free) : devices_choose(n, free, s->gpus);
    for (unsigned i = 0; i < l.n; i++)
        if (best.gpus >> l.bit[i] & 1)
            l.free[i] = (uint16_t)(l.free[i] - s->milli);
    best.score = score_of(before - demand_fragment(d, n, &l), demand_weight(d));
    return best;
}

uint32_t score_fgd(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    if (!e->demand)
        return score_bestfit(e, n, s);
    return policy_lead(n, s) | find_best(e, n, s, fit_gpus(n, s)).score;
}

uint64_t share_fgd(const struct mete_engine *e, const struct node *n, const struct shape *s,
                   uint64_t free)
{
    return e->demand ? find_best(e, n, s, free).gpus : devices_best_fit(n, s, free);
}
