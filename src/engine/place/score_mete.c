/*
 * score_mete.c - policy "mete", the learned policy
 *
 * A pod goes to the node whose gpu that is expected to stay idle in the end grows least, by a table
 * learned from the demand (values.c, docs/placement.md). Without a table the policy places as
 * "fgd".
 */

#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/place/values.h"

struct value_best {
    int64_t after; /* the node's value with the pod */
    uint64_t gpus;
};

static void levels_take(struct levels *l, uint64_t gpus, uint32_t milli)
{
    for (unsigned i = 0; i < l->n; i++) {
        if (!(gpus >> l->bit[i] & 1))
            continue;
        l->whole -= l->free[i] == MILLI;
        l->free[i] = (uint16_t)(l->free[i] - milli);
        l->idle -= milli;
    }
}

/* The node's value after the pod took these gpus. For nodes that are not simple: the value depends
 * on which gpus are free. */
static struct value_best best_take(const struct mete_engine *e, const struct node *n,
                                   const struct detail *d, const struct shape *s, uint64_t gpus)
{
    struct levels l = d->levels;

    l.cpu -= s->cpu;
    levels_take(&l, gpus, s->milli);
    return (struct value_best){values_of(e, n, d->rows, &l), gpus};
}

/* The gpu that leaves the least value after a share, the first on ties. */
static struct value_best best_take_share(const struct mete_engine *e, const struct node *n,
                                         const struct detail *d, const struct shape *s,
                                         uint64_t free)
{
    struct value_best best = {.after = INT64_MAX};

    if (d->is_simple) {
        best.after = values_less_share(e->values, d->rows, &d->levels, s, free, &best.gpus);
        return best;
    }
    for (uint64_t left = free; left; left &= left - 1) {
        struct value_best here = best_take(e, n, d, s, left & -left);

        best = here.after < best.after ? here : best;
    }
    return best;
}

static int64_t find_growth(const struct mete_engine *e, const struct node *n, const struct shape *s,
                           const struct detail *d)
{
    struct value_best best;

    if (shape_is_share(s) && s->gpus == 1)
        best = best_take_share(e, n, d, s, fit_gpus(n, s));
    else
        best = best_take(e, n, d, s, policy_devices(e, n, s));
    return best.after + values_price(e, n, best.gpus) * s->milli * s->gpus - d->value;
}

/*
 * Nodes within one fiftieth of a gpu score alike. Then the first name wins, so that nodes late in
 * the order stay empty for pods that need a whole node.
 */
#define STEP (INT64_C(20) * MILLI)

static uint32_t score_of(int64_t growth)
{
    static const int64_t middle = INT64_C(1) << (POLICY_BITS - 1);
    int64_t steps = growth / STEP - (growth % STEP < 0); /* rounds down */

    steps = steps >= middle ? middle - 1 : steps <= -middle ? -middle + 1 : steps;
    return (uint32_t)(middle - steps);
}

uint32_t score_mete(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    if (!e->values)
        return score_fgd(e, n, s);
    return policy_lead(n, s) | score_of(find_growth(e, n, s, search_detail(e, n)));
}

uint32_t score_mete_plain(const struct mete_engine *e, const struct detail *d,
                          const struct shape *s)
{
    uint64_t gpu = 0;
    int64_t after;

    if (shape_is_share(s))
        after = values_less_share(e->values, d->rows, &d->levels, s, UINT64_MAX, &gpu);
    else
        after = values_less_whole(e->values, d->rows, &d->levels, s);
    return POLICY_LEAD_PLAIN | score_of(after + d->price * s->milli * s->gpus - d->value);
}

void look_mete(const struct mete_engine *e, const struct node *n, struct detail *d)
{
    d->is_simple = false;
    if (!e->values)
        return;
    d->rows = values_rows_of(e, n);
    d->is_simple = n->n_models <= 1 && values_are_simple(e, d->rows);
    d->price = values_price(e, n, node_gpus(n));
    d->value = values_of(e, n, d->rows, &d->levels);
}

uint64_t share_mete(const struct mete_engine *e, const struct node *n, const struct shape *s,
                    uint64_t free)
{
    return e->values ? best_take_share(e, n, search_detail(e, n), s, free).gpus
                     : share_fgd(e, n, s, free);
}
