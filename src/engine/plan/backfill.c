/* backfill.c - backfill reservations: planned, kept, and asked by pods */

#include "engine/plan/backfill.h"

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/claim.h"
#include "engine/plan/future.h"
#include "engine/plan/reservation.h"
#include "engine/queue/turn.h"

static struct backfill_node *kept(const struct node *n)
{
    return &n->backfill->nodes[n->kept_at];
}

static bool ends_before(const struct attempt *a, const struct backfill *r)
{
    int64_t limit_ns = a->w->group->time_limit_ns;
    int64_t end_ns = 0;

    if (limit_ns == 0 || r->start_ns == NEVER_NS)
        return false;
    return !__builtin_add_overflow(a->now_ns, limit_ns, &end_ns) && end_ns <= r->start_ns;
}

/* Is the attempt's workload behind the owner? In a cycle: has the owner had its turn? */
static bool is_behind(const struct attempt *a, const struct backfill *r)
{
    if (r->owner == a->w)
        return false;
    if (a->is_turn || r->is_preempting)
        return r->is_confirmed;
    return turn_is_before(a->e, r->owner, a->w);
}

enum backfill_answer backfill_ask(const struct attempt *a, const struct shape *s,
                                  const struct node *n, uint64_t gpus)
{
    const struct backfill *r = n->backfill;
    const struct backfill_node *here;

    if (!r || a->ignores_backfills || !is_behind(a, r))
        return BACKFILL_FREE;
    if (!r->is_preempting && ends_before(a, r))
        return BACKFILL_FREE;
    here = kept(n);
    if ((int64_t)bits(gpus & here->gpus) > here->extra_gpus)
        return BACKFILL_KEPT;
    for (size_t i = 0; i < s->n_requests; i++) {
        size_t room = (size_t)(node_room(n, s->requests[i].resource) - n->rooms);

        if (s->requests[i].amount > here->extra[room])
            return BACKFILL_KEPT;
    }
    return BACKFILL_BEYOND;
}

void backfill_note(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                   struct node *n, uint64_t gpus)
{
    struct backfill_node *here = kept(n);
    struct backfill *r = n->backfill;

    switch (backfill_ask(a, s, n, gpus)) {
    case BACKFILL_FREE:
        if (!is_behind(a, r))
            SET(e, r->is_stale, true);
        break;
    case BACKFILL_BEYOND:
        SET(e, here->extra_gpus, here->extra_gpus - (int64_t)bits(gpus & here->gpus));
        for (size_t i = 0; i < s->n_requests; i++) {
            int64_t *extra = &here->extra[node_room(n, s->requests[i].resource) - n->rooms];

            if (*extra != INT64_MAX)
                SET(e, *extra, *extra - s->requests[i].amount);
        }
        break;
    case BACKFILL_KEPT:
        break;
    }
}

struct backfill *backfill_of(const struct mete_engine *e, const struct workload *w)
{
    VEC_EACH (&e->backfills, r) {
        if ((*r)->owner == w)
            return *r;
    }
    return NULL;
}

static void backfill_free(struct backfill *r)
{
    for (size_t i = 0; i < r->n_nodes; i++)
        free(r->nodes[i].extra);
    free(r->nodes);
    free(r);
}

static void backfill_unlist(struct mete_engine *e, const struct backfill *r)
{
    for (size_t i = 0; i < e->backfills.n; i++)
        if (e->backfills.at[i] == r) {
            vec_remove(&e->backfills, i);
            return;
        }
}

void backfill_drop(struct mete_engine *e, struct backfill *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct node *n = r->nodes[i].node;

        if (n->backfill != r)
            continue; /* the node is in a newer reservation */
        n->backfill = NULL;
        node_touch(e, n);
    }
    e->eased++;
    e->version++;
    backfill_unlist(e, r);
    backfill_free(r);
}

void backfill_drop_unconfirmed(struct mete_engine *e)
{
    for (size_t i = e->backfills.n; i > 0; i--)
        if (!e->backfills.at[i - 1]->is_confirmed)
            backfill_drop(e, e->backfills.at[i - 1]);
}

void backfill_drop_node(struct mete_engine *e, struct node *n)
{
    claims_drop_node(e, n);
    if (n->backfill)
        backfill_drop(e, n->backfill);
}

void backfill_drop_of(struct mete_engine *e, const struct workload *w)
{
    struct backfill *r = backfill_of(e, w);

    claim_drop_of(e, w);
    if (r)
        backfill_drop(e, r);
}

void backfill_drop_group(struct mete_engine *e, const struct group *g)
{
    for (size_t i = e->backfills.n; i > 0; i--)
        if (e->backfills.at[i - 1]->owner->group == g)
            backfill_drop(e, e->backfills.at[i - 1]);
}

/* A plan in the scratch arena: the owner's need on each node. */
struct backfill_plan {
    struct mete_engine *e;
    const struct workload *w;
    int64_t now_ns;
    const struct backfill *only; /* plan on the nodes of this one only; NULL: on any */
    struct need **by_rank;       /* NULL: no pod is planned on the node */
    struct node *const *nodes;   /* nodes that the present set may be on, by name */
    size_t n_listed;
    uint64_t *tree; /* a winner tree over the listed nodes */
    size_t room;
    size_t n_nodes;
    int64_t start_ns;
    int64_t missing; /* gpus that must come free first */
    bool has_rules;  /* required rules about other pods: affinity_ask was called */
};

/* When does one more pod fit on the node? False: never. */
static bool plan_future(const struct backfill_plan *plan, const struct node *n,
                        const struct shape *s, struct future *ret)
{
    const struct future_ask ask = {plan->e, plan->w, s, plan->now_ns};

    return future_of(&ask, n, plan->by_rank[n->rank], ret);
}

/* The rank of a listed node as a number: larger for an earlier start, then for fewer gpus to wait
 * for, then for an earlier place in the list; 0: the node never serves. */
static uint64_t plan_key(struct backfill_plan *plan, size_t at, const struct shape *s)
{
    const struct node *n = plan->nodes[at];
    struct future f;
    uint64_t seconds;
    uint64_t start_max = (UINT64_C(1) << 32) - 1;

    if (plan->only && n->backfill != plan->only)
        return 0;
    plan->e->steps++;
    if (n->backfill && n->backfill->owner != plan->w && n->backfill->is_confirmed)
        return 0;
    if (!node_takes_pods(n) || !fit_kind(n, s) ||
        (plan->has_rules && !affinity_allows(plan->e, n, NULL)) || !plan_future(plan, n, s, &f))
        return 0;
    seconds =
        f.start_ns == NEVER_NS ? start_max : (uint64_t)((f.start_ns - plan->now_ns) / 1000000000);
    if (f.start_ns != NEVER_NS && seconds >= start_max)
        seconds = start_max - 1;
    return UINT64_C(1) << 62 | (start_max - seconds) << 28 |
           (uint64_t)(NODE_GPUS_MAX + 1 - f.missing_gpus) << 21 | (NODES_MAX - at);
}

static void plan_set(struct backfill_plan *plan, size_t at, uint64_t key)
{
    uint64_t *tree = plan->tree;

    tree[plan->room + at] = key;
    for (size_t i = (plan->room + at) / 2; i > 0; i /= 2)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

static void plan_ask(struct backfill_plan *plan, const struct group_set *set)
{
    uint64_t *tree = plan->tree;

    if (plan->has_rules)
        affinity_ask(plan->e, set->ties, set->shape);
    for (size_t i = 0; i < plan->room; i++)
        tree[plan->room + i] = i < plan->n_listed ? plan_key(plan, i, set->shape) : 0;
    for (size_t i = plan->room - 1; i > 0; i--)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

static bool plan_pod(struct backfill_plan *plan, const struct group_set *set)
{
    const struct shape *s = set->shape;
    struct mete_engine *e = plan->e;
    uint64_t key = plan->tree[1];
    size_t at = NODES_MAX - (size_t)(key & ((1 << 21) - 1));
    struct node *n;
    struct future f;

    if (key == 0)
        return false;
    n = plan->nodes[at];
    if (!plan_future(plan, n, s, &f))
        return false;
    if (f.start_ns > plan->start_ns)
        plan->start_ns = f.start_ns;
    if (!plan->by_rank[n->rank]) {
        plan->by_rank[n->rank] = need_new(e->scratch, n);
        plan->n_nodes++;
    }
    need_add(plan->by_rank[n->rank], s, &f);
    if (plan->has_rules) { /* the pod counts for the next one, in all of its domain */
        affinity_count(e, set->ties, s, n, 1);
        plan_ask(plan, set);
        return true;
    }
    plan_set(plan, at, plan_key(plan, at, s));
    return true;
}

/* Plans the pods of one set, on the listed nodes. */
static bool plan_set_of_pods(struct backfill_plan *plan, const struct group_set *set)
{
    plan->room = 1;
    while (plan->room < plan->n_listed)
        plan->room *= 2;
    plan->has_rules = affinity_restricts(set->ties, set->shape);
    plan_ask(plan, set);
    for (uint32_t i = 0; i < set->count; i++)
        if (!plan_pod(plan, set))
            return false;
    return true;
}

static void plan_list_nodes(struct backfill_plan *plan, const struct scope *scope)
{
    plan->nodes = scope->level ? domain_nodes(scope->level, scope->domain) : plan->e->order.at;
    plan->n_listed = scope->level ? scope->level->domains[scope->domain].n_nodes : plan->e->order.n;
}

/* The gpus of these nodes that must come free first. */
static int64_t count_missing(const struct backfill_plan *plan, struct node *const *nodes, size_t n)
{
    int64_t missing = 0;

    for (size_t i = 0; i < n; i++) {
        const struct need *need = plan->by_rank[nodes[i]->rank];
        int64_t free;

        if (!need)
            continue;
        free = (int64_t)bits(need->node->healthy & ~need->node->held & need->kind);
        missing += need->gpus > free ? need->gpus - free : 0;
    }
    return missing;
}

static bool plan_set_in(struct backfill_plan *plan, const struct group_set *set,
                        const struct scope *outer);

/* Plans one set, or (NULL) all, in one domain. Sets may require narrower domains within it. */
static bool plan_in(struct backfill_plan *plan, const struct group_set *set,
                    const struct scope *scope)
{
    const struct group *g = plan->w->group;

    if (set) {
        plan_list_nodes(plan, scope);
        return plan_set_of_pods(plan, set);
    }
    for (size_t i = 0; i < g->n_sets; i++)
        if (!plan_set_in(plan, &g->sets[g->fill_order[i]], scope))
            return false;
    return true;
}

/* The state that planning in a domain may change. */
struct saved {
    struct backfill_plan plan;
    struct need **needs; /* of the nodes of the domain */
};

static struct saved plan_save(struct backfill_plan *plan, const struct scope *scope)
{
    struct node *const *nodes = domain_nodes(scope->level, scope->domain);
    size_t n = scope->level->domains[scope->domain].n_nodes;
    struct saved ret = {*plan, arena_alloc(plan->e->scratch, (n + 1) * sizeof(struct need *))};

    for (size_t i = 0; i < n; i++) {
        struct need **need = &plan->by_rank[nodes[i]->rank];

        ret.needs[i] = *need;
        *need = *need ? need_copy(plan->e->scratch, *need) : NULL;
    }
    return ret;
}

static void plan_restore(struct backfill_plan *plan, const struct scope *scope,
                         const struct saved *saved)
{
    struct node *const *nodes = domain_nodes(scope->level, scope->domain);

    *plan = saved->plan;
    for (size_t i = 0; i < scope->level->domains[scope->domain].n_nodes; i++)
        plan->by_rank[nodes[i]->rank] = saved->needs[i];
}

/* The domain with the earliest start, then with the fewest gpus to wait for, then the first by
 * name; DOMAIN_NONE. */
static uint32_t best_domain(struct backfill_plan *plan, const struct group_set *set,
                            const struct level *l, const struct scope *outer)
{
    uint32_t best = DOMAIN_NONE;
    int64_t best_start_ns = 0;
    int64_t best_missing = 0;

    for (uint32_t d = 0; d < l->n_domains; d++) {
        struct scope scope = {l, d};
        struct saved saved;
        size_t mark;

        if (!domain_is_within(l, d, outer))
            continue;
        saved = plan_save(plan, &scope);
        mark = journal_open(&plan->e->journal);
        if (plan_in(plan, set, &scope)) {
            int64_t missing =
                count_missing(plan, domain_nodes(l, d), (size_t)l->domains[d].n_nodes);

            if (best == DOMAIN_NONE || plan->start_ns < best_start_ns ||
                (plan->start_ns == best_start_ns && missing < best_missing)) {
                best = d;
                best_start_ns = plan->start_ns;
                best_missing = missing;
            }
        }
        journal_undo(&plan->e->journal, mark);
        plan_restore(plan, &scope, &saved);
    }
    return best;
}

/* Plans a set, or (NULL) all sets, in the best of the required domains. */
static bool plan_together(struct backfill_plan *plan, const struct group_set *set,
                          const struct scope *outer)
{
    const struct group *g = plan->w->group;
    uint32_t keys[2 * METE_DOMAINS_MAX];
    struct level *l = level_get(plan->e, keys, domain_required(g, set, keys));
    uint32_t best;
    bool is_planned;

    l->pins++;
    best = best_domain(plan, set, l, outer);
    is_planned = best != DOMAIN_NONE && plan_in(plan, set, &(struct scope){l, best});
    l->pins--;
    return is_planned;
}

static bool plan_set_in(struct backfill_plan *plan, const struct group_set *set,
                        const struct scope *outer)
{
    return domain_requires(&set->asks) ? plan_together(plan, set, outer)
                                       : plan_in(plan, set, outer);
}

/* False: the workload cannot be planned. */
static bool plan_make(struct backfill_plan *plan)
{
    const struct group *g = plan->w->group;
    const struct scope anywhere = {0};
    struct mete_engine *e = plan->e;
    size_t room = 1;
    bool is_planned;
    size_t mark;

    plan->start_ns = plan->now_ns;
    while (room < e->order.n)
        room *= 2;
    plan->by_rank = arena_alloc(e->scratch, (e->order.n + 1) * sizeof(struct need *));
    plan->tree = arena_alloc(e->scratch, 2 * room * sizeof(*plan->tree));
    mark = journal_open(&e->journal); /* pods count for each other's rules */
    is_planned = domain_requires(&g->asks) ? plan_together(plan, NULL, &anywhere)
                                           : plan_in(plan, NULL, &anywhere);
    journal_undo(&e->journal, mark);
    plan->missing = count_missing(plan, e->order.at, e->order.n);
    return is_planned;
}

/*
 * Is the new plan better than the old one? A backfill reservation stays on its nodes unless other
 * nodes give an earlier known start, or fewer gpus to wait for than it ever waited for. Both only
 * ever fall, so the reservation comes to rest; then the holders in its way end one by one, and new
 * pods there use room beyond its need.
 */
static bool is_better(const struct backfill_plan *there, const struct backfill_plan *here,
                      const struct backfill *old)
{
    if (there->start_ns != NEVER_NS)
        return there->start_ns < here->start_ns;
    return here->start_ns == NEVER_NS && there->missing < old->least;
}

static struct backfill *plan_backfill(const struct backfill_plan *plan)
{
    struct mete_engine *e = plan->e;
    struct backfill *r = mem_alloc(sizeof(*r));

    r->start_ns = plan->start_ns;
    r->nodes = mem_alloc(plan->n_nodes * sizeof(*r->nodes) + 1);
    for (size_t i = 0; i < e->order.n; i++) {
        const struct need *need = plan->by_rank[i];
        struct backfill_node *here = &r->nodes[r->n_nodes];

        if (!need)
            continue;
        here->node = e->order.at[i];
        here->gpus = need->kind;
        here->extra = mem_alloc(here->node->n_rooms * sizeof(*here->extra) + 1);
        future_extra(e, need, plan->start_ns, plan->now_ns, here);
        r->n_nodes++;
    }
    return r;
}

/* Drops the backfill reservations of other workloads, which are behind the owner, on its nodes. */
static void backfill_push_out(struct mete_engine *e, const struct backfill *r,
                              const struct backfill *old)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct backfill *other = r->nodes[i].node->backfill;

        if (other && other != old)
            backfill_drop(e, other);
    }
}

/* Nodes that already had a backfill reservation are not touched: for other workloads they did not
 * change. */
static void backfill_list(struct mete_engine *e, struct backfill *r)
{
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        struct node *n = r->nodes[i].node;
        bool is_new = n->backfill == NULL;

        n->backfill = r;
        n->kept_at = i;
        if (is_new)
            node_touch(e, n);
    }
    vec_add(&e->backfills, r);
}

/* The backfill reservation's entry for the node; a new entry leaves no room to other workloads. */
static struct backfill_node *keep_node(struct backfill *r, struct node *n)
{
    struct backfill_node *here = r->nodes;

    while (here < r->nodes + r->n_nodes && here->node != n)
        here++;
    if (here == r->nodes + r->n_nodes) {
        here->node = n;
        here->extra = mem_alloc(n->n_rooms * sizeof(*here->extra) + 1);
        r->n_nodes++;
    }
    return here;
}

static void keep_trial(struct backfill *r, const struct workload *w)
{
    for (size_t i = 0; i < w->n_pods; i++) {
        struct node *n = w->pods[i].node;
        const struct shape *s = pod_shape(&w->pods[i]);

        keep_node(r, n)->gpus |= s->gpus > 0 ? node_gpus_of(n, s) : 0;
    }
}

struct backfill *backfill_of_trial(struct workload *w, struct workload *const *others,
                                   size_t n_others)
{
    struct backfill *r = mem_alloc(sizeof(*r));
    size_t n_pods = w->n_pods;

    for (size_t i = 0; i < n_others; i++)
        n_pods += others[i]->n_pods;
    r->owner = w;
    r->nodes = mem_alloc(n_pods * sizeof(*r->nodes) + 1);
    r->start_ns = NEVER_NS;
    r->is_confirmed = true;
    r->is_preempting = true;
    keep_trial(r, w);
    for (size_t i = 0; i < n_others; i++)
        keep_trial(r, others[i]);
    for (size_t i = 0; i < r->n_nodes && n_others == 0; i++) {
        struct backfill_node *here = &r->nodes[i];
        const struct node *n = here->node;

        here->extra_gpus = (int64_t)bits(n->healthy & ~n->held & here->gpus);
        for (size_t k = 0; k < n->n_rooms; k++)
            here->extra[k] = n->rooms[k].capacity - n->rooms[k].used;
    }
    return r;
}

void backfill_put(struct mete_engine *e, struct backfill *r)
{
    struct backfill *old = backfill_of(e, r->owner);

    r->planned_at = e->freed;
    backfill_push_out(e, r, old);
    backfill_list(e, r);
    if (old)
        backfill_drop(e, old);
    e->version++;
}

bool backfill_make(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct backfill *old = backfill_of(e, w);
    struct backfill_plan there = {.e = e, .w = w, .now_ns = now_ns};
    struct backfill_plan here = {.e = e, .w = w, .now_ns = now_ns, .only = old};
    struct backfill *r = NULL;
    bool is_planned;

    arena_reset(e->scratch);
    reservations_unbar(e);
    search_rank(e);
    is_planned = e->order.n > 0 && plan_make(&there);
    if (is_planned) {
        bool stays = old && plan_make(&here) && !is_better(&there, &here, old);

        r = plan_backfill(stays ? &here : &there);
        r->owner = w;
        r->is_confirmed = true;
        r->planned_at = e->freed;
        r->least = stays ? here.missing : there.missing;
        if (old && old->least < r->least)
            r->least = old->least;
        backfill_push_out(e, r, old);
        backfill_list(e, r);
    }
    if (old)
        backfill_drop(e, old);
    e->version++;
    return is_planned;
}
