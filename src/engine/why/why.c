/*
 * why.c - the reason why a workload waits
 *
 * The reason is found by trials: an obstacle without which the workload could be placed is the
 * cause. So a reason is true by construction, for the engine's state when it is asked.
 */

#include "engine/why/why.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/evict/preempt.h"
#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/foresee.h"
#include "engine/plan/future.h"
#include "engine/plan/reservation.h"
#include "model/resource.h"

static const struct {
    const char *code;
    const char *class_text;
} words[] = {
    [METE_REASON_NONE] = {"None", "turn"},
    [METE_REASON_NEVER_FITS] = {"NeverFits", "yours"},
    [METE_REASON_NO_SUCH_QUEUE] = {"NoSuchQueue", "yours"},
    [METE_REASON_NOT_ALLOWED] = {"NotAllowed", "yours"},
    [METE_REASON_OVER_MAX] = {"OverMaxQuota", "yours"},
    [METE_REASON_HELD_BY_YOU] = {"HeldByYou", "held"},
    [METE_REASON_HELD_BY_ADMIN] = {"HeldByAdmin", "held"},
    [METE_REASON_SCHEDULING_GATED] = {"SchedulingGated", "held"},
    [METE_REASON_NOT_BEFORE] = {"NotBefore", "held"},
    [METE_REASON_QUEUE_STOPPED] = {"QueueStopped", "held"},
    [METE_REASON_QUOTA] = {"QuotaExceeded", "quota"},
    [METE_REASON_USER_LIMIT] = {"UserLimit", "quota"},
    [METE_REASON_PREEMPTING] = {"WaitingForPreempted", "place"},
    [METE_REASON_NO_NODE_FITS] = {"NoNodeFits", "place"},
    [METE_REASON_TOPOLOGY_SPLIT] = {"TopologySplit", "place"},
    [METE_REASON_FRAGMENTED] = {"Fragmented", "place"},
    [METE_REASON_GPUS_UNHEALTHY] = {"GpusUnhealthy", "place"},
    [METE_REASON_NODES_DRAINING] = {"NodesDraining", "place"},
    [METE_REASON_RESERVED] = {"Reserved", "place"},
    [METE_REASON_HIGHER_PRIORITY] = {"HigherPriority", "turn"},
    [METE_REASON_NOT_YET_EVALUATED] = {"NotYetEvaluated", "turn"},
};

static const char fits_text[] = "fits; waits for the next cycle";

static bool fits_with_all_gpus(struct mete_engine *e, struct attempt *a)
{
    size_t mark = journal_open(&e->journal);
    bool fits;

    for (size_t i = 0; i < e->order.n; i++) {
        struct node *n = e->order.at[i];

        if (n->healthy == node_gpus(n))
            continue;
        SET(e, n->healthy, node_gpus(n));
        node_touch(e, n);
    }
    fits = place_pods(e, a);
    journal_undo(&e->journal, mark);
    return fits;
}

static bool fits_with_all_nodes(struct mete_engine *e, struct attempt *a)
{
    size_t mark = journal_open(&e->journal);
    bool fits;

    for (size_t i = 0; i < e->order.n; i++) {
        struct node *n = e->order.at[i];

        if (node_takes_pods(n))
            continue;
        SET(e, n->is_ready, true);
        SET(e, n->is_cordoned, false);
        node_touch(e, n);
    }
    fits = place_pods(e, a);
    journal_undo(&e->journal, mark);
    return fits;
}

struct why_finding {
    enum mete_reason_code code;
    const struct backfill *kept; /* the backfill reservation that is the cause; NULL: a claim is */
    const struct workload *kept_by;        /* the owner of either */
    struct attempt attempt;                /* the failed attempt */
    size_t n_anywhere;                     /* pods that found a node when domains are ignored */
    struct quota_block block;              /* the quota that is the cause */
    const struct reservation *reservation; /* the reservation that is the cause, and its node */
    const struct node *reserved;
};

/* Is the hold the reason to tell? A hold precedes the queue's reasons, but not those that the user
 * has to mend. */
static bool hold_leads(const struct workload *w, enum mete_reason_code quota)
{
    return w->hold != METE_HOLD_NONE && (quota == METE_REASON_NONE || hold_code(w) < quota);
}

/* Finds whether a required domain is the cause. No other obstacle is. */
static void why_find_domain(struct mete_engine *e, struct attempt *a, struct why_finding *ret)
{
    ret->n_anywhere = ret->attempt.n_placed;
    if (!a->w->group->has_asks)
        return;
    a->ignores_domains = true;
    if (place_would_fit(e, a))
        ret->code = METE_REASON_TOPOLOGY_SPLIT;
    ret->n_anywhere = a->n_placed;
}

/* Finds causes that do not depend on free room. False: none. */
static bool why_find_beforehand(struct mete_engine *e, struct workload *w, struct why_finding *ret)
{
    struct charge c;

    if (group_never_fits(e, w->group)) {
        ret->code = METE_REASON_NEVER_FITS;
        return true;
    }
    if (preempt_is_pending(e, w)) {
        ret->code = w->n_evicting > 0 ? METE_REASON_PREEMPTING : METE_REASON_NOT_YET_EVALUATED;
        (void)place_would_fit(e, &ret->attempt); /* for the lines of nodes */
        return true;
    }
    charge_of(e, w, NULL, &c);
    if (queue_admits(e, w, &c, &ret->block) && w->hold == METE_HOLD_NONE)
        return false;
    if (hold_leads(w, ret->block.code))
        ret->block = (struct quota_block){.code = hold_code(w)};
    ret->code = ret->block.code;
    (void)place_would_fit(e, &ret->attempt); /* for the lines of nodes */
    return true;
}

static void why_find(struct mete_engine *e, struct workload *w, int64_t now_ns,
                     struct why_finding *ret)
{
    struct attempt relaxed = {.e = e, .w = w, .now_ns = now_ns};

    *ret = (struct why_finding){.code = METE_REASON_NO_NODE_FITS, .attempt = relaxed};
    if (why_find_beforehand(e, w, ret))
        return;
    if (place_would_fit(e, &ret->attempt)) {
        ret->code = METE_REASON_NOT_YET_EVALUATED;
        return;
    }
    if (reservation_ask(e, w, now_ns) != RESERVATION_OPEN) {
        ret->code = METE_REASON_RESERVED;
        return;
    }
    if (ret->attempt.block.code != METE_REASON_NONE) {
        ret->block = ret->attempt.block;
        ret->code = ret->block.code;
        return;
    }
    relaxed.ignores_backfills = true;
    if ((ret->attempt.kept || ret->attempt.kept_by) && place_would_fit(e, &relaxed)) {
        ret->kept = ret->attempt.kept;
        ret->kept_by = ret->kept ? ret->kept->owner : ret->attempt.kept_by;
        ret->code = ret->kept_by->priority > w->priority ? METE_REASON_HIGHER_PRIORITY
                                                         : METE_REASON_RESERVED;
        return;
    }
    relaxed.ignores_backfills = false;
    ret->reservation = why_reservation(e, &relaxed, &ret->reserved);
    if (ret->reservation)
        ret->code = METE_REASON_RESERVED;
    else if (fits_with_all_gpus(e, &relaxed))
        ret->code = METE_REASON_GPUS_UNHEALTHY;
    else if (fits_with_all_nodes(e, &relaxed))
        ret->code = METE_REASON_NODES_DRAINING;
    else
        why_find_domain(e, &relaxed, ret);
    if (ret->code == METE_REASON_NO_NODE_FITS &&
        why_is_fragmented(e, w->group->sets[why_failed_set(&ret->attempt)].shape))
        ret->code = METE_REASON_FRAGMENTED;
}

/* "needs 2 H100", "needs 4 x 2 H100", "needs room": the workload's requests, in short. */
static const char *needs_text(struct mete_engine *e, const struct group *g)
{
    const struct shape *s = g->sets[g->fill_order[0]].shape;

    if (g->n_pods > 1 && s->gpus > 0)
        return arena_format(e->answers, "needs %u x %s", g->sets[g->fill_order[0]].count,
                            why_gpus(e, s, s->gpus));
    if (g->n_pods > 1)
        return arena_format(e->answers, "needs %zu pods", g->n_pods);
    return s->gpus > 0 ? arena_format(e->answers, "needs %s", why_gpus(e, s, s->gpus))
                       : "needs room";
}

/* The nearest node whose trouble is within `first` .. `last`. */
static const struct node *first_in_trouble(const struct answers *answers, enum trouble first,
                                           enum trouble last)
{
    for (size_t i = 0; i < answers->n; i++)
        if (answers->at[i].trouble >= first && answers->at[i].trouble <= last)
            return answers->at[i].node;
    return NULL;
}

static const char *kept_text(struct mete_engine *e, const struct why_finding *f)
{
    const char *asked = needs_text(e, f->attempt.w->group);
    const struct workload *owner;

    if (f->reservation)
        return arena_format(
            e->answers, "%s; %s", asked,
            why_reserved_text(e, f->reservation, f->reserved->name, f->attempt.now_ns));
    if (!f->kept_by)
        return why_own_reservation_text(e, f->attempt.w, f->attempt.now_ns);
    owner = f->kept_by;
    if (f->code == METE_REASON_RESERVED && f->kept)
        return arena_format(e->answers, "%s; the room on %s is kept for %s", asked,
                            f->kept->nodes[0].node->name, why_workload(e, owner));
    return arena_format(e->answers, "%s; the room is kept for %s (priority %d)", asked,
                        why_workload(e, owner), owner->priority);
}

static const char *unhealthy_text(struct mete_engine *e, const struct why_finding *f)
{
    const struct node *first = NULL;
    uint64_t n = 0;

    for (size_t i = 0; i < e->order.n; i++) {
        uint64_t here = bits(node_gpus(e->order.at[i]) & ~e->order.at[i]->healthy);

        first = !first && here > 0 ? e->order.at[i] : first;
        n += here;
    }
    return arena_format(e->answers, "%s; would fit if %" PRIu64 " more gpu%s in service (%s%s%s)",
                        needs_text(e, f->attempt.w->group), n, n == 1 ? " was" : "s were",
                        first ? first->name : "", first ? why_out_of_service(e, first) : "",
                        n > 3 ? ", ..." : "");
}

static const char *draining_text(struct mete_engine *e, const struct why_finding *f,
                                 const struct answers *answers)
{
    const struct node *n = first_in_trouble(answers, TROUBLE_CORDONED, TROUBLE_NOT_READY);
    const char *asked = needs_text(e, f->attempt.w->group);

    if (!n)
        return arena_format(e->answers, "%s; fits only with nodes that are cordoned or not ready",
                            asked);
    if (n->is_ready && n->cordon_reason)
        return arena_format(e->answers, "%s; fits only on %s, which is cordoned: \"%s\"", asked,
                            n->name, n->cordon_reason);
    return arena_format(e->answers, "%s; fits only on %s, which is %s", asked, n->name,
                        n->is_ready ? "cordoned" : "not ready");
}

static const char *no_room_text(struct mete_engine *e, const struct why_finding *f,
                                const struct shape *s, const struct answers *answers)
{
    struct attempt anywhere = f->attempt;

    anywhere.n_placed = f->n_anywhere;
    return why_place_text(e, &anywhere, s, answers);
}

static const char *message_of(struct mete_engine *e, const struct why_finding *f,
                              const struct shape *s, const struct answers *answers)
{
    switch (f->code) {
    case METE_REASON_NONE:
        return "";
    case METE_REASON_NEVER_FITS:
        return why_never_text(e, f->attempt.w->group, &f->attempt);
    case METE_REASON_NO_SUCH_QUEUE:
    case METE_REASON_OVER_MAX:
    case METE_REASON_QUEUE_STOPPED:
    case METE_REASON_QUOTA:
    case METE_REASON_USER_LIMIT:
        return why_quota_text(e, f->attempt.w, &f->block);
    case METE_REASON_NOT_ALLOWED:
    case METE_REASON_HELD_BY_YOU:
    case METE_REASON_HELD_BY_ADMIN:
    case METE_REASON_SCHEDULING_GATED:
    case METE_REASON_NOT_BEFORE:
        return arena_strdup(e->answers, hold_text(f->attempt.w));
    case METE_REASON_PREEMPTING:
        return why_preempting_text(e, f->attempt.w);
    case METE_REASON_NOT_YET_EVALUATED:
        return fits_text;
    case METE_REASON_RESERVED:
    case METE_REASON_HIGHER_PRIORITY:
        return kept_text(e, f);
    case METE_REASON_GPUS_UNHEALTHY:
        return unhealthy_text(e, f);
    case METE_REASON_NODES_DRAINING:
        return draining_text(e, f, answers);
    case METE_REASON_FRAGMENTED:
        return why_fragmented_text(e, s);
    case METE_REASON_NO_NODE_FITS:
        return no_room_text(e, f, s, answers);
    case METE_REASON_TOPOLOGY_SPLIT:
        return why_domain_text(e, f->attempt.w->group, why_failed_set(&f->attempt), false);
    }
    return "";
}

static void fill_head(struct workload *w, enum mete_reason_code code, int64_t now_ns,
                      struct mete_reason *ret)
{
    if (w->code != code) {
        w->since_ns = w->code == METE_REASON_NONE ? w->key.submit_ns : now_ns;
        w->code = code;
    }
    *ret = (struct mete_reason){
        .code = code,
        .code_text = words[code].code,
        .class_text = words[code].class_text,
        .message = "",
        .since_ns = w->since_ns,
        .evaluated_ns = now_ns,
        .position = w->is_placed ? 0 : (uint32_t)order_place(&w->all) + 1,
        .waiting = (uint32_t)order_count(&w->queue->waiting),
        .queue = w->queue->name,
    };
}

static const char *resource_of(struct mete_engine *e, const struct shape *s, const struct answer *a)
{
    if (a->trouble == TROUBLE_SHORT_GPUS || a->trouble == TROUBLE_SMALL_GPUS ||
        a->trouble == TROUBLE_UNHEALTHY)
        return s->n_asks > 0 ? why_asks_resource(e, s) : GPU_RESOURCE;
    if (a->trouble == TROUBLE_SHORT_ROOM || a->trouble == TROUBLE_SMALL_ROOM)
        return arena_strdup(e->answers, intern_text(e->texts, a->resource));
    return NULL;
}

static void fill_nodes(struct mete_engine *e, const struct shape *s, const struct answers *answers,
                       int64_t now_ns, struct mete_reason *ret)
{
    struct mete_node_reason *nodes = arena_alloc(e->answers, (answers->n + 1) * sizeof(*nodes));
    const struct future_ask ask = {e, NULL, s, now_ns};
    size_t n = 0;

    for (size_t i = 0; i < answers->n; i++) {
        const struct answer *a = &answers->at[i];
        struct future f;

        if (a->trouble == TROUBLE_NAME)
            continue; /* the pod asks for one node: others are of no interest */
        nodes[n] = (struct mete_node_reason){
            .node = arena_strdup(e->answers, a->node->name),
            .resource = resource_of(e, s, a),
            .asked = a->asked,
            .free = a->free,
            .capacity = a->capacity,
            .text = why_node_text(e, s, a),
        };
        if ((a->trouble == TROUBLE_SHORT_GPUS || a->trouble == TROUBLE_SHORT_ROOM) &&
            future_of(&ask, a->node, NULL, &f) && f.start_ns != NEVER_NS)
            nodes[n].until_ns = f.start_ns;
        n++;
    }
    ret->nodes = nodes;
    ret->n_nodes = n;
    ret->nodes_left_out = s->node ? 0 : answers->n_nodes - n;
}

static void why_explain(struct mete_engine *e, struct workload *w, int64_t now_ns,
                        struct mete_reason *ret)
{
    struct answers answers = {0};
    struct why_lines *lines;
    const struct shape *s;
    struct why_finding f;

    arena_reset(e->answers);
    arena_reset(e->scratch);
    why_find(e, w, now_ns, &f);
    s = w->group->sets[why_failed_set(&f.attempt)].shape;
    answers_find(e, &f.attempt, s, e->lines_max, &answers);
    fill_head(w, f.code, now_ns, ret);
    ret->message = message_of(e, &f, s, &answers);
    foresee(e, w, now_ns, ret);
    if (f.block.code == METE_REASON_NONE)
        fill_nodes(e, s, &answers, now_ns, ret);
    if (f.code == METE_REASON_NOT_YET_EVALUATED)
        return;
    lines = arena_alloc(e->answers, sizeof(*lines));
    if (f.code == hold_code(w)) {
        why_if_released(e, &f.attempt, lines);
        ret->would_start_if = lines->at;
        ret->n_would_start_if = lines->n;
        return;
    }
    why_if_quota(e, &f.attempt, &f.block, lines);
    why_if_reservation(e, &f.attempt, f.reservation, lines);
    why_if(e, &f.attempt, &answers, lines);
    ret->would_start_if = lines->at;
    ret->n_would_start_if = lines->n;
}

enum mete_result mete_why(struct mete_engine *e, uint64_t id, int64_t now_ns,
                          struct mete_reason *ret)
{
    struct workload *w = engine_workload(e, id);

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    if (w->is_placed)
        fill_head(w, METE_REASON_NONE, now_ns, ret);
    else
        why_explain(e, w, now_ns, ret);
    return METE_OK;
}

/* Has the user to change something else before the hold matters? */
static bool is_users_own(struct mete_engine *e, const struct workload *w)
{
    struct quota_block b = {0};
    struct charge c;

    if (group_never_fits(e, w->group))
        return true;
    charge_of(e, w, NULL, &c);
    return !queue_admits(e, w, &c, &b) && !hold_leads(w, b.code);
}

/* All waiting workloads of a group have the same cause, so it is found once for each state of the
 * engine. */
static void renew_brief(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct answers answers = {0};
    struct group *g = w->group;
    const struct shape *s;
    struct why_finding f;

    arena_reset(e->answers);
    arena_reset(e->scratch);
    why_find(e, w, now_ns, &f);
    s = g->sets[why_failed_set(&f.attempt)].shape;
    answers_find(e, &f.attempt, s, e->lines_max, &answers);
    free(g->brief);
    g->brief = mem_strdup(message_of(e, &f, s, &answers));
    g->brief_code = f.code;
    g->brief_at = e->version;
    g->brief_ns = now_ns;
}

enum mete_result mete_why_brief(struct mete_engine *e, uint64_t id, int64_t now_ns,
                                struct mete_reason *ret)
{
    struct workload *w = engine_workload(e, id);
    struct group *g;

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    g = w->group;
    if (w->is_placed) {
        fill_head(w, METE_REASON_NONE, now_ns, ret);
        return METE_OK;
    }
    if (preempt_is_pending(e, w)) {
        arena_reset(e->answers);
        fill_head(w, w->n_evicting > 0 ? METE_REASON_PREEMPTING : METE_REASON_NOT_YET_EVALUATED,
                  now_ns, ret);
        ret->message = w->n_evicting > 0 ? why_preempting_text(e, w) : fits_text;
        return METE_OK;
    }
    if (w->hold != METE_HOLD_NONE && !is_users_own(e, w)) {
        arena_reset(e->answers);
        fill_head(w, hold_code(w), now_ns, ret);
        ret->message = hold_text(w);
        return METE_OK;
    }
    if (g->brief_at != e->version || (e->reservations.n > 0 && g->brief_ns != now_ns))
        renew_brief(e, w, now_ns);
    fill_head(w, g->brief_code, now_ns, ret);
    ret->message = g->brief;
    return METE_OK;
}
