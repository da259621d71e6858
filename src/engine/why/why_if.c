/*
 * why_if.c - "would start if": single changes with which the workload would start
 *
 * A line is added only after a trial placed the workload with that one change. Shapes for such
 * trials are in the scratch arena and search every node.
 */

#include <inttypes.h>

#include "engine/affinity/node_rules.h"
#include "engine/evict/move.h"
#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/why/why.h"

enum {
    TRIES_MAX = 8, /* of one kind of change */
};

struct lines {
    struct mete_engine *e;
    const struct attempt *a;
    struct why_lines *to;
};

void why_line(struct why_lines *l, const char *text)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i], text) == 0)
            return;
    if (l->n < WHY_LINES_MAX)
        l->at[l->n++] = text;
}

static void line_add(const struct lines *l, const char *text)
{
    why_line(l->to, text);
}

static bool try_as_is(struct lines *l, const char **ret_node)
{
    struct attempt a = {.e = l->e, .w = l->a->w, .now_ns = l->a->now_ns, .shapes = l->a->shapes};
    size_t mark = journal_open(&l->e->journal);
    bool fits = queue_may_start(l->e, a.w, a.shapes) && place_pods(l->e, &a);

    if (fits && ret_node)
        *ret_node = arena_strdup(l->e->answers, a.w->pods[0].node->name);
    journal_undo(&l->e->journal, mark);
    return fits;
}

/* Tries another shape in place of the only set's. */
static bool try_shape(struct lines *l, struct shape *s, const char **ret_node)
{
    struct attempt with = *l->a;
    struct lines tried = *l;

    with.shapes = &s;
    tried.a = &with;
    return try_as_is(&tried, ret_node);
}

bool why_try(struct mete_engine *e, const struct attempt *a, struct shape *s, const char **ret_node)
{
    struct lines l = {.e = e, .a = a};

    return try_shape(&l, s, ret_node);
}

static void if_fewer_gpus(struct lines *l, const struct shape *own)
{
    struct shape *s = shape_scratch(l->e, own);
    const char *node = NULL;

    for (uint32_t gpus = own->gpus < NODE_GPUS_MAX ? own->gpus : NODE_GPUS_MAX + 1; gpus > 1;
         gpus--) {
        s->gpus = gpus - 1;
        if (!try_shape(l, s, &node))
            continue;
        line_add(l, arena_format(l->e->answers, "it asks for %s, not %u (on %s)",
                                 why_gpus(l->e, own, s->gpus), own->gpus, node));
        return;
    }
}

static void if_not_linked(struct lines *l, const struct shape *own)
{
    struct shape *s = shape_scratch(l->e, own);
    const char *node = NULL;

    if (!own->is_linked)
        return;
    s->is_linked = false;
    if (try_shape(l, s, &node))
        line_add(l, arena_format(l->e->answers, "its gpus need not be linked (on %s)", node));
}

static void if_other_model(struct lines *l, const struct shape *own)
{
    struct shape *s = shape_scratch(l->e, own);
    const char *node = NULL;

    if (own->n_models == 0 || own->are_models_fixed)
        return;
    s->n_models = 0;
    if (try_shape(l, s, &node))
        line_add(l, arena_format(l->e->answers, "it takes gpus of any model (on %s)", node));
}

static void if_without_label(struct lines *l, const struct shape *own)
{
    for (size_t i = 0; i < own->n_selector && i < TRIES_MAX; i++) {
        struct shape *s = shape_scratch(l->e, own);
        const char *node = NULL;

        s->n_selector--;
        memmove(&s->selector[i], &s->selector[i + 1], (s->n_selector - i) * sizeof(*s->selector));
        if (try_shape(l, s, &node))
            line_add(l, arena_format(l->e->answers, "it does not ask for the label %s (on %s)",
                                     why_label(l->e, &own->selector[i]), node));
    }
}

static void if_without_terms(struct lines *l, const struct shape *own)
{
    struct node_rules *without;
    struct shape *s;
    const char *node = NULL;

    if (!own->nodes || own->nodes->n_terms == 0)
        return;
    s = shape_scratch(l->e, own);
    without = arena_alloc(l->e->scratch, sizeof(*without));
    *without = *own->nodes;
    without->n_terms = 0;
    s->nodes = without;
    if (try_shape(l, s, &node))
        line_add(l, arena_format(l->e->answers, "it does not ask for the node affinity %s (on %s)",
                                 why_terms(l->e, own->nodes), node));
}

/* The rules without the required ones of one kind, or (`only`) without one rule. */
static struct affinity_rules *rules_without(struct mete_engine *e, const struct affinity_rules *own,
                                            enum mete_rule_kind kind,
                                            const struct affinity_rule *only)
{
    struct affinity_rules *ret = arena_alloc(e->scratch, sizeof(*ret));

    ret->has_wishes = own->has_wishes;
    ret->at = arena_alloc(e->scratch, own->n * sizeof(*ret->at));
    for (size_t i = 0; i < own->n; i++) {
        const struct affinity_rule *r = &own->at[i];

        if (r->weight > 0 || (only ? r != only : r->kind != kind))
            ret->at[ret->n++] = *r;
    }
    return ret;
}

static void if_without_rules(struct lines *l, const struct shape *own, enum mete_rule_kind kind,
                             const struct affinity_rule *only)
{
    static const char *const all[] = {"pod affinity", "pod anti-affinity", "topology spread"};
    struct shape *s = shape_scratch(l->e, own);
    const char *node = NULL;

    s->affinity = rules_without(l->e, own->affinity, kind, only);
    if (try_shape(l, s, &node))
        line_add(l, arena_format(l->e->answers, "it does not ask for %s (on %s)",
                                 only ? why_rule(l->e, only) : all[kind], node));
}

/* Tries the shape without required rules. Rules to be together, and spreads, change each other's
 * counts, so they are dropped all at once. */
static void if_elsewhere(struct lines *l, const struct shape *own)
{
    size_t n[METE_RULE_SPREAD + 1] = {0};
    const struct affinity_rule *last[METE_RULE_SPREAD + 1] = {0};

    for (size_t i = 0; own->affinity && i < own->affinity->n; i++) {
        const struct affinity_rule *r = &own->affinity->at[i];

        if (r->weight > 0)
            continue;
        n[r->kind]++;
        last[r->kind] = r;
        if (r->kind == METE_RULE_APART && n[r->kind] <= TRIES_MAX)
            if_without_rules(l, own, METE_RULE_APART, r);
    }
    if (n[METE_RULE_TOGETHER] > 0)
        if_without_rules(l, own, METE_RULE_TOGETHER,
                         n[METE_RULE_TOGETHER] == 1 ? last[METE_RULE_TOGETHER] : NULL);
    if (n[METE_RULE_SPREAD] > 0)
        if_without_rules(l, own, METE_RULE_SPREAD,
                         n[METE_RULE_SPREAD] == 1 ? last[METE_RULE_SPREAD] : NULL);
}

/* Do the pod's own labels (or taints) decide which nodes a spread counts? Then a change of these
 * alone is not tried. */
static bool counts_by_wants(const struct shape *s, bool taints)
{
    for (size_t i = 0; s->affinity && i < s->affinity->n; i++) {
        const struct affinity_rule *r = &s->affinity->at[i];

        if (r->kind == METE_RULE_SPREAD && r->weight == 0 &&
            (taints ? r->counts_no_tainted_nodes : !r->counts_all_nodes))
            return true;
    }
    return false;
}

/* Tries to tolerate the taint of each node that fits otherwise. */
static void if_tolerated(struct lines *l, const struct shape *own)
{
    size_t tries = 0;

    for (size_t i = 0; i < l->e->order.n && tries < TRIES_MAX; i++) {
        struct node *n = l->e->order.at[i];
        const struct taint *t = node_takes_pods(n) && fit_wanted(n, own) ? fit_taint(n, own) : NULL;
        struct shape *s;
        const char *node = NULL;

        if (!t)
            continue;
        s = shape_scratch(l->e, own);
        s->tolerations[s->n_tolerations++] =
            (struct toleration){.key = t->key, .value = t->value, .effect = (uint32_t)t->effect};
        if (!fit_now(n, s))
            continue;
        tries++;
        if (try_shape(l, s, &node))
            line_add(l, arena_format(l->e->answers, "it tolerates the taint %s (on %s)",
                                     why_taint(l->e, t), node));
    }
}

/* The largest free amount of a resource on a node where the shape fits. */
static int64_t most_left(struct mete_engine *e, const struct shape *s, uint32_t resource)
{
    int64_t most = 0;

    for (size_t i = 0; i < e->order.n; i++) {
        const struct room *room = node_room(e->order.at[i], resource);

        if (room && room->capacity - room->used > most && fit_now(e->order.at[i], s))
            most = room->capacity - room->used;
    }
    return most;
}

static void if_less(struct lines *l, const struct shape *own)
{
    for (size_t i = 0; i < own->n_requests && i < TRIES_MAX; i++) {
        struct shape *s = shape_scratch(l->e, own);
        const struct request *r = &own->requests[i];
        const char *node = NULL;

        s->requests[i].amount = 0;
        s->requests[i].amount = most_left(l->e, s, r->resource);
        if (r->resource == l->e->cpu)
            s->cpu = s->requests[i].amount;
        if (s->requests[i].amount == 0 || s->requests[i].amount >= r->amount ||
            !try_shape(l, s, &node))
            continue;
        line_add(l, arena_format(l->e->answers, "it asks for %s, not %s (on %s)",
                                 why_amount(l->e, r->resource, s->requests[i].amount),
                                 why_number(l->e, r->resource, r->amount), node));
    }
}

static void if_uncordoned(struct lines *l, const struct answers *answers)
{
    for (size_t i = 0; i < answers->n; i++) {
        struct node *n = l->e->slots.at[answers->at[i].node->slot];
        size_t mark;
        bool fits;

        if (answers->at[i].trouble != TROUBLE_CORDONED)
            continue;
        mark = journal_open(&l->e->journal);
        SET(l->e, n->is_cordoned, false);
        node_touch(l->e, n);
        fits = try_as_is(l, NULL);
        journal_undo(&l->e->journal, mark);
        if (fits)
            line_add(l, arena_format(l->e->answers, "node %s is uncordoned", n->name));
    }
}

static bool fits_without(struct lines *l, struct workload *w)
{
    size_t mark = journal_open(&l->e->journal);
    bool fits;

    if (w->charged)
        queue_count_held(l->e, w, w->charged, -1);
    for (size_t i = 0; i < w->n_pods; i++)
        pod_give(l->e, &w->pods[i]);
    fits = try_as_is(l, NULL);
    journal_undo(&l->e->journal, mark);
    return fits;
}

/* Tries the end of each workload on the nearest nodes; for a gang in a domain also on nodes that
 * fit. */
static void if_ended(struct lines *l, const struct answers *answers)
{
    bool is_together = l->a->w->group->has_asks;
    size_t tries = 0;

    for (size_t i = 0; i < answers->n; i++) {
        const struct answer *a = &answers->at[i];

        if (a->trouble != TROUBLE_SHORT_GPUS && a->trouble != TROUBLE_SHORT_ROOM &&
            a->trouble != TROUBLE_NEAR && !(is_together && a->trouble == TROUBLE_NONE))
            continue;
        for (const struct pod *p = a->node->pods; p && tries < TRIES_MAX; p = p->after, tries++)
            if (fits_without(l, p->workload))
                line_add(l,
                         arena_format(l->e->answers, "%s ends", why_workload(l->e, p->workload)));
    }
}

static void if_fewer_pods(struct lines *l)
{
    const struct group *g = l->a->w->group;
    struct attempt thorough = {.w = l->a->w, .now_ns = l->a->now_ns, .is_thorough = true};
    size_t n_placed = l->a->n_placed;

    if (g->has_asks) {
        (void)place_would_fit(l->e, &thorough); /* finds the most pods that one domain holds */
        n_placed = thorough.n_placed;
    }
    if (g->n_sets == 1 && n_placed > 0 && n_placed < g->n_pods)
        line_add(l,
                 arena_format(l->e->answers, "it asks for %zu pods, not %zu", n_placed, g->n_pods));
}

static void if_moved(struct lines *l)
{
    const char *text = move_text(l->e, l->a->w, l->a->now_ns);

    if (text)
        line_add(l, text);
}

void why_if(struct mete_engine *e, const struct attempt *a, const struct answers *answers,
            struct why_lines *to)
{
    struct lines l = {.e = e, .a = a, .to = to};
    const struct group *g = a->w->group;

    why_if_domains(e, a, to);
    if (g->n_sets == 1) {
        const struct shape *own = g->sets[0].shape;

        if (own->n_asks > 0)
            why_if_asks(e, a, own, to);
        else
            if_fewer_gpus(&l, own);
        if_less(&l, own);
        if_not_linked(&l, own);
        if_other_model(&l, own);
        if_elsewhere(&l, own);
        if (!counts_by_wants(own, false)) {
            if_without_label(&l, own);
            if_without_terms(&l, own);
        }
        if (!counts_by_wants(own, true))
            if_tolerated(&l, own);
    }
    if_fewer_pods(&l);
    if_uncordoned(&l, answers);
    if_ended(&l, answers);
    if_moved(&l);
}
