/* why_nodes.c - the nearest nodes and what keeps pods off them, in words */

#include <inttypes.h>

#include "engine/device/device_pick.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/why/why.h"

static struct answer answer_small(const struct node *n, enum trouble t, uint32_t resource,
                                  int64_t asked, int64_t capacity)
{
    return (struct answer){
        .node = n, .trouble = t, .resource = resource, .asked = asked, .capacity = capacity};
}

/* Finds the trouble that would remain if the node were empty, healthy and ready. False: none. */
static bool answer_of_kind(const struct node *n, const struct shape *s, struct answer *ret)
{
    int64_t of_kind = fit_together(n, s, node_gpus_of(n, s));

    if (s->node != 0 && s->node != n->name_id)
        *ret = answer_small(n, TROUBLE_NAME, 0, s->gpus, n->n_gpus);
    else if (!fit_labels(n, s))
        *ret = answer_small(n, TROUBLE_LABEL, 0, s->gpus, n->n_gpus);
    else if (!fit_wanted(n, s))
        *ret = answer_small(n, TROUBLE_TERMS, 0, s->gpus, n->n_gpus);
    else if (fit_taint(n, s))
        *ret = answer_small(n, TROUBLE_TAINT, 0, s->gpus, n->n_gpus);
    else if (s->gpus > 0 && node_gpus_of(n, s) == 0)
        *ret = answer_small(n, TROUBLE_MODEL, 0, s->gpus, 0);
    else if (s->n_asks > 0 ? device_pick_empty(n, s) == 0 : of_kind < (int64_t)s->gpus)
        *ret = answer_small(n, TROUBLE_SMALL_GPUS, 0, s->gpus, of_kind);
    else
        return false;
    return true;
}

static bool answer_of_rooms(const struct node *n, const struct shape *s, bool is_empty,
                            struct answer *ret)
{
    for (size_t i = 0; i < s->n_requests; i++) {
        const struct request *r = &s->requests[i];
        const struct room *room = node_room(n, r->resource);
        int64_t capacity = room ? room->capacity : 0;
        int64_t used = room && !is_empty ? room->used : 0;

        if (r->amount <= capacity - used)
            continue;
        *ret = (struct answer){
            .node = n,
            .trouble = is_empty ? TROUBLE_SMALL_ROOM : TROUBLE_SHORT_ROOM,
            .resource = r->resource,
            .asked = r->amount,
            .free = capacity > used ? capacity - used : 0,
            .capacity = capacity,
        };
        return true;
    }
    return false;
}

/* Sets the owner for whom the node's room is kept, and TROUBLE_KEPT; nothing if there is none. */
static void answer_find_keeper(struct mete_engine *e, const struct attempt *a, struct node *n,
                               const struct shape *s, struct answer *ret)
{
    struct attempt own = *a;

    own.kept_by = NULL;
    if (n->backfill && backfill_ask(a, s, n, policy_devices(e, n, s)) == BACKFILL_KEPT)
        ret->kept_by = n->backfill->owner;
    else if (!claim_allows(e, &own, s, n))
        ret->kept_by = own.kept_by;
    if (ret->kept_by)
        ret->trouble = TROUBLE_KEPT;
}

/* The free gpus that such a pod could take together, enough or not. */
static int64_t free_of(const struct node *n, const struct shape *s)
{
    if (!s->is_linked)
        return (int64_t)bits(fit_gpus(n, s));
    return fit_together(n, s, n->healthy & ~n->held & ~n->barred & node_gpus_of(n, s));
}

/* The answer of a node without bars. With `has_rules`: affinity_ask was called. */
static void answer_of_open(struct mete_engine *e, const struct attempt *a, struct node *n,
                           const struct shape *s, bool has_rules, struct answer *ret)
{
    uint64_t kind = node_gpus_of(n, s);
    int64_t free = s->n_asks > 0 ? device_pick_free(n, s) : free_of(n, s);

    if (answer_of_kind(n, s, ret) || answer_of_rooms(n, s, true, ret))
        return;
    *ret = (struct answer){
        .node = n,
        .asked = s->gpus,
        .free = free,
        .capacity = s->n_asks > 0 ? device_pick_capacity(n, s) : fit_together(n, s, kind),
    };
    if (!n->is_ready) {
        ret->trouble = TROUBLE_NOT_READY;
    } else if (n->is_cordoned) {
        ret->trouble = TROUBLE_CORDONED;
    } else if (fit_together(n, s, n->healthy & kind) < (s->n_asks > 0 ? 1 : s->gpus)) {
        ret->trouble = TROUBLE_UNHEALTHY;
        ret->free = fit_together(n, s, n->healthy & kind);
        ret->capacity = fit_together(n, s, kind);
    } else if (!fit_gpus_now(n, s)) {
        ret->trouble = TROUBLE_SHORT_GPUS;
    } else if (!answer_of_rooms(n, s, false, ret)) {
        answer_find_keeper(e, a, n, s, ret);
        if (ret->trouble == TROUBLE_NONE && has_rules && !affinity_allows(e, n, &ret->refusal))
            ret->trouble = TROUBLE_NEAR;
    }
}

/* The answer of a node. Bars count only if there is no other trouble. For a workload that names a
 * reservation, nodes outside of it are TROUBLE_OUTSIDE. */
static void answer_of(struct mete_engine *e, const struct attempt *a, struct node *n,
                      const struct shape *s, bool has_rules, struct answer *ret)
{
    uint64_t barred = n->barred;
    bool is_whole = node_is_barred(e, n);

    if (!e->inside)
        n->barred = 0;
    answer_of_open(e, a, n, s, has_rules, ret);
    n->barred = barred;
    if (e->inside && is_whole)
        *ret = answer_small(n, TROUBLE_OUTSIDE, 0, s->gpus, 0);
    else if (ret->trouble <= TROUBLE_KEPT && (is_whole || !fit_gpus_now(n, s)))
        ret->trouble = TROUBLE_RESERVED;
}

/* Is `b` nearer to a fit than `a`, which is before `b` by name? Less trouble is nearer, then less
 * missing. */
static bool is_nearer(const struct answer *b, const struct answer *a)
{
    if (a->trouble != b->trouble)
        return b->trouble < a->trouble;
    if (a->resource != b->resource)
        return false; /* amounts of different resources do not compare */
    if (a->free != b->free)
        return b->free > a->free;
    return b->capacity > a->capacity;
}

static const struct ties *ties_of(const struct group *g, const struct shape *s)
{
    for (size_t i = 0; i < g->n_sets; i++)
        if (g->sets[i].shape == s)
            return g->sets[i].ties;
    return NULL;
}

void answers_find(struct mete_engine *e, const struct attempt *a, const struct shape *s, size_t max,
                  struct answers *ret)
{
    const struct ties *ties = ties_of(a->w->group, s);
    bool has_rules = affinity_restricts(ties, s);

    reservations_bar(e, a->w, a->now_ns);
    *ret = (struct answers){.n_nodes = e->order.n};
    if (has_rules)
        affinity_ask(e, ties, s);
    ret->at = arena_alloc(e->scratch, (max + 1) * sizeof(*ret->at));
    for (size_t i = 0; i < e->order.n; i++) {
        struct answer here = {0};
        size_t at = ret->n;

        answer_of(e, a, e->order.at[i], s, has_rules, &here);
        if (here.trouble < TROUBLE_SMALL_ROOM)
            ret->kind_gpus += here.capacity;
        while (at > 0 && is_nearer(&here, &ret->at[at - 1])) {
            ret->at[at] = ret->at[at - 1];
            at--;
        }
        if (at == max)
            continue;
        ret->at[at] = here;
        if (ret->n < max)
            ret->n++;
    }
}

uint32_t why_failed_set(const struct attempt *a)
{
    const struct group *g = a->w->group;
    size_t left = a->n_placed;

    for (size_t i = 0; i < g->n_sets; i++) {
        uint32_t set = g->fill_order[i];

        if (left < g->sets[set].count)
            return set;
        left -= g->sets[set].count;
    }
    return g->fill_order[0];
}

/* "8 H100", "32 cpu": the request that the answer is about. */
static const char *asked_text(struct mete_engine *e, const struct shape *s, const struct answer *a)
{
    return a->resource ? why_amount(e, a->resource, a->asked) : why_gpus(e, s, a->asked);
}

/* "4 x 2 H100", "3 pods": the gpus of a gang's set. */
static const char *gang_text(struct mete_engine *e, const struct group *g, uint32_t set)
{
    const struct shape *s = g->sets[set].shape;
    const char *name = intern_text(e->texts, g->sets[set].name);
    const char *colon = g->n_sets > 1 && *name ? ": " : "";

    if (g->n_sets < 2)
        name = "";
    if (s->gpus == 0)
        return arena_format(e->answers, "%s%s%u pods", name, colon, g->sets[set].count);
    return arena_format(e->answers, "%s%s%u x %s", name, colon, g->sets[set].count,
                        why_gpus(e, s, s->gpus));
}

static const char *gang_place_text(struct mete_engine *e, const struct attempt *a)
{
    const struct group *g = a->w->group;
    uint32_t set = why_failed_set(a);
    size_t placed = a->n_placed;

    for (size_t i = 0; i < g->n_sets && g->fill_order[i] != set; i++)
        placed -= g->sets[g->fill_order[i]].count;
    return arena_format(e->answers, "needs %s at once; there is room for %zu", gang_text(e, g, set),
                        placed);
}

const char *why_place_text(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                           const struct answers *answers)
{
    const struct answer *best = &answers->at[0];
    const char *asked;

    if (a->w->group->n_pods > 1)
        return gang_place_text(e, a);
    asked = asked_text(e, s, best);
    if (best->trouble == TROUBLE_NEAR)
        return arena_format(e->answers, "%s (%s)", why_affinity_text(e, &best->refusal),
                            best->node->name);
    if (best->trouble == TROUBLE_NOT_READY)
        return arena_format(e->answers, "needs %s; %s is not ready", asked, best->node->name);
    if (best->trouble == TROUBLE_CORDONED)
        return arena_format(e->answers, "needs %s; %s is cordoned", asked, best->node->name);
    if (best->trouble == TROUBLE_UNHEALTHY)
        return arena_format(
            e->answers, "needs %s on one node; %" PRId64 " of %" PRId64 " are in service (%s%s)",
            asked, best->free, best->capacity, best->node->name, why_out_of_service(e, best->node));
    if (best->trouble == TROUBLE_RESERVED)
        return arena_format(e->answers, "needs %s; %s: %s", asked, best->node->name,
                            why_barred_text(e, best->node));
    if (best->trouble == TROUBLE_KEPT)
        return arena_format(e->answers, "needs %s; %s is kept for %s", asked, best->node->name,
                            why_workload(e, best->kept_by));
    if (s->n_asks > 0 && best->trouble == TROUBLE_SHORT_GPUS)
        return why_asks_place_text(e, s, best);
    if (best->resource == 0 && best->free == 0)
        return arena_format(e->answers, "needs %s; none of %" PRId64 " is free%s", asked,
                            answers->kind_gpus, shape_is_share(s) ? why_fenced(e, s) : "");
    return arena_format(e->answers, "needs %s on one node; most free is %s (%s)", asked,
                        best->resource ? why_number(e, best->resource, best->free)
                                       : arena_format(e->answers, "%" PRId64, best->free),
                        best->node->name);
}

static const char *never_label_text(struct mete_engine *e, const struct shape *s)
{
    for (size_t i = 0; i < s->n_selector; i++) {
        bool is_anywhere = false;

        for (size_t k = 0; k < e->order.n && !is_anywhere; k++) {
            const struct node *n = e->order.at[k];

            for (size_t l = 0; l < n->n_labels; l++)
                is_anywhere = is_anywhere || (n->labels[l].key == s->selector[i].key &&
                                              n->labels[l].value == s->selector[i].value);
        }
        if (!is_anywhere)
            return arena_format(e->answers, "no node has the label %s",
                                why_label(e, &s->selector[i]));
    }
    return "no node has all of the labels asked for";
}

static const char *never_node_text(struct mete_engine *e, const struct shape *s,
                                   const struct answer *best)
{
    const char *asked = asked_text(e, s, best);

    if (s->n_asks > 0 && (best->trouble == TROUBLE_SMALL_GPUS || best->trouble == TROUBLE_MODEL))
        return why_asks_never_text(e, s);
    if (best->trouble == TROUBLE_SMALL_ROOM || best->trouble == TROUBLE_SMALL_GPUS)
        return arena_format(e->answers, "needs %s on one node; the largest has %s (%s)", asked,
                            best->resource ? why_number(e, best->resource, best->capacity)
                                           : arena_format(e->answers, "%" PRId64, best->capacity),
                            best->node->name);
    if (best->trouble == TROUBLE_MODEL)
        return arena_format(e->answers, "needs %s; no node that matches has %s", asked,
                            s->n_models > 0 ? "that model" : "gpus");
    if (best->trouble == TROUBLE_TAINT)
        return arena_format(e->answers, "does not tolerate the taint %s (%s)",
                            why_taint(e, fit_taint(best->node, s)), best->node->name);
    if (best->trouble == TROUBLE_LABEL)
        return never_label_text(e, s);
    if (best->trouble == TROUBLE_TERMS)
        return arena_format(e->answers, "no node meets its node affinity: %s",
                            why_terms(e, s->nodes));
    if (best->trouble == TROUBLE_NAME)
        return arena_format(e->answers, "there is no node %s", intern_text(e->texts, s->node));
    return NULL;
}

const char *why_never_text(struct mete_engine *e, const struct group *g, const struct attempt *a)
{
    if (e->order.n == 0)
        return "there are no nodes";
    for (size_t i = 0; i < g->n_sets; i++) {
        const struct shape *s = g->sets[g->fill_order[i]].shape;
        struct answers answers = {0};
        const char *text;
        uint64_t held = 0;

        answers_find(e, a, s, 1, &answers);
        text = never_node_text(e, s, &answers.at[0]);
        if (text)
            return text;
        for (size_t k = 0; k < e->order.n; k++)
            held += fit_empty(e->order.at[k], s);
        if (held < g->sets[g->fill_order[i]].count)
            return arena_format(e->answers, "needs %s; all nodes together hold %" PRIu64,
                                gang_text(e, g, g->fill_order[i]), held);
    }
    if (domains_never_fit(e, g))
        return why_domain_text(e, g, g->fill_order[0], true);
    return "no set of nodes can hold it";
}
