/*
 * score_openb.c - the policies that FGD was compared with
 *
 * See Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
 * Gradient Descent", USENIX ATC 2023. The scores are the published ones to the digit: whole numbers
 * of 0 .. 100, with equal weights for cpu and gpu, each relative to the largest node.
 */

#include "base/num.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"

enum {
    SCORE_MAX = 100
};

static uint64_t draw(const struct mete_engine *e, uint64_t of)
{
    return num_scatter(num_scatter(e->seed + e->uses * NUM_SCATTER_STEP) ^ of);
}

uint32_t score_random(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint32_t chance = (uint32_t)(draw(e, n->rank) >> (64 - POLICY_BITS));

    return policy_lead(n, s) | chance;
}

uint64_t share_random(const struct mete_engine *e, const struct node *n, const struct shape *s,
                      uint64_t free)
{
    uint64_t skip = draw(e, UINT64_C(1) << 32 | n->rank) % bits(free);

    (void)s;
    for (; skip > 0; skip--)
        free &= free - 1;
    return free & -free;
}

static uint32_t whole(const struct node *n, const struct shape *s, double part)
{
    uint32_t score = part <= 0 ? 0 : (uint32_t)(SCORE_MAX * part);

    return policy_lead(n, s) | (score > SCORE_MAX ? SCORE_MAX : score);
}

/* The amount relative to the largest node's; 0: no node has any. */
static double part_of(int64_t amount, int64_t max)
{
    return max > 0 ? (double)amount / (double)max : 0;
}

static int64_t milli_max(const struct mete_engine *e)
{
    return (int64_t)e->gpus_max * MILLI;
}

static int64_t milli_asked(const struct shape *s)
{
    return (int64_t)s->gpus * s->milli;
}

uint32_t score_dotprod(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    double cpu = part_of(node_cpu_free(e, n), e->cpu_max) * part_of(s->cpu, e->cpu_max);
    double gpu = part_of(node_milli_free(n), milli_max(e)) * part_of(milli_asked(s), milli_max(e));

    return whole(n, s, 1 - (cpu + gpu) / 2);
}

uint32_t score_bestfit(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    double cpu = part_of(node_cpu_free(e, n) - s->cpu, e->cpu_max);
    double gpu = part_of(node_milli_free(n) - milli_asked(s), milli_max(e));

    return whole(n, s, 1 - (cpu / 2 + gpu / 2));
}

/* Prefers a node with pods to an idle node, and gpus with shares to idle gpus. */
uint32_t score_gpupacking(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint32_t n_free = bits(n->healthy & ~n->held);
    uint64_t chosen;
    uint32_t n_fresh;
    uint32_t left = 0;
    uint32_t score;

    if (s->gpus == 0)
        return policy_lead(n, s);
    if (n_free == n->n_gpus) {
        score = SCORE_MAX / 3 > 2 * n_free ? SCORE_MAX / 3 - n_free : n_free;
        return policy_lead(n, s) | score;
    }
    chosen = policy_devices(e, n, s);
    n_fresh = bits(chosen & ~n->held);
    if (n_fresh > 0) {
        score = SCORE_MAX / 2 > SCORE_MAX / 3 + n_fresh ? SCORE_MAX / 2 - n_fresh : SCORE_MAX / 3;
        return policy_lead(n, s) | score;
    }
    for (uint64_t gpus = chosen; gpus; gpus &= gpus - 1)
        left += (uint32_t)n->free_milli[__builtin_ctzll(gpus)] * SCORE_MAX / MILLI;
    score = SCORE_MAX - left / 10;
    return policy_lead(n, s) | (score > SCORE_MAX / 2 ? score : SCORE_MAX / 2);
}

/* Pods with shares are one class; pods with equal numbers of whole gpus are one class. */
static uint32_t class_of(const struct shape *s)
{
    return shape_is_share(s) ? 0 : s->gpus;
}

uint32_t score_gpuclustering(const struct mete_engine *e, const struct node *n,
                             const struct shape *s)
{
    bool has_same = false;
    bool has_other = false;
    int64_t used = milli_max(e) - node_milli_free(n);
    uint32_t quarter = SCORE_MAX / 4;

    if (s->gpus == 0)
        return policy_lead(n, s);
    for (const struct pod *p = n->pods; p && !(has_same && has_other); p = p->after) {
        const struct shape *other = pod_shape(p);
        bool is_same = class_of(other) == class_of(s);

        has_same = has_same || (other->gpus > 0 && is_same);
        has_other = has_other || (other->gpus > 0 && !is_same);
    }
    return policy_lead(n, s) | ((has_same ? 2 * quarter : 0) + (has_other ? 0 : quarter) +
                                (uint32_t)(quarter * used / milli_max(e)));
}
