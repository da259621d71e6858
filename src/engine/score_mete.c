/*
 * The default policy: a pod goes where the gpu that is expected to stay idle in the end grows
 * least, by a table learned from what is asked for (values.c, docs/placement.md). Where nothing is
 * learned it places as fgd does.
 */
#include "engine/fit.h"
#include "engine/policy.h"
#include "engine/values.h"

struct best {
    int64_t growth;
    uint64_t gpus;
};

/* A share: the gpu where it grows least, the first on ties; gpus with as much left are alike. */
static struct best best_share(const struct mete_engine *e, const struct node *n,
                              const struct shape *s, struct levels *l, uint64_t free)
{
    const struct values_rows *rows = values_rows_of(e, n);
    struct best best = {.growth = INT64_MAX};

    for (unsigned i = 0; i < l->n; i++) {
        bool is_known = !(free >> l->bit[i] & 1);
        int64_t growth;

        for (unsigned k = 0; k < i && !is_known; k++)
            is_known = l->free[k] == l->free[i] && (free >> l->bit[k] & 1);
        if (is_known)
            continue;
        l->free[i] = (uint16_t)(l->free[i] - s->milli);
        growth = values_of(e, n, rows, l);
        l->free[i] = (uint16_t)(l->free[i] + s->milli);
        if (growth < best.growth)
            best = (struct best){growth, UINT64_C(1) << l->bit[i]};
    }
    return best;
}

static struct best find_best(const struct mete_engine *e, const struct node *n,
                             const struct shape *s, uint64_t free)
{
    const struct values_rows *rows = values_rows_of(e, n);
    struct best best = {0};
    struct levels l;
    int64_t before;

    levels_of(e, n, &l);
    before = values_of(e, n, rows, &l);
    l.cpu -= s->cpu;
    if (shape_is_share(s) && s->gpus == 1) {
        best = best_share(e, n, s, &l, free);
    } else {
        if (s->gpus > 0)
            best.gpus =
                shape_is_share(s) ? devices_best_fit(n, s, free) : devices_choose(n, free, s->gpus);
        for (unsigned i = 0; i < l.n; i++)
            if (best.gpus >> l.bit[i] & 1)
                l.free[i] = (uint16_t)(l.free[i] - s->milli);
        best.growth = values_of(e, n, rows, &l);
    }
    best.growth += values_price(e, n, best.gpus) * s->milli * s->gpus - before;
    return best;
}

/*
 * Nodes that differ by less than a fiftieth of a gpu are alike: then the first by name is taken, so
 * that nodes late in the order stay whole for pods that need all of one.
 */
#define STEP (INT64_C(20) * MILLI)

uint32_t score_mete(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    static const int64_t middle = INT64_C(1) << (POLICY_BITS - 1);
    int64_t growth;
    int64_t steps;

    if (!e->values)
        return score_fgd(e, n, s);
    growth = find_best(e, n, s, fit_gpus(n, s)).growth;
    steps = growth / STEP - (growth % STEP < 0); /* towards less */
    steps = steps >= middle ? middle - 1 : steps <= -middle ? -middle + 1 : steps;
    return policy_lead(n, s) | (uint32_t)(middle - steps);
}

uint64_t share_mete(const struct mete_engine *e, const struct node *n, const struct shape *s,
                    uint64_t free)
{
    return e->values ? find_best(e, n, s, free).gpus : share_fgd(e, n, s, free);
}
