/*
 * score_fgd.c - policy "fgd": fragmentation gradient descent
 *
 * Weng et al., USENIX ATC 2023: a pod goes to the node whose fragment grows least. The published
 * score is 100 times the sigmoid of the fragment's fall in gpus, cut to a whole number. Here a
 * table has the steps: the score is k from a fall of 1000 ln(k / (100 - k)), in 1/1000 gpu.
 */

#include <float.h>

#include "engine/place/demand.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    STEPS = 100
};

/* In 1/1000 gpu times STEP_UNIT, rounded up; the first is not used. */
#define STEP_UNIT (INT64_C(1) << 32)
static const int64_t steps[STEPS] = {
    0,
    -19735889477528,
    -16715240902294,
    -14929730190510,
    -13649637266271,
    -12646269120587,
    -11817754183304,
    -11109746137812,
    -10489800642393,
    -9936986355714,
    -9437007701626,
    -8979664635733,
    -8557422396908,
    -8164555710368,
    -7796611039468,
    -7450054804499,
    -7122035358321,
    -6810217241410,
    -6512662876207,
    -6227746282665,
    -5954088943639,
    -5690511325962,
    -5435995681104,
    -5189657112836,
    -4950720797954,
    -4718503850813,
    -4492400737154,
    -4271871432107,
    -4056431722299,
    -3845645199460,
    -3639116600333,
    -3436486226879,
    -3237425239853,
    -3041631663301,
    -2848826971402,
    -2658753155046,
    -2471170185651,
    -2285853809426,
    -2102593617558,
    -1921191347598,
    -1741459378993,
    -1563219391956,
    -1386301163788,
    -1210541480785,
    -1035783147064,
    -861874074275,
    -688666438226,
    -516015890162,
    -343780811741,
    -171821603831,
    0,
    171821603832,
    343780811742,
    516015890163,
    688666438227,
    861874074276,
    1035783147065,
    1210541480786,
    1386301163789,
    1563219391957,
    1741459378994,
    1921191347599,
    2102593617559,
    2285853809427,
    2471170185652,
    2658753155047,
    2848826971403,
    3041631663302,
    3237425239854,
    3436486226880,
    3639116600334,
    3845645199461,
    4056431722300,
    4271871432108,
    4492400737155,
    4718503850814,
    4950720797955,
    5189657112837,
    5435995681105,
    5690511325963,
    5954088943640,
    6227746282666,
    6512662876208,
    6810217241411,
    7122035358322,
    7450054804500,
    7796611039469,
    8164555710369,
    8557422396909,
    8979664635734,
    9437007701627,
    9936986355715,
    10489800642394,
    11109746137813,
    11817754183305,
    12646269120588,
    13649637266272,
    14929730190511,
    16715240902295,
    19735889477529,
};

/* The score of a fall in 1/1000 gpu times weight. */
static uint32_t fgd_score_of(int64_t fall, int64_t weight)
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

/* The published program sums the fragment apart for each state of a node for a pod. */
enum state {
    LACKS_BOTH,
    LACKS_GPU,
    SATISFIED,
    LACKS_CPU,
    CPU_ONLY,
    CPU_ONLY_LACKS,
    NO_ACCESS,
    STATES,
};

static void add_kind(const struct node *n, const struct levels *l, const struct shape *s,
                     double part, double sums[STATES])
{
    bool has_cpu = s->cpu <= l->cpu;
    uint32_t hosting = 0;
    int64_t small = 0;
    int64_t idle = 0;

    for (unsigned i = 0; i < l->n; i++) {
        hosting += l->free[i] >= s->milli;
        small += l->free[i] >= s->milli ? 0 : l->free[i];
        idle += l->free[i];
    }
    if (s->gpus == 0) {
        sums[has_cpu ? CPU_ONLY : CPU_ONLY_LACKS] += part * (double)idle;
    } else if (node_gpus_of(n, s) == 0) {
        sums[NO_ACCESS] += part * (double)idle;
    } else if (hosting >= s->gpus && has_cpu) {
        sums[LACKS_GPU] += part * (double)small;
        sums[SATISFIED] += part * (double)(idle - small);
    } else if (hosting >= s->gpus) {
        sums[LACKS_CPU] += part * (double)idle;
    } else {
        sums[has_cpu ? LACKS_GPU : LACKS_BOTH] += part * (double)idle;
    }
}

static double published_fragment(const struct mete_engine *e, const struct node *n,
                                 const struct levels *l)
{
    double total = (double)demand_total(e->demand);
    double known = (double)demand_weight(e->demand) / total;
    double sums[STATES] = {0};
    double ret = 0;
    size_t n_kinds;
    const struct demand_kind *kinds = demand_kinds(e->demand, &n_kinds);

    for (size_t i = 0; i < n_kinds; i++)
        add_kind(n, l, kinds[i].shape, (double)kinds[i].weight / total / known, sums);
    for (int i = 0; i < STATES; i++)
        ret += i == SATISFIED ? 0 : sums[i];
    return ret;
}

/* Below this fall the sigmoid in doubles is under one half. */
#define UNDER_HALF (-1000 * 1.5 * DBL_EPSILON)

static uint32_t score_change(const struct mete_engine *e, const struct node *n,
                             const struct levels *before, const struct levels *after)
{
    int64_t fall = demand_fragment(e->demand, n, before) - demand_fragment(e->demand, n, after);

    if (fall != 0)
        return fgd_score_of(fall, demand_weight(e->demand));
    return published_fragment(e, n, before) - published_fragment(e, n, after) < UNDER_HALF ? 49
                                                                                           : 50;
}

struct fgd_best {
    uint32_t score;
    uint64_t gpus;
};

/* The gpu with the best score for a share, the first on ties. Gpus with equal free compute have
 * equal scores. */
static struct fgd_best best_share(const struct mete_engine *e, const struct node *n,
                                  const struct shape *s, const struct levels *before,
                                  struct levels *after, uint64_t free)
{
    struct fgd_best best = {0};

    for (unsigned i = 0; i < before->n; i++) {
        bool is_known = !(free >> before->bit[i] & 1);
        uint32_t score;

        for (unsigned k = 0; k < i && !is_known; k++)
            is_known = before->free[k] == before->free[i] && (free >> before->bit[k] & 1);
        if (is_known)
            continue;
        after->free[i] = (uint16_t)(before->free[i] - s->milli);
        score = score_change(e, n, before, after);
        after->free[i] = before->free[i];
        if (best.gpus == 0 || score > best.score)
            best = (struct fgd_best){score, UINT64_C(1) << before->bit[i]};
    }
    return best;
}

static struct fgd_best find_best(const struct mete_engine *e, const struct node *n,
                                 const struct shape *s, uint64_t free)
{
    struct fgd_best best = {0};
    struct levels before;
    struct levels after;

    levels_of(e, n, &before);
    after = before;
    after.cpu -= s->cpu;
    if (shape_is_share(s) && s->gpus == 1)
        return best_share(e, n, s, &before, &after, free);
    if (s->gpus == 0 &&
        demand_cpus_within(e->demand, before.cpu) == demand_cpus_within(e->demand, after.cpu)) {
        best.score = 50; /* no kind of pod is affected */
        return best;
    }
    if (s->gpus > 0)
        best.gpus =
            shape_is_share(s) ? devices_best_fit(n, s, free) : devices_choose(n, free, s->gpus);
    for (unsigned i = 0; i < after.n; i++)
        if (best.gpus >> after.bit[i] & 1)
            after.free[i] = (uint16_t)(after.free[i] - s->milli);
    best.score = score_change(e, n, &before, &after);
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
