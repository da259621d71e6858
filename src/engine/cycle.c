/*
 * cycle.c - a cycle: each waiting workload gets its turn
 *
 * A cycle takes the waiting workloads in order, group by group. When one workload of a group does
 * not fit, the later ones of the group do not fit either; the cycle skips the group until something
 * is freed. The first workloads that do not fit evict others if they may, or get backfill
 * reservations; later workloads are placed around these. A workload over a quota gets neither,
 * because it does not wait for room.
 */

#include "engine/affinity/affinity.h"
#include "engine/device/device_asks.h"
#include "engine/evict/lend.h"
#include "engine/evict/move.h"
#include "engine/evict/preempt.h"
#include "engine/place/place.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/queue/points.h"
#include "engine/queue/share.h"
#include "engine/queue/turn.h"
#include "engine/record/record.h"

/* The room for a workload: free room, also lent cpus, also the room that its victims have left. */
enum cycle_room {
    ROOM_FREE,
    ROOM_LENT,
    ROOM_MADE
};

/* Places a gang whose claim is due on the nodes of the claim. The policy's own choice of nodes did
 * not hold the whole gang. */
static bool place_as_claimed(struct mete_engine *e, struct attempt *a, size_t mark,
                             enum cycle_room room)
{
    if (!a->w->claim || a->w->claim->start_ns > a->now_ns || a->w->n_pods < 2)
        return false;
    journal_undo(&e->journal, mark);
    (void)journal_open(&e->journal);
    if (room != ROOM_FREE)
        lend_open(e, a->w);
    a->follows_claim = true;
    return place_pods(e, a);
}

static bool cycle_place(struct mete_engine *e, struct workload *w, int64_t now_ns,
                        enum cycle_room room)
{
    bool has_made_room = room == ROOM_MADE;
    struct attempt a = {.w = w, .now_ns = now_ns, .is_turn = true, .ignores_claims = has_made_room};
    size_t mark = journal_open(&e->journal);
    int64_t limit_ns = w->group->time_limit_ns;
    bool had_claim = w->claim != NULL;

    if (room != ROOM_FREE)
        lend_open(e, w);
    if (!place_pods(e, &a) && !place_as_claimed(e, &a, mark, room)) {
        journal_undo(&e->journal, mark);
        w->group->failed_kept = a.kept || (room == ROOM_LENT && w->group->failed_kept);
        return false;
    }
    lend_close(e);
    journal_keep(&e->journal, mark);
    group_unwait(e, w);
    backfill_drop_of(e, w);
    w->is_placed = true;
    w->decided_at = e->labels_version;
    w->started_ns = now_ns;
    queue_placed(e, w);
    if (limit_ns == 0 || __builtin_add_overflow(now_ns, limit_ns, &w->end_ns))
        w->end_ns = NEVER_NS;
    w->code = METE_REASON_NONE;
    if (w->moved_for != 0)
        move_forget(e, w); /* it needs no planned place any more */
    if (!had_claim)
        claims_yield(e, w, has_made_room);
    vec_add(&e->placed, w);
    if (affinity_helps(w)) {
        e->eased++;
        e->has_helped = true;
    }
    e->version++;
    return true;
}

/* Places the workload with its own claim, or with the claim of another workload of its group, which
 * gets this one's claim in return. */
static bool try_place(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct workload *kin[CLAIM_KIN_MAX];
    size_t n_kin;

    if (cycle_place(e, w, now_ns, ROOM_FREE) ||
        (lend_has_lender(e, w) && cycle_place(e, w, now_ns, ROOM_LENT)))
        return true;
    n_kin = claim_kin(e, w, kin);
    for (size_t i = 0; i < n_kin; i++) {
        claims_swap(w, kin[i]);
        if (cycle_place(e, w, now_ns, ROOM_FREE))
            return true;
        claims_swap(w, kin[i]);
    }
    if (claim_is_late(e, w, now_ns)) {
        claim_drop_of(e, w); /* without a claim, claims of later workloads do not bind it */
        if (cycle_place(e, w, now_ns, ROOM_FREE))
            return true;
    }
    w->group->failed_at = e->eased;
    w->group->tried_at = e->changes;
    w->group->kept_at = e->cycles;
    return false;
}

static uint32_t depth_of(const struct mete_engine *e, const struct workload *w)
{
    uint32_t own = w->queue->reserve_depth;

    if (own == 0)
        return e->reserve_depth;
    return own == METE_RESERVE_NONE ? 0 : own;
}

/* Gives the workload a claim, which replaces its backfill reservation. False: its start time is not
 * known. */
static bool claim_room(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct backfill *r = backfill_of(e, w);

    if (group_never_fits(e, w->group) || !claim_keep(e, w, now_ns))
        return false;
    if (r && !r->is_preempting)
        backfill_drop(e, r);
    return true;
}

/* Would the workload fit without rules about other pods? A backfill reservation would not help. */
static bool is_kept_apart(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct attempt a = {.w = w, .now_ns = now_ns, .is_turn = true, .ignores_others = true};

    return affinity_restricts_group(w->group) && place_would_fit(e, &a);
}

/* Keeps room for the next workload in order, which does not fit. True: it has a claim or a backfill
 * reservation, and later workloads of the group may have their turns. */
static bool keep_room(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    uint32_t *n_kept = w->queue->reserve_depth > 0 ? &w->queue->n_kept : &e->n_kept;
    struct backfill *r = backfill_of(e, w);

    if (w->is_extra || w->is_unreserved || *n_kept >= depth_of(e, w) ||
        reservation_ask(e, w, now_ns) != RESERVATION_OPEN || is_kept_apart(e, w, now_ns))
        return false;
    if (claims_in_use(e) && !affinity_restricts_group(w->group) && claim_room(e, w, now_ns)) {
        ++*n_kept;
        return true;
    }
    if (claims_in_use(e) && e->has_unknown)
        return false; /* only the first such workload gets a backfill reservation */
    e->has_unknown = true;
    if (r && !r->is_stale && r->planned_at == e->freed) {
        r->is_confirmed = true;
    } else if (group_never_fits(e, w->group)) {
        backfill_drop_group(e, w->group);
        return false;
    } else {
        (void)backfill_make(
            e, w,
            now_ns); /* without a plan, too: the next workload does not get the room instead */
    }
    ++*n_kept;
    if (e->n_kept == e->reserve_depth && e->n_own_depths == 0)
        backfill_drop_unconfirmed(e);
    return true;
}

/* Is there a backfill reservation whose owner has not had its turn? */
static bool has_unconfirmed(const struct mete_engine *e)
{
    VEC_EACH (&e->backfills, r) {
        if (!(*r)->is_confirmed)
            return true;
    }
    return false;
}

/* May the group's next workload fit now? False: a try would fail as the last one did. */
static bool is_fresh(const struct mete_engine *e, const struct group *g)
{
    if (g->has_failed)
        return false;
    if (g->failed_at != e->eased)
        return true;
    /* The order between queues changes with what they hold: the workload may now be before the
     * owner of the room that was in its way. */
    return g->failed_kept && e->counted.n > 0 && g->kept_at != e->cycles && has_unconfirmed(e);
}

/* Places the group's next workload, or evicts others for it, or keeps room for it; else the group
 * is done for this cycle. */
static void cycle_take_turn(struct mete_engine *e, struct group *g, bool may_start, bool may_fit,
                            int64_t now_ns)
{
    struct workload *w = workload_of_group(g->at);
    struct order_link *next = order_next(g->at);

    if (may_fit) {
        if (try_place(e, w, now_ns)) {
            turn_end(e, g, next);
            return;
        }
    }
    g->has_failed = true;
    if (preempt_for(e, w, now_ns))
        turn_end(e, g, next);
    else if (may_start && keep_room(e, w, now_ns)) {
        (void)move_for(e, w, now_ns); /* it waits either way */
        turn_end(e, g, next);
    } else
        turn_end(e, g, NULL);
}

static void device_fill_share(const struct gpu *g, uint32_t milli, int64_t bytes,
                              struct mete_device *ret)
{
    __extension__ typedef __int128 wide;

    ret->kind = METE_DEVICE_SHARE;
    ret->gpu_milli = milli;
    ret->memory_bytes = bytes > 0 ? bytes : (int64_t)((wide)g->memory_bytes * milli / MILLI);
}

/* One device of a pod with asks. */
static void device_fill(const struct mete_engine *e, const struct pod *p, size_t i,
                        struct mete_device *ret)
{
    const struct ask *a = pod_ask(p, i);
    const struct gpu *g = p->gpus[i];

    *ret = (struct mete_device){.ask = ask_number(pod_shape(p), a), .gpu = g->uuid};
    switch (a->kind) {
    case ASK_WHOLE:
        break;
    case ASK_SHARE:
        device_fill_share(g, ask_share_milli(a, g), a->bytes, ret);
        break;
    case ASK_REPLICA:
        ret->kind = METE_DEVICE_REPLICA;
        ret->replicas = g->parts->replicas;
        break;
    case ASK_SLICE:
        ret->kind = METE_DEVICE_SLICE;
        ret->profile = intern_text(e->texts, a->profile);
        ret->start = pod_start(p, i);
        ret->slice = parts_uuid(g->parts, a->profile, pod_start(p, i));
        ret->must_create = !parts_has(g->parts, a->profile, pod_start(p, i));
        break;
    }
}

/* The devices of a pod with asks or shares; NULL: the pod has only whole gpus. */
static const struct mete_device *list_devices(struct mete_engine *e, const struct pod *p)
{
    const struct shape *s = pod_shape(p);
    struct mete_device *devices = NULL;

    if (s->n_asks == 0 && !shape_is_share(s))
        return NULL;
    devices = arena_alloc(e->decisions, (p->n_gpus + 1) * sizeof(*devices));
    for (size_t i = 0; i < p->n_gpus; i++) {
        devices[i] = (struct mete_device){.gpu = p->gpus[i]->uuid};
        if (s->n_asks > 0)
            device_fill(e, p, i, &devices[i]);
        else
            device_fill_share(p->gpus[i], s->milli, s->gpu_bytes, &devices[i]);
    }
    return devices;
}

static const struct mete_pod_placement *list_pods(struct mete_engine *e, const struct workload *w)
{
    struct mete_pod_placement *pods = arena_alloc(e->decisions, w->n_pods * sizeof(*pods));

    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *p = &w->pods[i];
        const char **gpus = arena_alloc(e->decisions, (p->n_gpus + 1) * sizeof(*gpus));

        for (size_t k = 0; k < p->n_gpus; k++)
            gpus[k] = p->gpus[k]->uuid;
        pods[i] = (struct mete_pod_placement){
            .pod_set = p->set,
            .pod = p->index,
            .node = p->node->name,
            .gpus = gpus,
            .n_gpus = p->n_gpus,
            .devices = list_devices(e, p),
        };
        pods[i].n_devices = pods[i].devices ? p->n_gpus : 0;
    }
    return pods;
}

static void list_placements(struct mete_engine *e, struct mete_decisions *ret)
{
    struct mete_placement *placements =
        arena_alloc(e->decisions, (e->placed.n + 1) * sizeof(*placements));

    for (size_t i = 0; i < e->placed.n; i++) {
        const struct workload *w = e->placed.at[i];

        placements[i] = (struct mete_placement){
            .workload = w->key.id,
            .pods = list_pods(e, w),
            .n_pods = w->n_pods,
        };
    }
    ret->placements = placements;
    ret->n_placements = e->placed.n;
}

/* Starts the workloads that were moved for `w` at their planned places. */
static void start_moved(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    struct workload **moved;
    size_t n;

    if (e->moved.n == 0)
        return;
    moved = arena_alloc(e->decisions, e->moved.n * sizeof(*moved));
    n = move_take(e, w, moved);
    for (size_t i = 0; i < n; i++)
        if (!moved[i]->is_placed && moved[i]->hold == METE_HOLD_NONE &&
            queue_may_start(e, moved[i], NULL))
            (void)cycle_place(e, moved[i], now_ns,
                              ROOM_MADE); /* else the workload waits for its turn */
}

/* Starts the preemptors whose victims have all ended, before any turn. */
static void start_preemptors(struct mete_engine *e, int64_t now_ns)
{
    for (size_t i = 0; i < e->preemptors.n;) {
        struct workload *w = e->preemptors.at[i];
        struct backfill *r;

        if (w->n_evicting > 0) {
            i++;
            continue;
        }
        preempt_forget(e, w);
        if (queue_may_start(e, w, NULL) && cycle_place(e, w, now_ns, ROOM_MADE)) {
            start_moved(e, w, now_ns);
            continue;
        }
        move_forget(e, w);
        r = backfill_of(e, w); /* the room was lost: it is now an ordinary backfill reservation */
        if (r) {
            r->is_preempting = false;
            r->is_confirmed = false;
        }
    }
}

/* Marks all turns as not taken. */
static void forget_turns(struct mete_engine *e)
{
    e->n_kept = 0;
    e->has_unknown = false;
    for (size_t i = 0; e->n_own_depths > 0 && i < e->queues.n; i++)
        e->queues.at[i]->n_kept = 0;
    VEC_EACH (&e->backfills, r) {
        (*r)->is_confirmed = (*r)->is_preempting;
    }
}

static void cycle_begin(struct mete_engine *e, int64_t now_ns)
{
    arena_reset(e->decisions);
    vec_clear(&e->placed);
    vec_clear(&e->evictions);
    vec_clear(&e->resumes);
    e->cycles += !e->was_cut;
    share_begin(e, now_ns);
    e->now_ns = now_ns;
    reservations_begin(e, now_ns);
    claims_begin(e, now_ns);
    points_begin(e, now_ns);
    forget_turns(e);
    start_preemptors(e, now_ns);
    turns_begin(e);
}

/* Do all workloads of the group have claims, with no right to evict others? Their turns would
 * change nothing. */
static bool may_skip(const struct mete_engine *e, const struct group *g)
{
    const struct queue *q = g->queue;
    uint32_t depth = q->reserve_depth > 0 ? q->reserve_depth : e->reserve_depth;

    return depth == METE_RESERVE_ALL && claims_suffice(e, g) && q->reclaim == METE_PREEMPT_NEVER &&
           q->within == METE_PREEMPT_NEVER;
}

/* True: the budget cut the cycle. */
static bool take_turns(struct mete_engine *e, int64_t now_ns, uint64_t budget)
{
    uint64_t first_step = e->steps;
    bool has_tried = false;
    struct group *g;

    for (; (g = turn_next(e)) != NULL; e->turns++) {
        const struct workload *w = workload_of_group(g->at);
        bool may_start;
        bool may_fit;

        if (w->n_evicting > 0 && preempt_is_pending(e, w)) {
            turn_end(e, g, order_next(g->at));
            continue;
        }
        may_start = queue_may_start(e, w, NULL);
        may_fit = may_start && is_fresh(e, g);
        if (e->cut_after > 0 && e->turns == e->cut_after)
            return true;
        if (may_fit && has_tried && budget > 0 && e->steps - first_step >= budget)
            return true;
        if (!may_start)
            claim_drop_of(e, w);
        if (may_start && !may_fit && may_skip(e, g)) {
            turn_end(e, g, NULL);
            continue;
        }
        has_tried = has_tried || may_fit;
        cycle_take_turn(e, g, may_start, may_fit, now_ns);
    }
    return false;
}

/* Repeats the turns when a placement, or a claim or backfill reservation that was given up, may
 * help a workload that already had its turn. The rounds end: a workload that gives up a claim has
 * another one, or none, for the rest of the cycle, and without a new placement the backfill
 * reservations are the same again. */
static bool take_all_turns(struct mete_engine *e, int64_t now_ns, uint64_t budget)
{
    e->turns = 0; /* over all rounds: a recording has the number at the cut */
    for (;;) {
        uint64_t unclaimed = e->unclaimed;

        e->has_helped = false;
        if (take_turns(e, now_ns, budget))
            return true;
        if (!e->has_helped && e->unclaimed == unclaimed && !has_unconfirmed(e))
            return false;
        backfill_drop_unconfirmed(e);
        forget_turns(e);
        turns_begin(e);
    }
}

void mete_cycle(struct mete_engine *e, int64_t now_ns, uint64_t budget, struct mete_decisions *ret)
{
    *ret = (struct mete_decisions){0};
    cycle_begin(e, now_ns);
    ret->is_cut = take_all_turns(e, now_ns, budget);
    e->was_cut = ret->is_cut;
    if (!ret->is_cut) /* else a borrower may still have its turn */
        lend_resume(e, now_ns);
    claims_end(e);
    share_end(e);
    list_placements(e, ret);
    ret->evictions = e->evictions.at;
    ret->n_evictions = e->evictions.n;
    ret->resumes = e->resumes.at;
    ret->n_resumes = e->resumes.n;
    record_call(e, RECORD_CYCLE, &(struct record_cycle){now_ns, ret->is_cut ? e->turns : 0});
    if (ret->n_placements > 0 || ret->n_evictions > 0 || ret->n_resumes > 0 || ret->is_cut)
        record_call(e, RECORD_DECIDED, ret);
}
