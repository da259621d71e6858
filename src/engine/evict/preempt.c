/*
 * preempt.c - victims of reclaim, of priority and of classes, and the rules for choosing them
 *
 * A placed workload is secured while all secured workloads together are within the nominal quotas
 * of its queue and of the queues above. A workload becomes secured when it is placed, or later when
 * others have ended, and stays secured until it ends. Then there are three rules. Reclaim: a
 * workload that would be secured, and whose queue really is below its nominal quota, evicts
 * unsecured workloads of other queues. Priority: a workload without a class evicts others of its
 * own queue with a lower priority or, as the queue says, with the same priority and a later place
 * in the order; secured ones only if it will be secured itself. Class: a workload with a class
 * evicts workloads of the classes that the rules name, in any queue; secured ones only if it will
 * be secured itself.
 *
 * Evictions cannot go round in a circle. Workloads without a class come first, by priority and
 * place in the order; then the classes, each before those that it may evict, which is possible
 * because the rules have no loop. Count, for each such place from the first down, the secured
 * workloads at that place or before it; append, in the same way, the counts of the placed
 * workloads. Read as one word, each decision makes these numbers larger: placing adds to the word
 * and takes nothing away; reclaim gains a secured workload and loses only unsecured ones; priority
 * and class gain a secured workload at that place and lose only lower ones, or keep the first half
 * and gain a placed workload at that place in the second. There are finitely many words, so the
 * evictions end unless the caller adds or removes something. (A decision counts at once: the
 * victims are not secured any more, and the preemptor's charge is counted as held.)
 *
 * A victim of a class that is suspended gives its cpus alone (lend.h). It stays placed and secured:
 * the word loses nothing.
 */

#include "engine/evict/preempt.h"

#include "engine/affinity/affinity.h"
#include "engine/evict/victims.h"
#include "engine/plan/backfill.h"

struct preempt_search {
    struct victims victims;
    bool spares_secured;
    bool has_secured;     /* some candidates are secured */
    unsigned least_depth; /* of the common queue above preemptor and victim: reclaim is allowed
                             between the two depths */
    unsigned most_depth;  /* 0 with least_depth over it: no reclaim */
};

/* The depth of the deepest queue above both. */
static unsigned common_depth(const struct queue *a, const struct queue *b)
{
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a->depth;
}

static bool may_go(const struct workload *w, const struct workload *own, enum mete_preempt rule)
{
    switch (rule) {
    case METE_PREEMPT_ANY:
        return w->queue != own->queue || w->priority < own->priority;
    case METE_PREEMPT_LOWER_PRIORITY:
        return w->priority < own->priority;
    case METE_PREEMPT_LATER:
        return w->priority <= own->priority && order_before(&own->key, &w->key);
    case METE_PREEMPT_NEVER:
        break;
    }
    return false;
}

/* The rule of the workload's own queue; a class takes its place. */
static enum mete_preempt within_of(const struct workload *w)
{
    return w->group->evict_class == 0 ? w->queue->within : METE_PREEMPT_NEVER;
}

static bool has_class_victims(const struct mete_engine *e, const struct workload *w)
{
    return e->class_victims[w->group->evict_class] != 0;
}

static void mark_in(struct preempt_search *s, const struct queue *q)
{
    const struct mete_engine *e = s->victims.e;
    const struct workload *own = s->victims.attempt.w;
    bool is_own = q == own->queue;
    enum mete_preempt rule = is_own ? within_of(own) : own->queue->reclaim;
    unsigned depth = is_own ? 0 : common_depth(q, own->queue);

    if (!is_own && (depth < s->least_depth || depth > s->most_depth))
        rule = METE_PREEMPT_NEVER;
    if (rule == METE_PREEMPT_NEVER && !has_class_victims(e, own))
        return;
    for (struct workload *w = q->first_placed; w; w = w->placed_after) {
        bool by_class = preempt_by_class(e, own, w);

        if (!by_class && !may_go(w, own, rule))
            continue;
        if (w->is_secured && ((!is_own && !by_class) || s->spares_secured))
            continue;
        victims_allow(&s->victims, w);
        s->has_secured = s->has_secured || w->is_secured;
    }
}

/* Finds the depths of common queues for which the preemptor's side is below its nominal quota. */
static void find_depths(struct preempt_search *s)
{
    const struct workload *w = s->victims.attempt.w;

    s->least_depth = 1;
    s->most_depth = 0;
    if (!queue_would_secure(s->victims.e, w, s->victims.charge.at))
        return;
    for (const struct queue *q = w->queue; q->parent; q = q->parent) {
        bool has = false;
        bool is_within = queue_is_within(s->victims.e, q, &s->victims.charge, &has);

        if (has && !is_within)
            return;
        if (has && s->most_depth < s->least_depth)
            s->most_depth = q->depth - 1;
        if (has || s->most_depth >= s->least_depth)
            s->least_depth = q->depth - 1;
    }
}

static void mark_all(struct preempt_search *s)
{
    const struct workload *w = s->victims.attempt.w;

    victims_begin(&s->victims);
    find_depths(s);
    if (s->most_depth < s->least_depth && within_of(w) == METE_PREEMPT_NEVER &&
        !has_class_victims(s->victims.e, w))
        return; /* securing more workloads could not change that */
    queues_secure(s->victims.e);
    find_depths(s);
    VEC_EACH (&s->victims.e->queues, q) {
        mark_in(s, *q);
    }
}

static bool has_secured(const struct mete_engine *e)
{
    VEC_EACH (&e->victims, w) {
        if ((*w)->is_secured)
            return true;
    }
    return false;
}

/* Finds a set of victims, into e->victims, and the room that they leave, or NULL. The trial is
 * undone on return. */
static struct backfill *find_victims(struct preempt_search *s)
{
    struct mete_engine *e = s->victims.e;
    struct workload *w = s->victims.attempt.w;
    struct backfill *r = NULL;
    size_t mark;

    arena_reset(e->scratch);
    mark_all(s);
    if (s->victims.n_candidates == 0)
        return NULL;
    mark = journal_open(&e->journal);
    lend_open(e, w); /* the undo closes them */
    if (victims_make_quota(&s->victims) && victims_make_room(&s->victims)) {
        victims_spare(&s->victims);
        if (e->victims.n > 0 && (!has_secured(e) || queue_would_secure(e, w, s->victims.charge.at)))
            r = backfill_of_trial(w, NULL, 0);
    }
    journal_undo(&e->journal, mark);
    return r;
}

bool preempt_for(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct preempt_search s = {
        .victims = {.e = e, .suspends = true, .attempt = {.e = e, .w = w, .now_ns = now_ns}}};
    struct group *g = w->group;
    struct backfill *r;

    if (e->counted.n == 0 || w->n_evicting > 0 || w->moved_for != 0 || g->never_preempts ||
        (w->queue->reclaim == METE_PREEMPT_NEVER && within_of(w) == METE_PREEMPT_NEVER &&
         !has_class_victims(e, w)))
        return false;
    if (g->stuck_at == e->version && now_ns < g->stuck_ns)
        return false;
    s.victims.again_ns = NEVER_NS;
    charge_of(e, w, NULL, &s.victims.charge);
    r = find_victims(&s);
    if (!r && s.has_secured) {
        s.spares_secured = true;
        r = find_victims(&s);
    }
    if (!r) {
        g->stuck_at = e->version;
        g->stuck_ns = s.victims.again_ns;
        return false;
    }
    backfill_put(e, r);
    victims_decide(e, w, false);
    return true;
}
