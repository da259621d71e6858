/* claim.c - claims: found, improved, swapped and given up */

#include "engine/plan/claim.h"

#include <stdlib.h>

#include "engine/place/search.h"
#include "engine/plan/foresee.h"
#include "engine/plan/outlook.h"
#include "engine/plan/reservation.h"
#include "engine/queue/turn.h"

enum {
    LOOKS_MAX = 20000, /* at nodes, for one gang; a gang that needs more gets no claim */
};

bool claims_in_use(const struct mete_engine *e)
{
    return e->reserve_depth > 1 || e->n_deep_queues > 0;
}

/* Sets is_before of each queue with claims: are its claims before `w`? In the workload's own queue
 * its last claim decides, in another queue the first waiting workload. True: all are before `w`. */
static bool ask_queues(struct mete_engine *e, const struct workload *w)
{
    bool are_before = true;

    VEC_EACH (&e->queues, each) {
        struct queue *q = *each;

        if (q->n_claims == 0)
            continue;
        if (q == w->queue || e->fairness.order == METE_ORDER_PRIORITY)
            q->is_before = order_before(&q->last_claim, &w->key);
        else
            q->is_before = turn_is_before(e, workload_of_all(order_first(&q->waiting)), w);
        are_before = are_before && q->is_before;
    }
    return are_before;
}

static struct claim_asker asker_of(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    int64_t limit_ns = w->group->time_limit_ns;

    struct claim_asker a = {.e = e,
                            .w = w,
                            .now_ns = now_ns,
                            .length_ns = limit_ns > 0 ? claim_length_ns(e, limit_ns) : NEVER_NS};

    a.all_bind = e->is_foreseeing || ask_queues(e, w) || w->claim;
    return a;
}

static void claim_free(struct claim *c)
{
    vec_done(&c->parts);
    free(c);
}

/* Takes the claim off its nodes, which other workloads may use now. */
static void unlink_parts(struct mete_engine *e, struct claim *c)
{
    VEC_EACH (&c->parts, part) {
        timeline_drop(part->node, c);
        node_touch(e, part->node);
    }
}

static void claim_drop(struct mete_engine *e, struct claim *c)
{
    struct workload *w = c->owner;
    struct claim *last = e->claims.at[--e->claims.n];

    unlink_parts(e, c);
    e->claims.at[c->index] = last;
    last->index = c->index;
    w->claim = NULL;
    w->queue->n_claims--;
    if (w->in_group.size > 0)
        w->group->n_claims--;
    claim_free(c);
    e->eased++;
    e->version++;
    e->unclaimed++;
}

void claim_drop_of(struct mete_engine *e, const struct workload *w)
{
    if (w->claim)
        claim_drop(e, w->claim);
}

void claims_drop_all(struct mete_engine *e)
{
    while (e->claims.n > 0)
        claim_drop(e, e->claims.at[e->claims.n - 1]);
}

void claims_drop_queue(struct mete_engine *e, const struct queue *q)
{
    for (size_t i = e->claims.n; i > 0; i--)
        if (e->claims.at[i - 1]->owner->queue == q)
            claim_drop(e, e->claims.at[i - 1]);
}

void claims_drop_node(struct mete_engine *e, struct node *n)
{
    while (n->timeline && n->timeline->edges.n > 0)
        claim_drop(e, timeline_claim(n->timeline, 0));
}

static void claim_put_part(struct claim *c, struct node *n, const struct shape *s)
{
    struct claimed part = {n, s, 1};

    vec_add(&c->parts, part);
    timeline_add(n, c, &part);
}

static void claim_set_times(struct claim *c, int64_t start_ns, int64_t length_ns)
{
    c->start_ns = start_ns;
    if (length_ns == NEVER_NS || __builtin_add_overflow(start_ns, length_ns, &c->end_ns))
        c->end_ns = NEVER_NS;
}

/* Finds the earliest start of a one-pod workload. The outlook's times are lower bounds, taken in
 * ascending order: the first that proves true is the earliest. */
static bool claim_find_single(struct claim_asker *a, struct claim *c, int64_t before_ns)
{
    struct mete_engine *e = a->e;
    struct group *g = a->w->group;
    const struct shape *s = g->sets[0].shape;
    struct outlook *o = outlook_of(e, g, a->now_ns);

    if (!a->all_bind)
        outlook_begin(e, o, a->now_ns); /* its times count claims that do not bind `w` */
    for (;;) {
        uint32_t rank = o->tree[1];
        int64_t from_ns = o->from[rank] > a->now_ns ? o->from[rank] : a->now_ns;
        int64_t at_ns;

        if (from_ns >= before_ns)
            return false;
        at_ns = claim_find(a, e->order.at[rank], s, from_ns);
        if (at_ns > from_ns) {
            outlook_put(o, rank, at_ns);
            continue;
        }
        claim_set_times(c, at_ns, a->length_ns);
        claim_put_part(c, e->order.at[rank], s);
        return true;
    }
}

/* Claims room for all pods at the claim's start. False: `*ret_next` is the next time at which more
 * pods may fit. */
static bool claim_find_at(struct claim_asker *a, struct claim *c, size_t *looks, int64_t *ret_next)
{
    struct mete_engine *e = a->e;
    const struct group *g = a->w->group;

    *ret_next = NEVER_NS;
    for (size_t i = 0; i < g->n_sets; i++) {
        const struct group_set *set = &g->sets[g->fill_order[i]];
        uint32_t left = set->count;

        for (size_t k = 0; k < e->order.n && left > 0; k++) {
            int64_t at_ns;

            while (left > 0) {
                at_ns = claim_find(a, e->order.at[k], set->shape, c->start_ns);
                ++*looks;
                if (at_ns != c->start_ns)
                    break;
                claim_put_part(c, e->order.at[k], set->shape);
                left--;
            }
            if (left > 0 && at_ns < *ret_next)
                *ret_next = at_ns;
        }
        if (left > 0)
            return false;
    }
    return true;
}

static bool claim_find_gang(struct claim_asker *a, struct claim *c, int64_t before_ns)
{
    int64_t at_ns = a->now_ns;
    size_t looks = 0;

    a->own = c;
    while (at_ns < before_ns && looks < LOOKS_MAX) {
        claim_set_times(c, at_ns, a->length_ns);
        if (claim_find_at(a, c, &looks, &at_ns))
            return true;
        VEC_EACH (&c->parts, part) {
            timeline_drop(part->node, c);
        }
        vec_clear(&c->parts);
    }
    return false;
}

/* Finds a start before that time, and fills the claim. */
static bool claim_find_before(struct claim_asker *a, struct claim *c, int64_t before_ns)
{
    reservations_unbar(a->e);
    return a->w->group->n_pods == 1 ? claim_find_single(a, c, before_ns)
                                    : claim_find_gang(a, c, before_ns);
}

static bool claim_overlaps(const struct claim *c, int64_t start_ns, int64_t end_ns)
{
    return c->start_ns < end_ns && start_ns < c->end_ns;
}

/* Is there still room for the whole claim? */
static bool claim_still_fits(struct mete_engine *e, struct claim *c, int64_t now_ns)
{
    struct claim_asker a = asker_of(e, c->owner, now_ns);
    size_t n = 0;

    a.own = c;
    VEC_EACH (&c->parts, part) {
        timeline_drop(part->node, c);
    }
    while (n < c->parts.n &&
           claim_find(&a, c->parts.at[n].node, c->parts.at[n].shape, c->start_ns) == c->start_ns) {
        timeline_add(c->parts.at[n].node, c, &c->parts.at[n]);
        n++;
    }
    for (size_t i = n; i < c->parts.n; i++)
        timeline_add(c->parts.at[i].node, c, &c->parts.at[i]); /* as before */
    return n == c->parts.n;
}

/* Drops the claims of workloads behind `a->w` (`from_all`: of all) that do not fit on the node any
 * more. A claim made in this cycle stays: between queues the order may be cyclic. */
static void claim_yield(struct claim_asker *a, const struct node *n, int64_t start_ns,
                        int64_t end_ns, bool from_all)
{
    uint64_t round = ++a->e->yields;

    for (size_t i = 0; n->timeline && i < n->timeline->edges.n;) {
        struct claim *c = timeline_claim(n->timeline, i++);

        if (c->yielded_at == round || c->made_at == a->e->cycles || c->owner == a->w ||
            !claim_overlaps(c, start_ns, end_ns) || (!from_all && claim_is_before(a, c->owner)))
            continue;
        c->yielded_at = round;
        if (!claim_still_fits(a->e, c, a->now_ns))
            claim_drop(a->e, c);
        i = 0; /* the edges were removed or reordered */
    }
}

void claims_yield(struct mete_engine *e, const struct workload *w, bool from_all)
{
    struct claim_asker a = asker_of(e, w, e->now_ns);

    for (size_t i = 0; e->claims.n > 0 && i < w->n_pods; i++)
        if (w->pods[i].node && (i == 0 || w->pods[i].node != w->pods[i - 1].node))
            claim_yield(&a, w->pods[i].node, e->now_ns, w->end_ns, from_all);
}

static void claim_list(struct mete_engine *e, struct claim *c)
{
    struct workload *w = c->owner;

    c->index = e->claims.n;
    vec_add(&e->claims, c);
    w->claim = c;
    w->group->n_claims++;
    if (w->queue->n_claims++ == 0 || order_before(&w->queue->last_claim, &w->key))
        w->queue->last_claim = w->key;
}

/* Within a group, earlier workloads get earlier start times. `w` may just have found an earlier
 * time than those before it: they swap. Otherwise the first workload would take that time when it
 * comes, and `w` would start later than its estimate. */
static void pass_forward(struct workload *w)
{
    struct order_link *link = &w->in_group;

    while ((link = order_previous(link)) != NULL) {
        struct workload *before = workload_of_group(link);

        if (!before->claim || before->claim->start_ns <= w->claim->start_ns)
            return;
        claims_swap(before, w);
        w = before;
    }
}

static void claim_enter(struct claim_asker *a, struct claim *c)
{
    struct mete_engine *e = a->e;

    c->made_at = e->cycles;
    claim_list(e, c);
    e->version++;
    for (size_t i = 0; a->saw_behind && i < c->parts.n; i++)
        claim_yield(a, c->parts.at[i].node, c->start_ns, c->end_ns, false);
    pass_forward(c->owner);
}

static void claim_improve(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct claim_asker a = asker_of(e, w, now_ns);
    struct claim *old = w->claim;
    struct claim *c = mem_alloc(sizeof(*c));
    struct node *n = old->parts.at[0].node;

    c->owner = w;
    /* the outlook of its own node may count its own claim */
    if (w->group->n_pods == 1 && claim_find(&a, n, w->group->sets[0].shape, now_ns) < old->start_ns)
        outlook_put(outlook_of(e, w->group, now_ns), n->rank, now_ns);
    if (!claim_find_before(&a, c, old->start_ns)) {
        claim_free(c);
        return;
    }
    claim_drop(e, old);
    claim_enter(&a, c);
}

/* Plans do not cover parts of gpus, link groups and domains. */
static bool is_claimable(const struct group *g)
{
    bool has_asks = g->has_asks;

    for (size_t i = 0; i < g->n_sets; i++)
        has_asks = has_asks || g->sets[i].shape->n_asks > 0 || g->sets[i].shape->is_linked;
    return !has_asks;
}

bool claim_is_late(const struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    return w->claim && w->claim->start_ns <= now_ns && w->claim->made_at != e->cycles;
}

bool claim_keep(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct claim *c;
    struct claim_asker a;

    if (w->claim && !claim_is_late(e, w, now_ns)) {
        if (e->is_improving && w->claim->made_at != e->cycles)
            claim_improve(e, w, now_ns);
        return true;
    }
    claim_drop_of(e, w);
    if (w->is_extra || !is_claimable(w->group))
        return false;
    a = asker_of(e, w, now_ns);
    c = mem_alloc(sizeof(*c));
    c->owner = w;
    if (!claim_find_before(&a, c, NEVER_NS)) {
        claim_free(c);
        return false;
    }
    claim_enter(&a, c);
    return true;
}

int64_t claim_length_ns(const struct mete_engine *e, int64_t limit_ns)
{
    return e->use_of_limit == 0 ? limit_ns : limit_ns / USE_STEPS * e->use_of_limit + 1;
}

/* Begins a new plan, whose time limits count differently. */
static void claims_turn_page(struct mete_engine *e)
{
    e->pass++;
    VEC_EACH (&e->order, n) {
        if ((*n)->timeline)
            (*n)->timeline->is_stale = true;
    }
}

struct claims_aside claims_put_aside(struct mete_engine *e, uint32_t use)
{
    struct claims_aside aside = {mem_alloc(e->claims.n * sizeof(struct claim *) + 1), e->claims.n,
                                 e->eased, e->version, e->unclaimed};

    VEC_EACH (&e->claims, c) {
        struct workload *w = (*c)->owner;

        aside.at[c - e->claims.at] = *c;
        VEC_EACH (&(*c)->parts, part) {
            timeline_drop(part->node, *c);
        }
        w->claim = NULL;
        w->group->n_claims -= w->in_group.size > 0;
        w->queue->n_claims--;
    }
    e->claims.n = 0;
    e->is_foreseeing = true;
    e->use_of_limit = use;
    claims_turn_page(e);
    return aside;
}

void claims_put_back(struct mete_engine *e, struct claims_aside *aside)
{
    VEC_EACH (&e->claims, c) {
        outlook_free(e, (*c)->owner->group);
    }
    claims_drop_all(e);
    for (size_t i = 0; i < aside->n; i++) {
        struct claim *c = aside->at[i];

        claim_list(e, c);
        VEC_EACH (&c->parts, part) {
            timeline_add(part->node, c, part);
        }
    }
    free(aside->at);
    e->is_foreseeing = false;
    e->use_of_limit = 0;
    e->eased = aside->eased;
    e->version = aside->version;
    e->unclaimed = aside->unclaimed;
    claims_turn_page(e);
}

/* The claim is due: the cycle tries its group again. */
static void claim_reopen(struct mete_engine *e, const struct claim *c)
{
    c->owner->group->failed_at = 0;
    VEC_EACH (&c->parts, part) {
        node_touch(e, part->node);
    }
}

void claims_begin(struct mete_engine *e, int64_t now_ns)
{
    if (!claims_in_use(e)) {
        claims_drop_all(e);
        return;
    }
    VEC_EACH (&e->claims, c) {
        if (!e->was_cut && (*c)->start_ns <= now_ns)
            claim_reopen(e, *c);
    }
    e->is_improving = e->was_improving;
    if (e->improved_at != e->freed + e->unclaimed && now_ns - e->improved_ns >= e->plan_period_ns) {
        e->is_improving = true;
        e->improved_at = e->freed + e->unclaimed;
        e->improved_ns = now_ns;
    }
}

/* A cycle that was cut goes on improving when it continues. */
void claims_end(struct mete_engine *e)
{
    e->was_improving = e->was_cut && e->is_improving;
    e->is_improving = false;
}

bool claims_suffice(const struct mete_engine *e, const struct group *g)
{
    return !e->is_improving && g->n_claims > 0 && g->n_claims == order_count(&g->waiting);
}

static bool is_among(struct workload *const *all, size_t n, const struct workload *w)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == w)
            return true;
    return false;
}

size_t claim_kin(const struct mete_engine *e, const struct workload *w,
                 struct workload *kin[static CLAIM_KIN_MAX])
{
    uint64_t seen = w->group->tried_at;
    size_t n_kin = 0;

    if (!w->claim || w->group->n_claims < 2)
        return 0;
    for (const struct node *n = search_newest(e, seen); n; n = search_older(e, n, seen)) {
        for (size_t i = 0; n->timeline && i < n->timeline->edges.n; i++) {
            struct workload *owner = n->timeline->edges.at[i].claim->owner;

            if (owner->group != w->group || owner == w || is_among(kin, n_kin, owner))
                continue;
            if (n_kin == CLAIM_KIN_MAX)
                return n_kin;
            kin[n_kin++] = owner;
        }
    }
    return n_kin;
}

void claims_swap(struct workload *a, struct workload *b)
{
    struct claim *of_a = a->claim;

    a->claim = b->claim;
    b->claim = of_a;
    a->claim->owner = a;
    b->claim->owner = b;
}

int64_t claim_end_ns(const struct workload *w, int64_t now_ns)
{
    int64_t limit_ns = w->group->time_limit_ns;
    int64_t end_ns = 0;

    if (w->claim && w->claim->start_ns <= now_ns && w->claim->end_ns > now_ns)
        return w->claim->end_ns;
    return limit_ns == 0 || __builtin_add_overflow(now_ns, limit_ns, &end_ns) ? NEVER_NS : end_ns;
}

bool claim_allows(struct mete_engine *e, struct attempt *a, const struct shape *s, struct node *n)
{
    struct claim_asker asker;

    if (!n->timeline || n->timeline->edges.n == 0 || a->ignores_backfills || a->ignores_claims)
        return true;
    asker = asker_of(e, a->w, a->now_ns);
    if (asker.length_ns != NEVER_NS)
        asker.length_ns = claim_end_ns(a->w, a->now_ns) - a->now_ns;
    if (claim_fits_now(&asker, n, s))
        return true;
    if (!a->kept_by)
        a->kept_by = asker.kept_by;
    return false;
}

const char *claims_check(const struct mete_engine *e)
{
    size_t n_edges = 0;

    for (size_t i = 0; i < e->claims.n; i++) {
        const struct claim *c = e->claims.at[i];

        if (c->index != i || c->owner->claim != c || c->owner->is_placed)
            return "a claim's owner has another claim, or is placed";
        n_edges += c->parts.n * (c->end_ns == NEVER_NS ? 1 : 2);
    }
    VEC_EACH (&e->order, n) {
        const struct timeline *t = (*n)->timeline;

        for (size_t i = 0; t && i < t->edges.n; i++, n_edges--)
            if (i > 0 && t->edges.at[i - 1].at_ns > t->edges.at[i].at_ns)
                return "the claims on a node are not in order";
    }
    return n_edges == 0 ? NULL : "the claims on nodes do not add up";
}

uint64_t claims_hash(const struct mete_engine *e, uint64_t hash)
{
    VEC_EACH (&e->claims, c) {
        hash = (hash ^ (*c)->owner->key.id) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)(*c)->start_ns) * UINT64_C(0x100000001b3);
        VEC_EACH (&(*c)->parts, part) {
            hash = (hash ^ part->node->slot) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}
