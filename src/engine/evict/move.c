/* move.c - moves: planned, weighed, decided and described */

#include "engine/evict/move.h"

#include "engine/evict/preempt.h"
#include "engine/evict/victims.h"
#include "engine/plan/backfill.h"
#include "engine/record/record.h"
#include "engine/why/why.h"

enum {
    MOVES_MAX = 64,
    MOVES_DEFAULT = 8,
};

struct move_plan {
    struct victims victims;
    size_t moves_max;
};

enum mete_result mete_moves_set(struct mete_engine *e, const struct mete_moves *moves)
{
    if (moves->horizon_ns < 0 || moves->restart_ns < 0)
        return engine_refuse(e, METE_INVALID, "moves: a time is negative");
    record_call(e, RECORD_MOVES_SET, moves);
    e->moves = *moves;
    e->eased++; /* moves that did not pay may pay now */
    return METE_OK;
}

static size_t moves_max(const struct mete_engine *e)
{
    size_t max = e->moves.moves_max > 0 ? e->moves.moves_max : MOVES_DEFAULT;

    return max < MOVES_MAX ? max : MOVES_MAX;
}

static uint64_t ms_of(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

/* The loss of the victims, in ms x 1/1000 gpu; UINT64_MAX: more than can be counted. */
static uint64_t move_loss(const struct mete_engine *e)
{
    uint64_t sum = 0;

    VEC_EACH (&e->victims, each) {
        const struct workload *w = *each;
        uint64_t restart =
            decay_scale(ms_of(e->moves.restart_ns), (uint64_t)w->charged[COUNTED_GPU], 1);

        if (__builtin_add_overflow(sum, w->cost, &sum) ||
            __builtin_add_overflow(sum, restart, &sum))
            return UINT64_MAX;
    }
    return sum;
}

static uint64_t move_gain(const struct mete_engine *e, const struct move_plan *p,
                          const struct backfill *r)
{
    int64_t wait_ns = e->moves.horizon_ns;

    if (r->start_ns != NEVER_NS && r->start_ns - p->victims.attempt.now_ns < wait_ns)
        wait_ns = r->start_ns - p->victims.attempt.now_ns;
    return decay_scale(ms_of(wait_ns), (uint64_t)p->victims.charge.at[COUNTED_GPU], 1);
}

/* Chooses the workloads to move, into e->victims. False: no choice, or too many. */
static bool move_choose(struct move_plan *p)
{
    struct victims *v = &p->victims;
    struct mete_engine *e = v->e;
    size_t mark;
    bool is_found;

    victims_begin(v);
    VEC_EACH (&e->queues, q) {
        for (struct workload *w = (*q)->first_placed; w; w = w->placed_after)
            if (w->priority <= v->attempt.w->priority)
                victims_allow(v, w);
    }
    if (v->n_candidates == 0)
        return false;
    mark = journal_open(&e->journal);
    is_found = victims_make_room(v);
    if (is_found)
        victims_spare(v);
    journal_undo(&e->journal, mark);
    return is_found && e->victims.n > 0 && e->victims.n <= p->moves_max;
}

static bool move_place_again(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct attempt a = {.e = e, .w = w, .now_ns = now_ns, .is_turn = true};

    if (!queue_may_start(e, w, NULL) || !place_pods(e, &a))
        return false; /* for example: its queue was removed */
    queue_count_trial(e, w);
    return true;
}

/* Is the workload on a node with a backfill reservation of another owner? A node has only one, so
 * the two cannot both be kept. */
static bool is_in_the_way(const struct workload *w, const struct workload *owner)
{
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct backfill *r = w->pods[i].node->backfill;

        if (r && r->is_confirmed && r->owner != owner)
            return true;
    }
    return false;
}

/* In an open trial: takes all victims off their nodes, places the waiting workload, then each
 * victim again. */
static bool move_carry_out(struct move_plan *p)
{
    struct mete_engine *e = p->victims.e;
    const struct attempt a = p->victims.attempt;
    struct backfill *own = backfill_of(e, a.w);

    if (own)
        SET(e, own->is_confirmed, false); /* `w` is placed: its old reservation binds no pod */
    VEC_EACH (&e->victims, each) {
        queue_count_held(e, *each, (*each)->charged, -1);
        for (size_t i = 0; i < (*each)->n_pods; i++)
            pod_give(e, &(*each)->pods[i]);
    }
    if (!move_place_again(e, a.w, a.now_ns) || is_in_the_way(a.w, a.w))
        return false;
    VEC_EACH (&e->victims, each) {
        if (!move_place_again(e, *each, a.now_ns) || is_in_the_way(*each, a.w))
            return false;
    }
    return true;
}

static void move_decide(struct mete_engine *e, struct workload *w, struct backfill *r)
{
    backfill_put(e, r);
    VEC_EACH (&e->victims, each) {
        (*each)->moved_for = w->key.id;
        vec_add(&e->moved, *each);
    }
    victims_decide(e, w, true);
}

bool move_for(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct move_plan p = {.victims = {.e = e, .attempt = {.e = e, .w = w, .now_ns = now_ns}},
                          .moves_max = moves_max(e)};
    const struct backfill *waits = backfill_of(e, w);
    struct backfill *r = NULL;
    struct group *g = w->group;
    size_t mark;

    if (e->moves.horizon_ns == 0 || e->counted.n == 0 || w->n_evicting > 0 || w->moved_for != 0 ||
        !waits || g->never_preempts || (g->unmoved_at == e->eased && now_ns < g->unmoved_ns))
        return false;
    arena_reset(e->scratch);
    p.victims.again_ns = NEVER_NS;
    charge_of(e, w, NULL, &p.victims.charge);
    if (move_choose(&p) && move_loss(e) < move_gain(e, &p, waits)) {
        mark = journal_open(&e->journal);
        if (move_carry_out(&p))
            r = backfill_of_trial(w, e->victims.at, e->victims.n);
        journal_undo(&e->journal, mark);
    }
    if (!r) {
        g->unmoved_at = e->eased;
        g->unmoved_ns = p.victims.again_ns;
        return false;
    }
    move_decide(e, w, r);
    return true;
}

size_t move_take(struct mete_engine *e, const struct workload *w, struct workload **list)
{
    size_t n = 0;
    size_t kept = 0;

    VEC_EACH (&e->moved, each) {
        if ((*each)->moved_for != w->key.id) {
            e->moved.at[kept++] = *each;
            continue;
        }
        (*each)->moved_for = 0;
        list[n++] = *each;
    }
    e->moved.n = kept;
    return n;
}

void move_forget(struct mete_engine *e, const struct workload *w)
{
    size_t kept = 0;

    VEC_EACH (&e->moved, each) {
        if (*each == w || (*each)->moved_for == w->key.id)
            (*each)->moved_for = 0;
        else
            e->moved.at[kept++] = *each;
    }
    e->moved.n = kept;
}

static const char *list_moves(struct mete_engine *e)
{
    const char *text = "";
    size_t n = e->victims.n;

    for (size_t i = 0; i < n && i < 2; i++) {
        const struct workload *w = e->victims.at[i];

        text = arena_format(e->answers, "%s%s%s to %s",
                            i > 0 ? arena_format(e->answers, "%s and ", text) : "",
                            why_workload(e, w), i > 0 ? "" : " moves", w->pods[0].node->name);
    }
    return n > 2 ? arena_format(e->answers, "%s, and %zu more", text, n - 2) : text;
}

const char *move_text(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct move_plan p = {.victims = {.e = e, .attempt = {.e = e, .w = w, .now_ns = now_ns}},
                          .moves_max = moves_max(e)};
    const char *text = NULL;
    size_t mark;

    if (e->counted.n == 0)
        return NULL;
    charge_of(e, w, NULL, &p.victims.charge);
    if (!queue_admits(e, w, &p.victims.charge, NULL) || !move_choose(&p))
        return NULL;
    mark = journal_open(&e->journal);
    if (move_carry_out(&p))
        text = list_moves(e);
    journal_undo(&e->journal, mark);
    return text;
}
