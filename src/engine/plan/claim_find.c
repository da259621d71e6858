/* claim_find.c - the earliest room on a node: a sweep over its endings and claims */

#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/queue/queue.h"
#include "engine/queue/turn.h"

struct timeline *timeline_of(struct node *n)
{
    if (!n->timeline) {
        n->timeline = mem_alloc(sizeof(*n->timeline));
        n->timeline->is_stale = true;
    }
    return n->timeline;
}

static void timeline_insert(struct timeline *t, struct edge edge)
{
    size_t at = t->edges.n;

    vec_add(&t->edges, edge);
    for (; at > 0 &&
           (t->edges.at[at - 1].at_ns > edge.at_ns || (t->edges.at[at - 1].at_ns == edge.at_ns &&
                                                       edge.is_end && !t->edges.at[at - 1].is_end));
         at--)
        t->edges.at[at] = t->edges.at[at - 1];
    t->edges.at[at] = edge;
}

void timeline_add(struct node *n, const struct claim *c, const struct claimed *part)
{
    struct timeline *t = timeline_of(n);

    timeline_insert(t, (struct edge){c->start_ns, c, part->shape, part->count, false});
    if (c->end_ns != NEVER_NS)
        timeline_insert(t, (struct edge){c->end_ns, c, part->shape, part->count, true});
    if (!t->is_stale)
        levels_claim(t, n, c, part);
}

void timeline_drop(struct node *n, const struct claim *c)
{
    struct timeline *t = n->timeline;
    size_t kept = 0;

    for (size_t i = 0; t && i < t->edges.n; i++)
        if (t->edges.at[i].claim != c)
            t->edges.at[kept++] = t->edges.at[i];
    if (!t)
        return;
    t->edges.n = kept;
    levels_forget(t);
}

void timeline_free(struct node *n)
{
    if (!n->timeline)
        return;
    vec_done(&n->timeline->edges);
    vec_done(&n->timeline->endings);
    levels_forget(n->timeline);
    free(n->timeline);
    n->timeline = NULL;
}

struct claim *timeline_claim(const struct timeline *t, size_t edge)
{
    return t->edges.at[edge].claim->owner->claim;
}

/* Sets the gpus of each ending. A gpu in parts comes back with the last of its holders. */
static void timeline_find_gpus(struct timeline *t, const struct node *n)
{
    uint64_t seen = 0;

    for (size_t i = t->endings.n; i > 0; i--) {
        struct claim_ending *h = &t->endings.at[i - 1];

        for (size_t k = 0; k < h->pod->n_gpus; k++)
            if (h->pod->gpus[k]->node == n)
                h->gpus |= UINT64_C(1) << h->pod->gpus[k]->bit;
        h->gpus &= ~seen;
        seen |= h->gpus;
    }
}

static int64_t end_of(const struct mete_engine *e, const struct workload *w)
{
    if (e->use_of_limit == 0 || w->end_ns == NEVER_NS)
        return w->end_ns;
    return w->end_ns - w->group->time_limit_ns + claim_length_ns(e, w->group->time_limit_ns);
}

static void timeline_find_endings(const struct mete_engine *e, struct timeline *t,
                                  const struct node *n)
{
    vec_clear(&t->endings);
    for (const struct pod *p = n->pods; p; p = p->after) {
        struct claim_ending h = {.at_ns = end_of(e, p->workload), .pod = p};
        size_t at = t->endings.n;

        vec_add(&t->endings, h);
        for (; at > 0 && t->endings.at[at - 1].at_ns > h.at_ns; at--)
            t->endings.at[at] = t->endings.at[at - 1];
        t->endings.at[at] = h;
    }
    timeline_find_gpus(t, n);
    levels_forget(t);
    t->is_stale = false;
}

int64_t timeline_first_end(const struct mete_engine *e, struct node *n)
{
    struct timeline *t = timeline_of(n);

    if (t->is_stale)
        timeline_find_endings(e, t, n);
    return t->endings.n > 0 ? t->endings.at[0].at_ns : NEVER_NS;
}

bool claim_is_before(const struct claim_asker *a, const struct workload *owner)
{
    struct queue *q = owner->queue;

    if (q == a->w->queue || a->e->fairness.order == METE_ORDER_PRIORITY) {
        return order_before(&owner->key, &a->w->key);
    }
    return q->is_before; /* as of asker_of */
}

/* Must the asker leave this claim's room to its owner? A workload with a claim respects all claims;
 * a workload without one ignores claims of workloads behind it. */
static bool binds(struct claim_asker *a, const struct claim *c)
{
    bool is_before;

    if (c->owner == a->w)
        return c == a->own;
    if (a->w->claim || a->all_bind)
        return true;
    is_before = claim_is_before(a, c->owner);
    a->saw_behind = a->saw_behind || !is_before;
    return is_before;
}

enum {
    REQUESTS_MAX = 16 /* of a pod; a pod with more gets no claim */
};

/* The free room of a node at one moment, less the pod's requests. */
struct claim_level {
    const struct shape *s;
    uint64_t kind;    /* gpus that may serve */
    uint64_t counted; /* of these, free gpus */
    int64_t gpus;
    int64_t rooms[REQUESTS_MAX];
};

static bool level_has_room(const struct claim_level *l)
{
    if (l->s->gpus > 0 && l->gpus < 0)
        return false;
    for (size_t i = 0; i < l->s->n_requests; i++)
        if (l->rooms[i] < 0)
            return false;
    return true;
}

static bool level_begin(struct claim_level *l, const struct node *n, const struct shape *s)
{
    *l = (struct claim_level){
        .s = s, .kind = s->gpus > 0 ? node_gpus_of(n, s) & n->healthy & ~n->barred : 0};
    if (s->n_requests > REQUESTS_MAX)
        return false;
    l->counted = s->gpus > 0 ? (~n->held & l->kind) | (fit_gpus(n, s) & l->kind) : 0;
    l->gpus = (int64_t)bits(l->counted) - s->gpus;
    for (size_t i = 0; i < s->n_requests; i++) {
        const struct room *room = node_room(n, s->requests[i].resource);

        if (!room)
            return false;
        l->rooms[i] = room->capacity - room->used - s->requests[i].amount;
    }
    return true;
}

static int64_t amount_of(const struct shape *s, uint32_t resource)
{
    for (size_t i = 0; i < s->n_requests; i++)
        if (s->requests[i].resource == resource)
            return s->requests[i].amount;
    return 0;
}

static void level_add_shape(struct claim_level *l, const struct shape *s, int64_t count)
{
    l->gpus += count * s->gpus;
    for (size_t i = 0; i < l->s->n_requests; i++)
        l->rooms[i] += count * amount_of(s, l->s->requests[i].resource);
}

static void level_add_ending(const struct mete_engine *e, struct claim_level *l,
                             const struct claim_ending *h)
{
    uint64_t back = h->gpus & l->kind & ~l->counted;

    l->counted |= back;
    l->gpus += bits(back);
    for (size_t i = 0; i < l->s->n_requests; i++)
        if (!h->pod->is_lent || l->s->requests[i].resource != e->cpu) /* these come to the lender */
            l->rooms[i] += amount_of(pod_shape(h->pod), l->s->requests[i].resource);
}

static int64_t end_after(int64_t at_ns, int64_t length_ns)
{
    int64_t end_ns = 0;

    return length_ns == NEVER_NS || __builtin_add_overflow(at_ns, length_ns, &end_ns) ? NEVER_NS
                                                                                      : end_ns;
}

/* The start of the first stretch of time with room that is long enough; with `only_now` only one
 * that starts now. */
static int64_t timeline_sweep(struct claim_asker *a, struct node *n, const struct shape *s,
                              int64_t from_ns, bool only_now)
{
    struct timeline *t = timeline_of(n);
    int64_t start_ns = NEVER_NS; /* of the present stretch; NEVER_NS: there is no room */
    struct claim_level level;
    size_t edge = 0;
    size_t ending = 0;

    if (t->is_stale)
        timeline_find_endings(a->e, t, n);
    if (!level_begin(&level, n, s))
        return NEVER_NS;
    for (int64_t at_ns = a->now_ns;;) {
        const struct workload *taker = NULL;
        int64_t next_ns = NEVER_NS;

        for (; ending < t->endings.n && t->endings.at[ending].at_ns <= at_ns; ending++)
            level_add_ending(a->e, &level, &t->endings.at[ending]);
        for (; edge < t->edges.n && t->edges.at[edge].at_ns <= at_ns; edge++) {
            const struct edge *here = &t->edges.at[edge];

            if (!binds(a, here->claim))
                continue;
            taker = here->is_end ? taker : here->claim->owner;
            level_add_shape(&level, here->shape,
                            here->is_end ? here->count : -(int64_t)here->count);
        }
        if (ending < t->endings.n)
            next_ns = t->endings.at[ending].at_ns;
        if (edge < t->edges.n && t->edges.at[edge].at_ns < next_ns)
            next_ns = t->edges.at[edge].at_ns;
        if (!level_has_room(&level)) {
            start_ns = NEVER_NS;
            if (taker && !a->kept_by)
                a->kept_by = taker;
            if (only_now)
                return NEVER_NS;
        } else if (start_ns == NEVER_NS && next_ns > from_ns) {
            start_ns = at_ns > from_ns ? at_ns : from_ns;
        }
        if (start_ns != NEVER_NS &&
            (next_ns == NEVER_NS || next_ns >= end_after(start_ns, a->length_ns)))
            return start_ns;
        if (next_ns == NEVER_NS)
            return NEVER_NS;
        at_ns = next_ns;
    }
}

static bool has_claim_on(const struct workload *w, const struct node *n)
{
    for (size_t i = 0; w->claim && i < w->claim->parts.n; i++)
        if (w->claim->parts.at[i].node == n)
            return true;
    return false;
}

static int64_t timeline_search(struct claim_asker *a, struct node *n, const struct shape *s,
                               int64_t from_ns)
{
    struct timeline *t = timeline_of(n);

    if (!a->all_bind || a->own || !levels_serve(n, s) || has_claim_on(a->w, n))
        return timeline_sweep(a, n, s, from_ns, false);
    if (t->is_stale)
        timeline_find_endings(a->e, t, n);
    return levels_search(t, n, s, a->length_ns, from_ns > a->now_ns ? from_ns : a->now_ns);
}

int64_t claim_find(struct claim_asker *a, struct node *n, const struct shape *s, int64_t from_ns)
{
    a->e->steps++;
    if (!node_takes_pods(n) || !fit_kind(n, s) ||
        (n->backfill && n->backfill->owner != a->w && n->backfill->is_confirmed &&
         !a->e->is_foreseeing))
        return NEVER_NS;
    for (;;) {
        int64_t at_ns = timeline_search(a, n, s, from_ns);
        int64_t reserved_ns = at_ns;

        if (at_ns == NEVER_NS ||
            !reservation_start(a->e, a->w, n, node_gpus_of(n, s), s->gpus, &reserved_ns) ||
            reserved_ns == NEVER_NS)
            return NEVER_NS;
        if (reserved_ns == at_ns)
            return at_ns;
        from_ns = reserved_ns;
    }
}

/* Devices in parts are not counted over time: a pod that asks for them may be on the node while no
 * claim begins there. */
static bool has_claims_soon(struct claim_asker *a, const struct node *n)
{
    int64_t end_ns = end_after(a->now_ns, a->length_ns);

    VEC_EACH (&n->timeline->edges, here) {
        if (here->claim->start_ns >= end_ns || here->is_end || !binds(a, here->claim))
            continue;
        if (!a->kept_by)
            a->kept_by = here->claim->owner;
        return true;
    }
    return false;
}

bool claim_fits_now(struct claim_asker *a, struct node *n, const struct shape *s)
{
    if (s->n_asks > 0)
        return !has_claims_soon(a, n);
    return timeline_sweep(a, n, s, a->now_ns, true) == a->now_ns;
}
