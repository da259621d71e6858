/* victims.c - the search for victims: node by node, then spared again */

#include "engine/evict/victims.h"

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/device/device_asks.h"
#include "engine/evict/preempt.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/reservation.h"

enum {
    NODE_HOLDERS_MAX = 256 /* of one node; more are ignored */
};

/* In place of a set's index: all sets of the workload. */
#define ALL_SETS UINT32_MAX

/* A workload's part of a node. */
struct victim_holding {
    struct workload *w;
    uint64_t rate;   /* cost for each 1/1000 gpu there */
    unsigned n_gpus; /* gpus there that it holds, whole or in part */
};

static int64_t protected_until(const struct workload *w)
{
    int64_t run_ns = w->min_run_ns > w->queue->min_run_ns ? w->min_run_ns : w->queue->min_run_ns;
    int64_t until_ns = 0;

    if (w->is_extra)
        return 0;
    return __builtin_add_overflow(w->started_ns, run_ns, &until_ns) ? NEVER_NS : until_ns;
}

static uint64_t cost_of(const struct workload *w, int64_t now_ns)
{
    int64_t since_ns = w->checkpoint_ns > w->started_ns ? w->checkpoint_ns : w->started_ns;
    uint64_t lost_ms = now_ns > since_ns ? (uint64_t)(now_ns - since_ns) / 1000000 : 0;
    uint64_t gpus = w->charged[COUNTED_GPU] > 0 ? (uint64_t)w->charged[COUNTED_GPU] : 1;
    uint64_t cost = decay_scale(lost_ms + 1, gpus, 1);

    if (w->is_extra)
        return 1; /* the whole runs on without it */
    return cost < COST_NEVER / 4 ? cost : COST_NEVER / 4;
}

void victims_begin(struct victims *v)
{
    v->e->searches++;
    v->n_candidates = 0;
    v->tree = NULL;
    v->spent = 0;
    v->spent_max = 0;
    v->attempt.scope = (struct scope){0};
    vec_clear(&v->e->victims);
}

void victims_allow(struct victims *v, struct workload *w)
{
    int64_t until_ns;

    if (!w->is_preemptible || w->evicted_by != 0 || !w->charged || w->is_lending)
        return;
    until_ns = protected_until(w);
    if (until_ns > v->attempt.now_ns) {
        v->again_ns = until_ns < v->again_ns ? until_ns : v->again_ns;
        return;
    }
    w->marked_at = v->e->searches;
    w->is_victim = false;
    w->cost = victims_suspend(v, w) ? 1 : cost_of(w, v->attempt.now_ns);
    w->devices = 0;
    for (size_t i = 0; i < w->n_pods; i++)
        w->devices += w->pods[i].n_gpus;
    v->n_candidates++;
}

static void count_here(const struct victims *v, struct victim_holding *h, const struct node *n)
{
    bool is_suspended = victims_suspend(v, h->w);
    int64_t milli = 0;

    for (size_t i = 0; i < h->w->n_pods; i++) {
        const struct pod *p = &h->w->pods[i];

        for (size_t k = 0; p->node == n && !is_suspended && k < p->n_gpus; k++) {
            milli += pod_device_milli(p, k);
            h->n_gpus++;
        }
    }
    h->rate = h->w->cost / (milli > 0 ? (uint64_t)milli : 1);
}

/* Lists the candidates on the node, by cost for each 1/1000 gpu there, then by id. */
static size_t list_holdings(const struct victims *v, const struct node *n,
                            struct victim_holding *list)
{
    size_t count = 0;

    for (const struct pod *p = n->pods; p && count < NODE_HOLDERS_MAX; p = p->after) {
        struct victim_holding h = {.w = p->workload};
        bool is_known = false;
        size_t at;

        for (size_t i = 0; i < count; i++)
            is_known = is_known || list[i].w == h.w;
        if (is_known || !victims_may_take(v, h.w))
            continue;
        count_here(v, &h, n);
        for (at = count++;
             at > 0 && (list[at - 1].rate > h.rate ||
                        (list[at - 1].rate == h.rate && list[at - 1].w->key.id > h.w->key.id));
             at--)
            list[at] = list[at - 1];
        list[at] = h;
    }
    return count;
}

static void give_here(const struct victims *v, struct workload *w, const struct node *n)
{
    bool is_suspended = victims_suspend(v, w);

    for (size_t i = 0; i < w->n_pods; i++) {
        if (w->pods[i].node != n)
            continue;
        if (is_suspended)
            pod_lend(v->e, &w->pods[i]);
        else
            pod_give(v->e, &w->pods[i]);
    }
}

/* Could enough whole gpus be free if all of these were gone? Cheap, and mostly false. */
static bool may_suffice(const struct node *n, const struct shape *shape,
                        const struct victim_holding *list, size_t count)
{
    unsigned gpus = bits(n->healthy & ~n->held);

    if (shape_is_share(shape) || shape->n_asks > 0)
        return count > 0;
    for (size_t i = 0; i < count; i++)
        gpus += list[i].n_gpus;
    return count > 0 && gpus >= shape->gpus;
}

/* Chooses the cheapest candidate that suffices alone, or the first ones of the list until the pod
 * fits; moves them to the list's start. Returns their cost; `*ret` is their number. */
static uint64_t victims_choose(struct victims *v, struct node *n, const struct shape *shape,
                               struct victim_holding *list, size_t *ret)
{
    struct mete_engine *e = v->e;
    size_t count = list_holdings(v, n, list);
    uint64_t cost = COST_NEVER;
    uint64_t sum = 0;
    size_t mark;

    *ret = 0;
    if (!may_suffice(n, shape, list, count))
        return COST_NEVER;
    mark = journal_open(&e->journal);
    for (size_t i = 0; i < count && cost == COST_NEVER; i++) {
        give_here(v, list[i].w, n);
        sum += list[i].w->cost;
        if (!fit_now(n, shape))
            continue;
        cost = sum;
        *ret = i + 1;
    }
    journal_undo(&e->journal, mark);
    for (size_t i = 0; *ret > 1 && i < count; i++) {
        bool fits;

        if (list[i].w->cost >= cost || !may_suffice(n, shape, &list[i], 1))
            continue;
        mark = journal_open(&e->journal);
        give_here(v, list[i].w, n);
        fits = fit_now(n, shape);
        journal_undo(&e->journal, mark);
        if (!fits)
            continue;
        cost = list[i].w->cost;
        list[0] = list[i];
        *ret = 1;
    }
    return cost;
}

/* The cost of room for one more pod on the node; `*ret`: the number of victims, in `list`. */
static uint64_t node_cost(struct victims *v, struct node *n, const struct shape *shape,
                          struct victim_holding *list, size_t *ret)
{
    const struct backfill *r = n->backfill;
    uint64_t cost;

    v->e->steps++;
    *ret = 0;
    if (!node_takes_pods(n) || node_is_barred(v->e, n) ||
        (r && r->is_confirmed && r->owner != v->attempt.w) || fit_empty(n, shape) == 0 ||
        (v->has_rules && !affinity_allows(v->e, n, NULL)))
        return COST_NEVER;
    if (fit_now(n, shape))
        return 0;
    v->e->is_quiet = true; /* all changes are undone */
    cost = victims_choose(v, n, shape, list, ret);
    v->e->is_quiet = false;
    return cost;
}

static void tree_set(struct victims *v, size_t at, uint64_t cost)
{
    v->costs[at] = cost;
    for (size_t i = (v->room + at) / 2; i > 0; i /= 2) {
        uint32_t left = v->tree[2 * i];
        uint32_t right = v->tree[2 * i + 1];

        v->tree[i] = v->costs[right] < v->costs[left] ? right : left;
    }
}

static void victims_tree_make(struct victims *v, const struct shape *shape)
{
    const struct scope *scope = &v->attempt.scope;
    struct victim_holding list[NODE_HOLDERS_MAX];
    size_t n = 0;

    v->nodes = scope->level ? domain_nodes(scope->level, scope->domain) : v->e->order.at;
    v->n_listed = scope->level ? scope->level->domains[scope->domain].n_nodes : v->e->order.n;
    v->room = 1;
    while (v->room < v->n_listed)
        v->room *= 2;
    for (uint32_t i = 0; i < v->room; i++) {
        v->tree[v->room + i] = i;
        v->costs[i] = i < v->n_listed ? node_cost(v, v->nodes[i], shape, list, &n) : COST_NEVER;
    }
    for (size_t i = v->room - 1; i > 0; i--) {
        uint32_t left = v->tree[2 * i];
        uint32_t right = v->tree[2 * i + 1];

        v->tree[i] = v->costs[right] < v->costs[left] ? right : left;
    }
}

static void cost_again(struct victims *v, struct node *n, const struct shape *shape)
{
    const struct scope *scope = &v->attempt.scope;
    struct victim_holding list[NODE_HOLDERS_MAX];
    size_t count = 0;
    size_t at;

    if (!v->tree || !n->is_present || !scope_has(scope, n))
        return;
    at = scope->level
             ? scope->level->by_slot[n->slot].index - scope->level->domains[scope->domain].first
             : n->rank;
    tree_set(v, at, node_cost(v, n, shape, list, &count));
}

/* Evicts the whole workload, in this trial, and keeps its nodes for victims_give_back. Its nodes
 * get their new cost, except `here`, which changes again. */
static void victims_evict(struct victims *v, struct workload *w, const struct shape *shape,
                          const struct node *here)
{
    struct mete_engine *e = v->e;
    bool is_suspended = victims_suspend(v, w);
    struct node **nodes = arena_alloc(e->scratch, (w->n_pods + 1) * sizeof(struct node *));
    size_t *counts = arena_alloc(e->scratch, (w->n_pods + 1) * sizeof(size_t));

    for (size_t i = 0; i < w->n_pods; i++) {
        nodes[i] = w->pods[i].node;
        counts[i] = w->pods[i].n_gpus;
        if (is_suspended)
            pod_lend(e, &w->pods[i]);
        else
            pod_give(e, &w->pods[i]);
    }
    if (!is_suspended)
        queue_count_held(e, w, w->charged, -1);
    w->is_victim = true;
    w->was_on = nodes;
    w->had_gpus = counts;
    vec_add(&e->victims, w);
    if (__builtin_add_overflow(v->spent, w->cost, &v->spent))
        v->spent = COST_NEVER - 1;
    for (size_t i = 0; shape && i < w->n_pods; i++)
        if (nodes[i] != here && (i == 0 || nodes[i] != nodes[i - 1]))
            cost_again(v, nodes[i], shape);
}

static bool is_below(const struct queue *q, const struct queue *top)
{
    while (q && q != top)
        q = q->parent;
    return q != NULL;
}

static struct workload *cheapest_of(const struct victims *v, const struct quota_block *b)
{
    const struct mete_engine *e = v->e;
    struct workload *best = NULL;

    VEC_EACH (&e->queues, q) {
        if (!is_below(*q, b->queue))
            continue;
        for (struct workload *w = (*q)->first_placed; w; w = w->placed_after)
            if (victims_may_take(v, w) && !victims_suspend(v, w) &&
                (b->counted >= e->counted.n || w->charged[b->counted] > 0) &&
                (!best || w->cost < best->cost ||
                 (w->cost == best->cost && w->key.id < best->key.id)))
                best = w;
    }
    return best;
}

bool victims_make_quota(struct victims *v)
{
    struct quota_block b = {0};

    while (!queue_admits(v->e, v->attempt.w, &v->charge, &b)) {
        struct workload *w = b.code == METE_REASON_QUOTA ? cheapest_of(v, &b) : NULL;

        if (!w)
            return false;
        victims_evict(v, w, NULL, NULL);
    }
    return true;
}

static bool victims_make_room_for(struct victims *v, struct pod *p, struct shape *shape)
{
    struct mete_engine *e = v->e;
    struct victim_holding list[NODE_HOLDERS_MAX];
    uint32_t at = v->tree[1];
    struct node *n;
    size_t count = 0;

    if (v->costs[at] == COST_NEVER || (v->spent_max > 0 && v->spent >= v->spent_max))
        return false;
    n = v->nodes[at];
    if (node_cost(v, n, shape, list, &count) == COST_NEVER)
        return false;
    for (size_t i = 0; i < count; i++)
        victims_evict(v, list[i].w, shape, n);
    place_on(e, p, shape, n);
    cost_again(v, n, shape);
    return true;
}

/* Computes the nodes' costs for a set. Nodes that rules about other pods exclude stay excluded:
 * evicting the pods that the rules concern is not tried. */
static void tree_ask(struct victims *v, const struct group_set *set)
{
    if (v->has_rules)
        affinity_ask(v->e, set->ties, set->shape);
    victims_tree_make(v, set->shape);
}

static bool victims_make_set_in(struct victims *v, uint32_t set, const struct scope *outer);

/* Makes room for one set, or for ALL_SETS, in one domain. Sets may require narrower domains within
 * it. */
static bool victims_make_in(struct victims *v, uint32_t set, const struct scope *scope)
{
    const struct workload *w = v->attempt.w;
    const struct group *g = w->group;

    for (size_t i = 0; set == ALL_SETS && i < g->n_sets; i++)
        if (!victims_make_set_in(v, g->fill_order[i], scope))
            return false;
    if (set == ALL_SETS)
        return true;
    v->attempt.scope = *scope;
    v->has_rules = affinity_restricts(g->sets[set].ties, g->sets[set].shape);
    tree_ask(v, &g->sets[set]);
    for (size_t k = 0; k < w->n_pods; k++) {
        if (w->pods[k].set != set)
            continue;
        if (!victims_make_room_for(v, &w->pods[k], g->sets[set].shape))
            return false;
        if (v->has_rules)
            tree_ask(v, &g->sets[set]); /* the pod counts for the next one, in all of its domain */
    }
    return true;
}

/* The cost of room in a domain, found in a trial and undone; COST_NEVER: there cannot be room. */
static uint64_t victims_cost_in(struct victims *v, uint32_t set, const struct scope *scope)
{
    struct mete_engine *e = v->e;
    size_t mark = journal_open(&e->journal);
    size_t n_victims = e->victims.n;
    uint64_t spent = v->spent;
    uint64_t cost = victims_make_in(v, set, scope) ? v->spent : COST_NEVER;

    journal_undo(&e->journal, mark);
    for (size_t i = n_victims; i < e->victims.n; i++)
        e->victims.at[i]->is_victim = false;
    e->victims.n = n_victims;
    v->spent = spent;
    return cost;
}

static uint64_t whole_gpus(const struct group *g, uint32_t set)
{
    uint64_t gpus = 0;

    for (uint32_t i = 0; i < g->n_sets; i++) {
        const struct shape *s = g->sets[i].shape;

        if ((set == ALL_SETS || set == i) && s->n_asks == 0 && !shape_is_share(s))
            gpus += (uint64_t)s->gpus * g->sets[i].count;
    }
    return gpus;
}

/* Makes room in the required domain with the least cost, then with the least bound, then the first
 * by name. */
static bool victims_make_together(struct victims *v, uint32_t set, const struct scope *outer)
{
    const struct group *g = v->attempt.w->group;
    uint32_t keys[2 * METE_DOMAINS_MAX];
    size_t n_keys = domain_required(g, set == ALL_SETS ? NULL : &g->sets[set], keys);
    struct level *l = level_get(v->e, keys, n_keys);
    uint64_t spent_max = v->spent_max;
    uint32_t best = DOMAIN_NONE;
    struct victims_domain *list = NULL;
    size_t n;
    bool fits;

    l->pins++;
    n = victims_order(v, l, outer, whole_gpus(g, set), &list);
    for (size_t i = 0; i < n && (v->spent_max == 0 || list[i].cost < v->spent_max); i++) {
        struct scope scope = {l, list[i].domain};
        uint64_t cost = victims_cost_in(v, set, &scope);

        if (cost == COST_NEVER || (v->spent_max > 0 && cost >= v->spent_max))
            continue;
        best = list[i].domain;
        v->spent_max = cost;
        if (cost == v->spent)
            break; /* there is room without victims */
    }
    v->spent_max = spent_max;
    fits = best != DOMAIN_NONE && victims_make_in(v, set, &(struct scope){l, best});
    l->pins--;
    return fits;
}

static bool victims_make_set_in(struct victims *v, uint32_t set, const struct scope *outer)
{
    return domain_requires(&v->attempt.w->group->sets[set].asks)
               ? victims_make_together(v, set, outer)
               : victims_make_in(v, set, outer);
}

bool victims_make_room(struct victims *v)
{
    struct mete_engine *e = v->e;
    const struct group *g = v->attempt.w->group;
    const struct scope anywhere = {0};
    size_t room = 1;

    if (reservation_ask(e, v->attempt.w, v->attempt.now_ns) != RESERVATION_OPEN)
        return false;
    reservations_bar(e, v->attempt.w, v->attempt.now_ns);
    search_rank(e);
    while (room < e->order.n)
        room *= 2;
    v->costs = arena_alloc(e->scratch, room * sizeof(*v->costs));
    v->tree = arena_alloc(e->scratch, 2 * room * sizeof(*v->tree));
    if (!(domain_requires(&g->asks) ? victims_make_together(v, ALL_SETS, &anywhere)
                                    : victims_make_in(v, ALL_SETS, &anywhere)))
        return false;
    return queue_admits_placed(e, v->attempt.w, &v->attempt.block);
}

/* Is the place of this device, of a pod with asks, still free? */
static bool device_fits_back(const struct pod *p, size_t i)
{
    const struct ask *a = pod_ask(p, i);
    const struct gpu *g = p->gpus[i];
    const struct shape one = {
        .milli = ask_share_milli(a, g), .gpu_bytes = a->bytes, .ns = pod_shape(p)->ns};
    uint16_t span;

    switch (a->kind) {
    case ASK_WHOLE:
        return !g->holder && g->n_shares == 0 && !(g->parts && parts_block(g->parts));
    case ASK_SHARE:
        return !g->holder && !(g->parts && parts_block(g->parts)) &&
               g->milli_used + one.milli <= MILLI && fit_share_memory(g, &one) &&
               !gpu_keeps_out(g, &one);
    case ASK_SLICE:
        span = parts_span(g->parts, a->profile, pod_start(p, i));
        for (unsigned left = g->parts->held; left; left &= left - 1) {
            unsigned at = (unsigned)__builtin_ctz(left);

            if (parts_span(g->parts, g->parts->names[at], at) & span)
                return false;
        }
        return !g->holder && g->n_shares == 0 && g->parts->n_replicas == 0;
    case ASK_REPLICA:
        return g->parts->n_replicas < g->parts->replicas && g->parts->held == 0 && !g->holder &&
               g->n_shares == 0 && !gpu_keeps_out(g, &one);
    }
    return false;
}

static bool fits_back(const struct pod *p, const struct node *n, size_t n_gpus)
{
    const struct shape *s = pod_shape(p);

    for (size_t i = 0; i < n_gpus; i++) {
        const struct gpu *g = p->gpus[i];

        if (s->n_asks > 0 && !device_fits_back(p, i))
            return false;
        if (s->n_asks > 0)
            continue;
        if (g->parts && parts_block(g->parts))
            return false;
        if (g->holder || (!shape_is_share(s) && g->n_shares > 0))
            return false;
        if (shape_is_share(s) &&
            (g->milli_used + s->milli > MILLI || !fit_share_memory(g, s) || gpu_keeps_out(g, s)))
            return false;
    }
    return fit_rooms(n, s, false);
}

/* Lets a suspended victim go on if the preemptor does not need its cpus. */
static bool victims_go_on(struct victims *v, struct workload *w)
{
    struct mete_engine *e = v->e;
    size_t mark = journal_open(&e->journal);
    bool fits = true;

    for (size_t i = 0; i < w->n_pods; i++)
        pod_unlend(e, &w->pods[i]);
    for (size_t i = 0; i < w->n_pods && fits; i++) {
        const struct room *room = node_room(w->pods[i].node, e->cpu);

        fits = !room || room->used <= room->capacity;
    }
    if (fits)
        journal_keep(&e->journal, mark);
    else
        journal_undo(&e->journal, mark);
    return fits;
}

/* Places a victim again if the preemptor does not need its devices and quota. */
static bool victims_give_back(struct victims *v, struct workload *w)
{
    struct mete_engine *e = v->e;
    size_t mark = journal_open(&e->journal);
    bool fits = true;

    for (size_t i = 0; i < w->n_pods && fits; i++) {
        struct pod *p = &w->pods[i];

        fits = fits_back(p, w->was_on[i], w->had_gpus[i]);
        if (fits)
            pod_take(e, p, pod_shape(p), w->was_on[i], p->gpus, w->had_gpus[i]);
    }
    queue_count_held(e, w, w->charged, 1);
    if (!fits || !queue_admits(e, v->attempt.w, &v->charge, NULL) ||
        !affinity_holds(e, v->attempt.w)) {
        journal_undo(&e->journal, mark);
        return false;
    }
    journal_keep(&e->journal, mark);
    return true;
}

static int more_expensive(const void *left, const void *right)
{
    const struct workload *a = *(struct workload *const *)left;
    const struct workload *b = *(struct workload *const *)right;

    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return a->key.id < b->key.id ? -1 : 1;
}

void victims_spare(struct victims *v)
{
    struct mete_engine *e = v->e;
    size_t n = 0;

    if (e->victims.n > 1)
        qsort(e->victims.at, e->victims.n, sizeof(struct workload *), more_expensive);
    for (size_t i = 0; i < e->victims.n; i++)
        if (!(victims_suspend(v, e->victims.at[i]) ? victims_go_on(v, e->victims.at[i])
                                                   : victims_give_back(v, e->victims.at[i])))
            e->victims.at[n++] = e->victims.at[i];
    e->victims.n = n;
}

static enum mete_eviction_reason reason_of(const struct mete_engine *e,
                                           const struct workload *victim, const struct workload *w,
                                           bool is_move)
{
    if (is_move)
        return METE_EVICTED_MOVE;
    if (lend_may_suspend(e, w, victim))
        return METE_EVICTED_SUSPEND;
    if (preempt_by_class(e, w, victim))
        return METE_EVICTED_CLASS;
    return victim->queue == w->queue ? METE_EVICTED_PRIORITY : METE_EVICTED_RECLAIM;
}

void victims_decide(struct mete_engine *e, struct workload *w, bool is_move)
{
    VEC_EACH (&e->victims, each) {
        struct workload *victim = *each;

        if (!is_move && !lend_may_suspend(e, w, victim))
            queue_unsecure(e, victim);
        victim->evicted_by = w->key.id;
        w->n_evicting++;
        vec_add(&e->evictions, (struct mete_eviction){
                                   .workload = victim->key.id,
                                   .by = w->key.id,
                                   .reason = reason_of(e, victim, w, is_move),
                               });
    }
    preempt_count(e, w);
    vec_add(&e->preemptors, w);
    e->version++;
}
