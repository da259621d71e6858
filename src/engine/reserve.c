#include "engine/reserve.h"

#include <stdlib.h>

#include "engine/booking.h"
#include "engine/fit.h"
#include "engine/future.h"
#include "engine/search.h"
#include "engine/turn.h"

static struct reserved_node *reserved(const struct node *n)
{
    return &n->reservation->nodes[n->reserved_at];
}

static bool ends_before(const struct attempt *a, const struct reservation *r)
{
    int64_t limit_ns = a->w->group->time_limit_ns;
    int64_t end_ns = 0;

    if (limit_ns == 0 || r->start_ns == NEVER_NS)
        return false;
    return !__builtin_add_overflow(a->now_ns, limit_ns, &end_ns) && end_ns <= r->start_ns;
}

/* Has the owner had its turn? In a cycle that is what it says, else it is as things are. */
static bool is_behind(const struct attempt *a, const struct reservation *r)
{
    if (r->owner == a->w)
        return false;
    if (a->is_turn || r->is_preempting)
        return r->is_confirmed;
    return turn_is_before(a->e, r->owner, a->w);
}

enum reserve_answer reserve_ask(const struct attempt *a, const struct shape *s,
                                const struct node *n, uint64_t gpus)
{
    const struct reservation *r = n->reservation;
    const struct reserved_node *here;

    if (!r || a->ignores_reservations || !is_behind(a, r))
        return RESERVE_FREE;
    if (!r->is_preempting && ends_before(a, r))
        return RESERVE_FREE;
    here = reserved(n);
    if ((int64_t)bits(gpus & here->gpus) > here->extra_gpus)
        return RESERVE_KEPT;
    for (size_t i = 0; i < s->n_requests; i++) {
        size_t room = (size_t)(node_room(n, s->requests[i].resource) - n->rooms);

        if (s->requests[i].amount > here->extra[room])
            return RESERVE_KEPT;
    }
    return RESERVE_EXTRA;
}

void reserve_note(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                  struct node *n, uint64_t gpus)
{
    struct reserved_node *here = reserved(n);
    struct reservation *r = n->reservation;

    switch (reserve_ask(a, s, n, gpus)) {
    case RESERVE_FREE:
        if (!is_behind(a, r))
            SET(e, r->is_stale, true);
        break;
    case RESERVE_EXTRA:
        SET(e, here->extra_gpus, here->extra_gpus - (int64_t)bits(gpus & here->gpus));
        for (size_t i = 0; i < s->n_requests; i++) {
            int64_t *extra = &here->extra[node_room(n, s->requests[i].resource) - n->rooms];

            if (*extra != INT64_MAX)
                SET(e, *extra, *extra - s->requests[i].amount);
        }
        break;
    case RESERVE_KEPT:
        break;
    }
}

struct reservation *reserve_of(const struct mete_engine *e, const struct workload *w)
{
    VEC_EACH (&e->reservations, r) {
        if ((*r)->owner == w)
            return *r;
    }
    return NULL;
}

static void reservation_free(struct reservation *r)
{
    for (size_t i = 0; i < r->n_nodes; i++)
        free(r->nodes[i].extra);
    free(r->nodes);
    free(r);
}

static void unlist(struct mete_engine *e, const struct reservation *r)
{
    for (size_t i = 0; i < e->reservations.n; i++)
        if (e->reservations.at[i] == r) {
            vec_remove(&e->reservations, i);
            return;
        }
}

void reserve_drop(struct mete_engine *e, struct reservation *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct node *n = r->nodes[i].node;

        if (n->reservation != r)
            continue; /* in the one that took its place */
        n->reservation = NULL;
        node_touch(e, n);
    }
    e->eased++;
    e->version++;
    unlist(e, r);
    reservation_free(r);
}

void reserve_drop_unconfirmed(struct mete_engine *e)
{
    for (size_t i = e->reservations.n; i > 0; i--)
        if (!e->reservations.at[i - 1]->is_confirmed)
            reserve_drop(e, e->reservations.at[i - 1]);
}

void reserve_drop_node(struct mete_engine *e, const struct node *n)
{
    if (n->reservation)
        reserve_drop(e, n->reservation);
}

void reserve_drop_of(struct mete_engine *e, const struct workload *w)
{
    struct reservation *r = reserve_of(e, w);

    if (r)
        reserve_drop(e, r);
}

void reserve_drop_group(struct mete_engine *e, const struct group *g)
{
    for (size_t i = e->reservations.n; i > 0; i--)
        if (e->reservations.at[i - 1]->owner->group == g)
            reserve_drop(e, e->reservations.at[i - 1]);
}

/* A plan in the scratch arena: what the owner will need, node by node. */
struct plan {
    struct mete_engine *e;
    const struct workload *w;
    int64_t now_ns;
    const struct reservation *only; /* its nodes and no others; NULL: any */
    struct need **by_rank;          /* NULL where nothing is planned */
    uint64_t *tree; /* a winner tree over the ranks for the set that is being planned */
    size_t room;
    size_t n_nodes;
    int64_t start_ns;
    int64_t missing; /* gpus that must come free first */
};

/* When one more pod fits there, between bookings. False: never. */
static bool plan_future(const struct plan *plan, const struct node *n, const struct shape *s,
                        struct future *ret)
{
    const struct need *need = plan->by_rank[n->rank];
    uint64_t kind = (need ? need->kind : 0) | node_gpus_of(n, s);
    int64_t gpus = (need ? need->gpus : 0) + future_gpus(n, s);

    return future_of(plan->e, n, need, s, plan->now_ns, ret) &&
           booking_start(plan->e, plan->w, n, kind, gpus, &ret->start_ns);
}

/* The sooner and the fewer gpus to wait for, the larger; 0: not there at all. */
static uint64_t plan_key(struct plan *plan, const struct node *n, const struct shape *s)
{
    struct future f;
    uint64_t seconds;
    uint64_t start_max = (UINT64_C(1) << 32) - 1;

    if (plan->only && n->reservation != plan->only)
        return 0;
    plan->e->steps++;
    if (n->reservation && n->reservation->owner != plan->w && n->reservation->is_confirmed)
        return 0;
    if (!node_takes_pods(n) || !fit_kind(n, s) || !plan_future(plan, n, s, &f))
        return 0;
    seconds =
        f.start_ns == NEVER_NS ? start_max : (uint64_t)((f.start_ns - plan->now_ns) / 1000000000);
    if (f.start_ns != NEVER_NS && seconds >= start_max)
        seconds = start_max - 1;
    return UINT64_C(1) << 62 | (start_max - seconds) << 28 |
           (uint64_t)(NODE_GPUS_MAX + 1 - f.missing_gpus) << 21 | (NODES_MAX - n->rank);
}

static void plan_set(struct plan *plan, uint32_t rank, uint64_t key)
{
    uint64_t *tree = plan->tree;

    tree[plan->room + rank] = key;
    for (size_t i = (plan->room + rank) / 2; i > 0; i /= 2)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

static bool plan_pod(struct plan *plan, const struct shape *s)
{
    struct mete_engine *e = plan->e;
    uint64_t key = plan->tree[1];
    struct node *n;
    struct future f;

    if (key == 0)
        return false;
    n = e->order.at[NODES_MAX - (uint32_t)(key & ((1 << 21) - 1))];
    if (!plan_future(plan, n, s, &f))
        return false;
    if (f.start_ns > plan->start_ns)
        plan->start_ns = f.start_ns;
    if (!plan->by_rank[n->rank]) {
        plan->by_rank[n->rank] = need_new(e->scratch, n);
        plan->n_nodes++;
    }
    need_add(plan->by_rank[n->rank], s);
    plan_set(plan, n->rank, plan_key(plan, n, s));
    return true;
}

/* Where the pods of one set would go. */
static bool plan_set_of_pods(struct plan *plan, const struct group_set *set)
{
    const struct mete_engine *e = plan->e;
    uint64_t *tree = plan->tree;

    for (uint32_t i = 0; i < e->order.n; i++)
        tree[plan->room + i] = plan_key(plan, e->order.at[i], set->shape);
    for (size_t i = plan->room - 1; i > 0; i--)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    for (uint32_t i = 0; i < set->count; i++)
        if (!plan_pod(plan, set->shape))
            return false;
    return true;
}

static void count_missing(struct plan *plan)
{
    for (size_t i = 0; i < plan->e->order.n; i++) {
        const struct need *need = plan->by_rank[i];
        int64_t free;

        if (!need)
            continue;
        free = (int64_t)bits(need->node->healthy & ~need->node->held & need->kind);
        plan->missing += need->gpus > free ? need->gpus - free : 0;
    }
}

/* False: it can not be planned. */
static bool plan_make(struct plan *plan)
{
    const struct group *g = plan->w->group;
    struct mete_engine *e = plan->e;

    plan->start_ns = plan->now_ns;
    plan->room = 1;
    while (plan->room < e->order.n)
        plan->room *= 2;
    plan->by_rank = arena_alloc(e->scratch, (e->order.n + 1) * sizeof(struct need *));
    plan->tree = arena_alloc(e->scratch, 2 * plan->room * sizeof(*plan->tree));
    for (size_t i = 0; i < g->n_sets; i++)
        if (!plan_set_of_pods(plan, &g->sets[g->fill_order[i]]))
            return false;
    count_missing(plan);
    return true;
}

/*
 * A reservation stays where it is unless it is better elsewhere for good: an earlier start that is
 * known, or fewer gpus to wait for than it ever had to. As both only ever fall it comes to rest,
 * and then those in its way end one by one; others beside it are beyond its need.
 */
static bool is_better(const struct plan *there, const struct plan *here,
                      const struct reservation *old)
{
    if (there->start_ns != NEVER_NS)
        return there->start_ns < here->start_ns;
    return here->start_ns == NEVER_NS && there->missing < old->least;
}

static struct reservation *plan_reservation(const struct plan *plan)
{
    struct mete_engine *e = plan->e;
    struct reservation *r = mem_alloc(sizeof(*r));

    r->start_ns = plan->start_ns;
    r->nodes = mem_alloc(plan->n_nodes * sizeof(*r->nodes) + 1);
    for (size_t i = 0; i < e->order.n; i++) {
        const struct need *need = plan->by_rank[i];
        struct reserved_node *here = &r->nodes[r->n_nodes];

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

/* Those behind it in the order give up the nodes that it needs. */
static void push_out(struct mete_engine *e, const struct reservation *r,
                     const struct reservation *old)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        struct reservation *other = r->nodes[i].node->reservation;

        if (other && other != old)
            reserve_drop(e, other);
    }
}

/* Nodes that were reserved for the owner before stay so without a change that others would have to
 * look at. */
static void put(struct mete_engine *e, struct reservation *r)
{
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        struct node *n = r->nodes[i].node;
        bool is_new = n->reservation == NULL;

        n->reservation = r;
        n->reserved_at = i;
        if (is_new)
            node_touch(e, n);
    }
    vec_add(&e->reservations, r);
}

/* The reservation's entry for the node, new with nothing left for others. */
static struct reserved_node *keep_node(struct reservation *r, struct node *n)
{
    struct reserved_node *here = r->nodes;

    while (here < r->nodes + r->n_nodes && here->node != n)
        here++;
    if (here == r->nodes + r->n_nodes) {
        here->node = n;
        here->extra = mem_alloc(n->n_rooms * sizeof(*here->extra) + 1);
        r->n_nodes++;
    }
    return here;
}

static void keep_trial(struct reservation *r, const struct workload *w)
{
    for (size_t i = 0; i < w->n_pods; i++) {
        struct node *n = w->pods[i].node;
        const struct shape *s = pod_shape(&w->pods[i]);

        keep_node(r, n)->gpus |= s->gpus > 0 ? node_gpus_of(n, s) : 0;
    }
}

struct reservation *reserve_of_trial(struct workload *w, struct workload *const *others,
                                     size_t n_others)
{
    struct reservation *r = mem_alloc(sizeof(*r));
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
        struct reserved_node *here = &r->nodes[i];
        const struct node *n = here->node;

        here->extra_gpus = (int64_t)bits(n->healthy & ~n->held & here->gpus);
        for (size_t k = 0; k < n->n_rooms; k++)
            here->extra[k] = n->rooms[k].capacity - n->rooms[k].used;
    }
    return r;
}

void reserve_put(struct mete_engine *e, struct reservation *r)
{
    struct reservation *old = reserve_of(e, r->owner);

    r->planned_at = e->freed;
    push_out(e, r, old);
    put(e, r);
    if (old)
        reserve_drop(e, old);
    e->version++;
}

bool reserve_make(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct reservation *old = reserve_of(e, w);
    struct plan there = {.e = e, .w = w, .now_ns = now_ns};
    struct plan here = {.e = e, .w = w, .now_ns = now_ns, .only = old};
    struct reservation *r = NULL;
    bool is_planned;

    arena_reset(e->scratch);
    bookings_unbar(e);
    search_rank(e);
    is_planned = e->order.n > 0 && plan_make(&there);
    if (is_planned) {
        bool stays = old && plan_make(&here) && !is_better(&there, &here, old);

        r = plan_reservation(stays ? &here : &there);
        r->owner = w;
        r->is_confirmed = true;
        r->planned_at = e->freed;
        r->least = stays ? here.missing : there.missing;
        if (old && old->least < r->least)
            r->least = old->least;
        push_out(e, r, old);
        put(e, r);
    }
    if (old)
        reserve_drop(e, old);
    e->version++;
    return is_planned;
}
