/*
 * A cycle goes through the waiting workloads in order, group by group: when one of a group does not
 * fit, none of those behind it in the group does, and nobody looks at them again before something
 * is freed. The first ones that do not fit get reservations; the rest works around these.
 */
#include "engine/place.h"
#include "engine/reserve.h"
#include "engine/search.h"

/* Groups by whose turn comes first, as a heap. */
static bool is_first(const struct group *a, const struct group *b)
{
    return order_before(a->at->key, b->at->key);
}

static void sift_down(struct mete_engine *e, size_t i)
{
    struct group **at = e->heap.at;

    for (;;) {
        size_t child = 2 * i + 1;
        struct group *moved = at[i];

        if (child >= e->heap.n)
            return;
        if (child + 1 < e->heap.n && is_first(at[child + 1], at[child]))
            child++;
        if (!is_first(at[child], moved))
            return;
        at[i] = at[child];
        at[child] = moved;
        i = child;
    }
}

static void heap_make(struct mete_engine *e)
{
    vec_clear(&e->heap);
    VEC_EACH (&e->groups, g) {
        (*g)->at = order_first(&(*g)->waiting);
        (*g)->has_failed = false;
        vec_add(&e->heap, *g);
    }
    for (size_t i = e->heap.n / 2; i > 0; i--)
        sift_down(e, i - 1);
}

/* The first group has had its turn with its present one. */
static void heap_advance(struct mete_engine *e, struct order_link *next)
{
    if (next)
        e->heap.at[0]->at = next;
    else
        e->heap.at[0] = e->heap.at[--e->heap.n];
    if (e->heap.n > 0)
        sift_down(e, 0);
}

static bool place(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct attempt a = {.w = w, .now_ns = now_ns};
    size_t mark = journal_open(&e->journal);
    int64_t limit_ns = w->group->time_limit_ns;

    if (!place_pods(e, &a)) {
        journal_undo(&e->journal, mark);
        return false;
    }
    journal_keep(&e->journal, mark);
    group_unwait(e, w);
    reserve_drop_of(e, w);
    w->is_placed = true;
    if (limit_ns == 0 || __builtin_add_overflow(now_ns, limit_ns, &w->end_ns))
        w->end_ns = NEVER_NS;
    w->code = METE_REASON_NONE;
    vec_add(&e->placed, w);
    e->version++;
    return true;
}

/* The next in order does not fit. True: it has its reservation, so go on with those behind it. */
static bool keep_room(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct reservation *r = reserve_of(e, w);

    if (e->n_reserved >= e->reserve_depth)
        return false;
    if (r && !r->is_stale && r->planned_at == e->freed) {
        r->is_confirmed = true;
    } else if (group_never_fits(e, w->group)) {
        reserve_drop_group(e, w->group);
        return false;
    } else {
        (void)reserve_make(e, w,
                           now_ns); /* also where no plan is found: the next in line is not it */
    }
    e->n_reserved++;
    if (e->n_reserved == e->reserve_depth)
        reserve_drop_unconfirmed(e);
    return true;
}

/* The one whose turn it is is placed, or gets a reservation, or its group is through for this
 * cycle. */
static void take_turn(struct mete_engine *e, struct group *g, int64_t now_ns)
{
    struct workload *w = workload_of_group(g->at);
    struct order_link *next = order_next(g->at);

    if (!g->has_failed && g->failed_at != e->eased) {
        if (place(e, w, now_ns)) {
            heap_advance(e, next);
            return;
        }
        g->failed_at = e->eased;
    }
    g->has_failed = true;
    heap_advance(e, keep_room(e, w, now_ns) ? next : NULL);
}

static const struct mete_pod_placement *list_pods(struct mete_engine *e, const struct workload *w)
{
    struct mete_pod_placement *pods = arena_alloc(e->decisions, w->n_pods * sizeof(*pods));

    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *p = &w->pods[i];
        const char **gpus = arena_alloc(e->decisions, (p->n_gpus + 1) * sizeof(*gpus));

        for (size_t k = 0; k < p->n_gpus; k++)
            gpus[k] = p->gpus[k]->uuid;
        pods[i] = (struct mete_pod_placement){
            .pod_set = p->set,
            .pod = p->index,
            .node = p->node->name,
            .gpus = gpus,
            .n_gpus = p->n_gpus,
        };
    }
    return pods;
}

static void list_placements(struct mete_engine *e, struct mete_decisions *ret)
{
    struct mete_placement *placements =
        arena_alloc(e->decisions, (e->placed.n + 1) * sizeof(*placements));

    for (size_t i = 0; i < e->placed.n; i++) {
        const struct workload *w = e->placed.at[i];

        placements[i] = (struct mete_placement){
            .workload = w->key.id,
            .pods = list_pods(e, w),
            .n_pods = w->n_pods,
        };
    }
    ret->placements = placements;
    ret->n_placements = e->placed.n;
}

void mete_cycle(struct mete_engine *e, int64_t now_ns, uint64_t budget, struct mete_decisions *ret)
{
    uint64_t first_step = e->steps;
    bool has_tried = false;

    *ret = (struct mete_decisions){0};
    arena_reset(e->decisions);
    vec_clear(&e->placed);
    e->n_reserved = 0;
    VEC_EACH (&e->reservations, r) {
        (*r)->is_confirmed = false;
    }
    heap_make(e);
    while (e->heap.n > 0) {
        struct group *g = e->heap.at[0];
        bool is_fresh = !g->has_failed && g->failed_at != e->eased;

        if (is_fresh && has_tried && budget > 0 && e->steps - first_step >= budget) {
            ret->is_cut = true;
            break;
        }
        has_tried = has_tried || is_fresh;
        take_turn(e, g, now_ns);
    }
    if (!ret->is_cut)
        reserve_drop_unconfirmed(e);
    list_placements(e, ret);
}
