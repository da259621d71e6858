/*
 * Who may evict whom:
 *
 * A placed workload is secured while all secured workloads together are within the nominal quotas
 * of its queue and of those above it: it is found when it is placed, or later when others have
 * ended, and stays until it ends. Then there are two rules. Reclaim: one that would be secured, and
 * whose queue really is below its nominal quota, evicts unsecured ones in other queues. Priority:
 * one evicts others of its own queue with a lower priority; secured ones only if it will be secured
 * itself.
 *
 * It cannot go round in a circle. Count, for each priority from the largest down, the secured
 * workloads of at least that priority; behind these numbers, in the same way, the placed ones.
 * Read as one word, each decision makes it larger: placing adds to it and takes nothing away; by
 * reclaim it gains a secured workload and loses only unsecured ones; by priority it gains a secured
 * one at that priority and loses only at lower ones, or it keeps all of the first half and gains a
 * placed one at that priority in the second. There are finitely many words, so the evictions end
 * unless something comes or goes from outside. (A decision holds as of then: from there on the
 * victims are not secured, and what the preemptor asks for is counted as if it were placed.)
 *
 * The set of victims is found node by node: for each pod the node on which room costs least, given
 * those chosen already; in the end whoever fits back beside the preemptor stays. Cost is the work
 * lost since the last checkpoint x gpus of the whole workload.
 */
#include "engine/preempt.h"

#include <stdlib.h>

#include "engine/fit.h"
#include "engine/place.h"
#include "engine/reserve.h"
#include "engine/search.h"

#define COST_NEVER UINT64_MAX

enum {
    NODE_HOLDERS_MAX = 256 /* of one node: more are not looked at */
};

struct search {
    struct mete_engine *e;
    struct attempt attempt;
    struct charge charge;
    bool spares_secured;
    int64_t again_ns;     /* when the next one may be evicted */
    unsigned least_depth; /* of the queue above both: reclaim is for those in between */
    unsigned most_depth;  /* 0 with least_depth over it: no reclaim */
    size_t n_candidates;
    uint64_t *costs; /* by rank */
    uint32_t *tree;  /* the rank with the least cost; see search.c */
    size_t room;
};

/* One workload on a node. */
struct holding {
    struct workload *w;
    uint64_t rate; /* cost for each 1/1000 gpu there */
};

static int64_t protected_until(const struct workload *w)
{
    int64_t run_ns = w->min_run_ns > w->queue->min_run_ns ? w->min_run_ns : w->queue->min_run_ns;
    int64_t until_ns = 0;

    return __builtin_add_overflow(w->started_ns, run_ns, &until_ns) ? NEVER_NS : until_ns;
}

static uint64_t cost_of(const struct workload *w, int64_t now_ns)
{
    int64_t since_ns = w->checkpoint_ns > w->started_ns ? w->checkpoint_ns : w->started_ns;
    uint64_t lost_ms = now_ns > since_ns ? (uint64_t)(now_ns - since_ns) / 1000000 : 0;
    uint64_t gpus = w->charged[COUNTED_GPU] > 0 ? (uint64_t)w->charged[COUNTED_GPU] : 1;
    uint64_t cost = decay_scale(lost_ms + 1, gpus, 1);

    return cost < COST_NEVER / 4 ? cost : COST_NEVER / 4;
}

static void mark(struct search *s, struct workload *w)
{
    int64_t until_ns;

    if (!w->is_preemptible || w->evicted_by != 0 || !w->charged ||
        (s->spares_secured && w->is_secured))
        return;
    until_ns = protected_until(w);
    if (until_ns > s->attempt.now_ns) {
        s->again_ns = until_ns < s->again_ns ? until_ns : s->again_ns;
        return;
    }
    w->marked_at = s->e->searches;
    w->is_victim = false;
    w->cost = cost_of(w, s->attempt.now_ns);
    s->n_candidates++;
}

/* The depth of the queue above both. */
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

static void mark_in(struct search *s, const struct queue *q)
{
    const struct workload *own = s->attempt.w;
    bool is_own = q == own->queue;
    enum mete_preempt rule = is_own ? own->queue->within : own->queue->reclaim;
    unsigned depth = is_own ? 0 : common_depth(q, own->queue);

    if (rule == METE_PREEMPT_NEVER ||
        (!is_own && (depth < s->least_depth || depth > s->most_depth)))
        return;
    for (struct workload *w = q->first_placed; w; w = w->placed_after) {
        if ((is_own || rule == METE_PREEMPT_LOWER_PRIORITY) && w->priority >= own->priority)
            continue;
        if (is_own || !w->is_secured)
            mark(s, w);
    }
}

/* Between which depths the queue above both has to be, for its own side to be below nominal. */
static void find_depths(struct search *s)
{
    const struct workload *w = s->attempt.w;

    s->least_depth = 1;
    s->most_depth = 0;
    if (!queue_would_secure(s->e, w, s->charge.at))
        return;
    for (const struct queue *q = w->queue; q->parent; q = q->parent) {
        bool has = false;
        bool is_within = queue_is_within(s->e, q, &s->charge, &has);

        if (has && !is_within)
            return;
        if (has && s->most_depth < s->least_depth)
            s->most_depth = q->depth - 1;
        if (has || s->most_depth >= s->least_depth)
            s->least_depth = q->depth - 1;
    }
}

static void mark_all(struct search *s)
{
    s->e->searches++;
    s->n_candidates = 0;
    vec_clear(&s->e->victims);
    find_depths(s);
    if (s->most_depth < s->least_depth && s->attempt.w->queue->within == METE_PREEMPT_NEVER)
        return; /* securing more could not change that */
    queues_secure(s->e);
    find_depths(s);
    VEC_EACH (&s->e->queues, q) {
        mark_in(s, *q);
    }
}

static bool is_candidate(const struct search *s, const struct workload *w)
{
    return w->marked_at == s->e->searches && !w->is_victim;
}

static int64_t gpus_on(const struct workload *w, const struct node *n)
{
    int64_t milli = 0;

    for (size_t i = 0; i < w->n_pods; i++)
        if (w->pods[i].node == n)
            milli += (int64_t)w->pods[i].n_gpus * pod_shape(&w->pods[i])->milli;
    return milli;
}

/* Those who may be evicted there, the cheapest for what they hold first, then by id. */
static size_t list_holdings(const struct search *s, const struct node *n, struct holding *list)
{
    size_t count = 0;

    for (const struct pod *p = n->pods; p && count < NODE_HOLDERS_MAX; p = p->after) {
        struct holding h = {.w = p->workload};
        bool is_known = false;
        int64_t milli;
        size_t at;

        for (size_t i = 0; i < count; i++)
            is_known = is_known || list[i].w == h.w;
        if (is_known || !is_candidate(s, h.w))
            continue;
        milli = gpus_on(h.w, n);
        h.rate = h.w->cost / (milli > 0 ? (uint64_t)milli : 1);
        for (at = count++;
             at > 0 && (list[at - 1].rate > h.rate ||
                        (list[at - 1].rate == h.rate && list[at - 1].w->key.id > h.w->key.id));
             at--)
            list[at] = list[at - 1];
        list[at] = h;
    }
    return count;
}

static void give_here(struct mete_engine *e, struct workload *w, const struct node *n)
{
    for (size_t i = 0; i < w->n_pods; i++)
        if (w->pods[i].node == n)
            pod_give(e, &w->pods[i]);
}

/* The cheapest one that suffices alone, or the first ones until it fits. `ret` has their number. */
static uint64_t choose(struct search *s, struct node *n, const struct shape *shape,
                       struct holding *list, size_t *ret)
{
    struct mete_engine *e = s->e;
    size_t count = list_holdings(s, n, list);
    uint64_t cost = COST_NEVER;
    uint64_t sum = 0;
    size_t mark = journal_open(&e->journal);

    *ret = 0;
    for (size_t i = 0; i < count && cost == COST_NEVER; i++) {
        give_here(e, list[i].w, n);
        sum += list[i].w->cost;
        if (!fit_now(n, shape))
            continue;
        cost = sum;
        *ret = i + 1;
    }
    journal_undo(&e->journal, mark);
    for (size_t i = 0; i<count && * ret> 1; i++) {
        bool fits;

        if (list[i].w->cost >= cost)
            continue;
        mark = journal_open(&e->journal);
        give_here(e, list[i].w, n);
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

/* What it costs to make room for one more pod there. */
static uint64_t node_cost(struct search *s, struct node *n, const struct shape *shape,
                          struct holding *list, size_t *ret)
{
    const struct reservation *r = n->reservation;
    uint64_t cost;

    s->e->steps++;
    *ret = 0;
    if (!node_takes_pods(n) || (r && r->is_confirmed && r->owner != s->attempt.w) ||
        fit_empty(n, shape) == 0)
        return COST_NEVER;
    if (fit_now(n, shape))
        return 0;
    s->e->is_quiet = true; /* all of it is undone */
    cost = choose(s, n, shape, list, ret);
    s->e->is_quiet = false;
    return cost;
}

static void tree_set(struct search *s, uint32_t rank, uint64_t cost)
{
    s->costs[rank] = cost;
    for (size_t i = (s->room + rank) / 2; i > 0; i /= 2) {
        uint32_t left = s->tree[2 * i];
        uint32_t right = s->tree[2 * i + 1];

        s->tree[i] = s->costs[right] < s->costs[left] ? right : left;
    }
}

static void tree_make(struct search *s, const struct shape *shape)
{
    const struct mete_engine *e = s->e;
    struct holding list[NODE_HOLDERS_MAX];
    size_t n = 0;

    for (uint32_t i = 0; i < s->room; i++) {
        s->tree[s->room + i] = i;
        s->costs[i] = i < e->order.n ? node_cost(s, e->order.at[i], shape, list, &n) : COST_NEVER;
    }
    for (size_t i = s->room - 1; i > 0; i--) {
        uint32_t left = s->tree[2 * i];
        uint32_t right = s->tree[2 * i + 1];

        s->tree[i] = s->costs[right] < s->costs[left] ? right : left;
    }
}

static void cost_again(struct search *s, struct node *n, const struct shape *shape)
{
    struct holding list[NODE_HOLDERS_MAX];
    size_t count = 0;

    if (s->tree && n->is_present)
        tree_set(s, n->rank, node_cost(s, n, shape, list, &count));
}

/* All of it goes, in this trial. Where it was is kept for give_back. Nodes get their new cost, but
 * for `here`, which changes again. */
static void evict(struct search *s, struct workload *w, const struct shape *shape,
                  const struct node *here)
{
    struct mete_engine *e = s->e;
    struct node **nodes = arena_alloc(e->scratch, (w->n_pods + 1) * sizeof(struct node *));
    size_t *counts = arena_alloc(e->scratch, (w->n_pods + 1) * sizeof(size_t));

    for (size_t i = 0; i < w->n_pods; i++) {
        nodes[i] = w->pods[i].node;
        counts[i] = w->pods[i].n_gpus;
        pod_give(e, &w->pods[i]);
    }
    queue_count_held(e, w, w->charged, -1);
    w->is_victim = true;
    w->was_on = nodes;
    w->had_gpus = counts;
    vec_add(&e->victims, w);
    for (size_t i = 0; shape && i < w->n_pods; i++)
        if (nodes[i] != here && (i == 0 || nodes[i] != nodes[i - 1]))
            cost_again(s, nodes[i], shape);
}

static bool is_below(const struct queue *q, const struct queue *top)
{
    while (q && q != top)
        q = q->parent;
    return q != NULL;
}

static struct workload *cheapest_of(const struct search *s, const struct quota_block *b)
{
    const struct mete_engine *e = s->e;
    struct workload *best = NULL;

    VEC_EACH (&e->queues, q) {
        if (!is_below(*q, b->queue))
            continue;
        for (struct workload *w = (*q)->first_placed; w; w = w->placed_after)
            if (is_candidate(s, w) && (b->counted >= e->counted.n || w->charged[b->counted] > 0) &&
                (!best || w->cost < best->cost ||
                 (w->cost == best->cost && w->key.id < best->key.id)))
                best = w;
    }
    return best;
}

/* Until the quotas admit it. */
static bool make_quota(struct search *s)
{
    struct quota_block b = {0};

    while (!queue_admits(s->e, s->attempt.w, &s->charge, &b)) {
        struct workload *w = b.code == METE_REASON_QUOTA ? cheapest_of(s, &b) : NULL;

        if (!w)
            return false;
        evict(s, w, NULL, NULL);
    }
    return true;
}

static bool make_room_for(struct search *s, struct pod *p, struct shape *shape)
{
    struct mete_engine *e = s->e;
    struct holding list[NODE_HOLDERS_MAX];
    uint32_t rank = s->tree[1];
    struct node *n;
    size_t count = 0;

    if (s->costs[rank] == COST_NEVER)
        return false;
    n = e->order.at[rank];
    if (node_cost(s, n, shape, list, &count) == COST_NEVER)
        return false;
    for (size_t i = 0; i < count; i++)
        evict(s, list[i].w, shape, n);
    place_on(e, p, shape, n);
    cost_again(s, n, shape);
    return true;
}

static bool make_room(struct search *s)
{
    struct mete_engine *e = s->e;
    const struct group *g = s->attempt.w->group;

    search_rank(e);
    s->room = 1;
    while (s->room < e->order.n)
        s->room *= 2;
    s->costs = arena_alloc(e->scratch, s->room * sizeof(*s->costs));
    s->tree = arena_alloc(e->scratch, 2 * s->room * sizeof(*s->tree));
    for (size_t i = 0; i < g->n_sets; i++) {
        const struct group_set *set = &g->sets[g->fill_order[i]];

        tree_make(s, set->shape);
        for (size_t k = 0; k < s->attempt.w->n_pods; k++) {
            struct pod *p = &s->attempt.w->pods[k];

            if (p->set == g->fill_order[i] && !make_room_for(s, p, set->shape))
                return false;
        }
    }
    return queue_admits_placed(e, s->attempt.w, &s->attempt.block);
}

static bool fits_back(const struct pod *p, const struct node *n, size_t n_gpus)
{
    const struct shape *s = pod_shape(p);

    for (size_t i = 0; i < n_gpus; i++) {
        const struct gpu *g = p->gpus[i];

        if (g->holder || (!shape_is_share(s) && g->n_shares > 0))
            return false;
        if (shape_is_share(s) && (g->milli_used + s->milli > MILLI || !fit_share_memory(g, s)))
            return false;
    }
    return fit_rooms(n, s, false);
}

/* The preemptor does not need what it holds. */
static bool give_back(struct search *s, struct workload *w)
{
    struct mete_engine *e = s->e;
    size_t mark = journal_open(&e->journal);
    bool fits = true;

    for (size_t i = 0; i < w->n_pods && fits; i++) {
        struct pod *p = &w->pods[i];

        fits = fits_back(p, w->was_on[i], w->had_gpus[i]);
        if (fits)
            pod_take(e, p, pod_shape(p), w->was_on[i], p->gpus, w->had_gpus[i]);
    }
    queue_count_held(e, w, w->charged, 1);
    if (!fits || !queue_admits(e, s->attempt.w, &s->charge, NULL)) {
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

static void spare_unneeded(struct search *s)
{
    struct mete_engine *e = s->e;
    size_t n = 0;

    qsort(e->victims.at, e->victims.n, sizeof(struct workload *), more_expensive);
    for (size_t i = 0; i < e->victims.n; i++)
        if (!give_back(s, e->victims.at[i]))
            e->victims.at[n++] = e->victims.at[i];
    e->victims.n = n;
}

static bool has_secured(const struct mete_engine *e)
{
    VEC_EACH (&e->victims, w) {
        if ((*w)->is_secured)
            return true;
    }
    return false;
}

/* A set of victims in e->victims and the room that they leave, or NULL. Nothing has changed then.
 */
static struct reservation *find_victims(struct search *s)
{
    struct mete_engine *e = s->e;
    struct workload *w = s->attempt.w;
    struct reservation *r = NULL;
    size_t mark;

    arena_reset(e->scratch);
    s->tree = NULL;
    mark_all(s);
    if (s->n_candidates == 0)
        return NULL;
    mark = journal_open(&e->journal);
    if (make_quota(s) && make_room(s)) {
        spare_unneeded(s);
        if (e->victims.n > 0 && (!has_secured(e) || queue_would_secure(e, w, s->charge.at)))
            r = reserve_of_trial(w);
    }
    journal_undo(&e->journal, mark);
    return r;
}

static void decide(struct mete_engine *e, struct workload *w)
{
    VEC_EACH (&e->victims, each) {
        struct workload *victim = *each;

        queue_unsecure(e, victim);
        victim->evicted_by = w->key.id;
        w->n_evicting++;
        vec_add(&e->evictions, (struct mete_eviction){
                                   .workload = victim->key.id,
                                   .by = w->key.id,
                                   .reason = victim->queue == w->queue ? METE_EVICTED_PRIORITY
                                                                       : METE_EVICTED_RECLAIM,
                               });
    }
    preempt_count(e, w);
    vec_add(&e->preemptors, w);
    e->version++;
}

bool preempt_for(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct search s = {.e = e, .attempt = {.e = e, .w = w, .now_ns = now_ns}};
    const struct queue *q = w->queue;
    struct group *g = w->group;
    struct reservation *r;

    if (e->counted.n == 0 || w->n_evicting > 0 ||
        (q->reclaim == METE_PREEMPT_NEVER && q->within == METE_PREEMPT_NEVER))
        return false;
    if (g->stuck_at == e->version && now_ns < g->stuck_ns)
        return false;
    s.again_ns = NEVER_NS;
    charge_of(e, w, NULL, &s.charge);
    r = find_victims(&s);
    if (!r) {
        s.spares_secured = true;
        r = find_victims(&s);
    }
    if (!r) {
        g->stuck_at = e->version;
        g->stuck_ns = s.again_ns;
        return false;
    }
    reserve_put(e, r);
    decide(e, w);
    return true;
}
