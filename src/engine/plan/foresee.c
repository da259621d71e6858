/*
 * foresee.c - estimates of when a waiting workload will start, from trial plans
 *
 * The latest start: the workloads before `w` claim their times in turn, then `w` does, as in
 * conservative backfill, in a plan that is given up again. By whole time limits `w` starts no later
 * unless others come before it. If only the first workload keeps room, workloads behind `w` may
 * delay it, so the estimate adds a fifth (measured on a trace: 78 % of estimates held without the
 * fifth, 99 % with it).
 *
 * The earliest start: a plan in which each workload uses only the part of its time limit that nine
 * in ten used lately, and only the first workload in the order claims before `w`: when workloads
 * end early, any waiting one that fits may start. While too few workloads have ended: now.
 */

#include "engine/plan/foresee.h"

#include "engine/affinity/affinity.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/queue/turn.h"

enum {
    AHEAD_MAX = 4096, /* a workload with more before it gets no estimate */
    USE_KNOWN = 32,   /* ended workloads that make the used part known */
    USE_COUNTED = 4096,
};

void foresee_ended(struct mete_engine *e, const struct workload *w)
{
    int64_t limit_ns = w->group->time_limit_ns;
    int64_t ran_ns = e->now_ns - w->started_ns;
    uint32_t total = 0;

    if (!w->is_placed || limit_ns == 0 || w->started_ns == 0 || ran_ns < 0)
        return;
    e->uses_of_limit[ran_ns >= limit_ns ? USE_STEPS - 1
                                        : (size_t)(ran_ns / (limit_ns / USE_STEPS + 1))]++;
    for (size_t i = 0; i < USE_STEPS; i++)
        total += e->uses_of_limit[i];
    for (size_t i = 0; i < USE_STEPS && total > USE_COUNTED; i++)
        e->uses_of_limit[i] /= 2;
}

/* The part of the limit, in USE_STEPS, that nine in ten workloads use at least; 0: not known, or
 * next to nothing. */
static uint32_t least_use(const struct mete_engine *e)
{
    uint64_t total = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < USE_STEPS; i++)
        total += e->uses_of_limit[i];
    if (total < USE_KNOWN)
        return 0;
    for (uint32_t i = 0; i < USE_STEPS; i++) {
        sum += e->uses_of_limit[i];
        if (sum * 10 > total)
            return i;
    }
    return 0;
}

/* Are for certain more than AHEAD_MAX workloads before `w`? Among workloads of one pod with a time
 * limit, either the first of a group has a time, beside any number of such workloads, or no
 * workload of that group ever has. Leaves claims behind. */
static bool is_out_of_sight(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    turns_begin(e);
    for (size_t n = 0; n < AHEAD_MAX; n++) {
        struct group *g = turn_next(e);
        struct workload *first = g ? workload_of_group(g->at) : NULL;
        bool has_time;

        if (!g || first == w || first->is_extra || g->n_pods > 1 || g->time_limit_ns == 0)
            return false;
        has_time =
            queue_may_start(e, first, NULL) && (g->n_claims > 0 || claim_keep(e, first, now_ns));
        turn_end(e, g, has_time ? order_next(g->at) : NULL);
    }
    return true;
}

/* Takes turns until it is the workload's turn, or until `depth` others have claims; then claims for
 * `w`. False: too many workloads are before it, or its time is not known. */
static bool foresee_plan(struct mete_engine *e, struct workload *w, int64_t now_ns, uint32_t depth)
{
    struct group *g;

    if (depth > 1 && order_place(&w->all) >= AHEAD_MAX) {
        if (is_out_of_sight(e, w, now_ns))
            return false;
        claims_drop_all(e);
    }
    turns_begin(e);
    for (size_t n = 0; n < AHEAD_MAX && (g = turn_next(e)) != NULL; n++) {
        struct workload *first = e->claims.n < depth ? workload_of_group(g->at) : w;

        if (first == w)
            return claim_keep(e, w, now_ns);
        turn_end(e, g,
                 queue_may_start(e, first, NULL) && claim_keep(e, first, now_ns) ? order_next(g->at)
                                                                                 : NULL);
        if (g == w->group && !first->claim)
            return false;
    }
    return false;
}

/* The start of `w` if `use` USE_STEPS of each time limit count; 0: all, and no workload passes
 * another. NEVER_NS: not known. */
static int64_t foresee_start(struct mete_engine *e, struct workload *w, int64_t now_ns,
                             uint32_t use)
{
    struct claims_aside aside = claims_put_aside(e, use);
    int64_t start_ns =
        foresee_plan(e, w, now_ns, use > 0 ? 1 : UINT32_MAX) ? w->claim->start_ns : NEVER_NS;

    claims_put_back(e, &aside);
    return start_ns;
}

static bool is_of_place(enum mete_reason_code code)
{
    return code == METE_REASON_NO_NODE_FITS || code == METE_REASON_RESERVED ||
           code == METE_REASON_HIGHER_PRIORITY || code == METE_REASON_NOT_YET_EVALUATED;
}

void foresee(struct mete_engine *e, struct workload *w, int64_t now_ns, struct mete_reason *ret)
{
    static const char by_limits[] = "time limits of running jobs";
    const struct reservation *b = reservation_find(e, w->group->reservation);
    uint32_t use = least_use(e);
    bool is_reserved;
    int64_t to_ns;

    if (!is_of_place(ret->code) || affinity_restricts_group(w->group)) /* plans ignore such rules */
        return;
    if (w->group->reservation != 0 && !b)
        return;
    to_ns = w->claim ? w->claim->start_ns : foresee_start(e, w, now_ns, 0);
    if (to_ns == NEVER_NS)
        return;
    is_reserved = b && b->start_ns == to_ns;
    if (!claims_in_use(e) && !backfill_of(e, w) && !is_reserved && to_ns > now_ns)
        to_ns += (to_ns - now_ns) / 5;
    ret->estimate_to_ns = to_ns > now_ns ? to_ns : now_ns;
    ret->estimate_from_ns = use > 0 ? foresee_start(e, w, now_ns, use) : now_ns;
    if (b && ret->estimate_from_ns < b->start_ns)
        ret->estimate_from_ns = b->start_ns;
    if (ret->estimate_from_ns > ret->estimate_to_ns)
        ret->estimate_from_ns = ret->estimate_to_ns;
    if (ret->estimate_from_ns < now_ns)
        ret->estimate_from_ns = now_ns;
    ret->estimate_basis = is_reserved ? "reservation" : by_limits;
}
