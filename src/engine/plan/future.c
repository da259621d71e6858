/* future.c - the time at which one more pod fits on a node */

#include "engine/plan/future.h"

#include "engine/device/device_asks.h"
#include "engine/device/device_parts.h"
#include "engine/device/device_pick.h"
#include "engine/place/fit.h"
#include "engine/plan/reservation.h"

struct need *need_new(struct arena *a, const struct node *n)
{
    struct need *need = arena_alloc(a, sizeof(*need));

    need->node = n;
    need->rooms = arena_alloc(a, n->n_rooms * sizeof(*need->rooms));
    need->linked = arena_alloc(a, n->n_links * sizeof(*need->linked));
    return need;
}

struct need *need_copy(struct arena *a, const struct need *from)
{
    const struct node *n = from->node;
    struct need *need = need_new(a, n);
    struct need arrays = *need;

    *need = *from;
    need->rooms = memcpy(arrays.rooms, from->rooms, n->n_rooms * sizeof(*need->rooms));
    need->linked = memcpy(arrays.linked, from->linked, n->n_links * sizeof(*need->linked));
    return need;
}

unsigned future_gpus(const struct node *n, const struct shape *s)
{
    return s->n_asks > 0 ? device_pick_empty_gpus(n, s) : s->gpus;
}

/* Are the pod's gpus others than those needed so far, and are some of both linked? */
static bool is_elsewhere(const struct need *need, const struct shape *s, const struct future *f)
{
    bool is_linked = s->is_linked;

    for (size_t i = 0; i < need->node->n_links; i++)
        is_linked = is_linked || need->linked[i] > 0;
    return is_linked && need->gpus > 0 && need->kind != f->kind;
}

void need_add(struct need *need, const struct shape *s, const struct future *f)
{
    need->is_split = need->is_split || (s->gpus > 0 && is_elsewhere(need, s, f));
    need->kind |= f->kind;
    if (s->is_linked)
        need->linked[f->link] += s->gpus;
    need->gpus += future_gpus(need->node, s);
    for (size_t i = 0; i < s->n_requests; i++)
        need->rooms[node_room(need->node, s->requests[i].resource) - need->node->rooms] +=
            s->requests[i].amount;
}

/* Sets the gpus of each holder. A gpu in parts comes back with the last of its holders. */
static void holders_list_gpus(struct mete_engine *e, const struct node *n)
{
    uint64_t seen = 0;

    for (size_t i = e->holders.n; i > 0; i--) {
        struct holder *h = &e->holders.at[i - 1];

        for (size_t k = 0; k < h->pod->n_gpus; k++)
            if (h->pod->gpus[k]->node == n)
                h->gpus |= UINT64_C(1) << h->pod->gpus[k]->bit;
        h->gpus &= ~seen;
        seen |= h->gpus;
    }
}

/* Lists the holders on the node, by their ends. */
static void holders_list(struct mete_engine *e, const struct node *n, int64_t now_ns)
{
    vec_clear(&e->holders);
    for (const struct pod *p = n->pods; p; p = p->after) {
        struct holder h = {.end_ns = p->workload->end_ns, .pod = p};
        size_t at;

        if (h.end_ns < now_ns)
            h.end_ns = now_ns; /* past its time limit: may end any moment */
        vec_add(&e->holders, h);
        for (at = e->holders.n - 1; at > 0 && e->holders.at[at - 1].end_ns > h.end_ns; at--)
            e->holders.at[at] = e->holders.at[at - 1];
        e->holders.at[at] = h;
    }
    holders_list_gpus(e, n);
}

/* The gpus among `kind` that come back when the holder ends. */
static int64_t gpus_back(const struct node *n, const struct holder *h, uint64_t kind)
{
    return (int64_t)bits(h->gpus & n->healthy & kind);
}

/* Lent cpus come back to the lender, and to no other. */
static int64_t amount_back(const struct mete_engine *e, const struct pod *p, uint32_t resource)
{
    const struct shape *s = pod_shape(p);

    if (p->is_lent && resource == e->cpu)
        return 0;
    for (size_t i = 0; i < s->n_requests; i++)
        if (s->requests[i].resource == resource)
            return s->requests[i].amount;
    return 0;
}

/* The end of the last holder that has to leave until `missing` gpus (resource 0) or amounts are
 * back. */
static int64_t time_until(const struct mete_engine *e, const struct node *n, uint32_t resource,
                          uint64_t kind, int64_t missing)
{
    for (size_t i = 0; i < e->holders.n; i++) {
        const struct holder *h = &e->holders.at[i];

        missing -= resource ? amount_back(e, h->pod, resource) : gpus_back(n, h, kind);
        if (missing <= 0)
            return h->end_ns;
    }
    return NEVER_NS;
}

/* Takes the pod's part of a gpu from a copy of that gpu. */
static void gpu_leave(struct gpu *g, const struct pod *p, size_t i)
{
    const struct shape *s = pod_shape(p);
    int64_t bytes = s->n_asks > 0 ? pod_ask(p, i)->bytes : s->gpu_bytes;
    uint32_t milli = pod_device_milli(p, i);

    if (pod_has_whole(p, i))
        g->holder = NULL;
    if (!pod_has_share(p, i))
        return;
    g->n_shares--;
    g->milli_used -= milli;
    g->bytes_used -= bytes;
    g->memory_milli_used -= bytes > 0 ? 0 : milli;
}

/* The end of the last holder that has to leave until a share fits on `missing` more of these gpus.
 */
static int64_t time_until_shares(const struct mete_engine *e, const struct node *n,
                                 const struct shape *s, uint64_t gpus, int64_t missing)
{
    struct gpu after[NODE_GPUS_MAX];

    for (uint64_t left = gpus; left; left &= left - 1)
        after[__builtin_ctzll(left)] = *n->gpus[__builtin_ctzll(left)];
    for (size_t i = 0; i < e->holders.n; i++) {
        const struct holder *h = &e->holders.at[i];

        for (size_t k = 0; k < h->pod->n_gpus; k++) {
            const struct gpu *g = h->pod->gpus[k];

            if (g->node != n || !(gpus >> g->bit & 1))
                continue;
            gpu_leave(&after[g->bit], h->pod, k);
            if (gpu_free_milli(&after[g->bit]) < s->milli || !fit_share_memory(&after[g->bit], s) ||
                gpu_keeps_out(&after[g->bit], s))
                continue;
            gpus &= ~(UINT64_C(1) << g->bit);
            missing--;
        }
        if (missing <= 0)
            return h->end_ns;
    }
    return NEVER_NS;
}

static bool has_rooms(const struct node *n, const struct need *need, const struct shape *s)
{
    for (size_t i = 0; i < s->n_requests; i++) {
        const struct room *room = node_room(n, s->requests[i].resource);

        if (!room ||
            s->requests[i].amount + (need ? need->rooms[room - n->rooms] : 0) > room->capacity)
            return false;
    }
    return true;
}

/* The number of gpus among `*ret_others` that have to come back before such a pod fits beside the
 * planned ones. Slices count as gpus, unless they have room now; so do shares beside planned pods.
 */
static int64_t gpus_missing(const struct node *n, const struct need *need, const struct shape *s,
                            uint64_t kind, uint64_t *ret_others)
{
    uint64_t free = n->healthy & ~n->held & kind;
    int64_t missing;

    if (!need && s->n_asks == 0)
        free |= fit_gpus(n, s) & kind;
    *ret_others = kind & ~free;
    missing = (need ? need->gpus : 0) + future_gpus(n, s) - (int64_t)bits(free);
    if (need || s->n_asks == 0)
        return missing;
    if (fit_gpus_now(n, s))
        return 0;
    return missing > 0 ? missing : 1;
}

/* A question about one node. */
struct future_question {
    const struct future_ask *ask;
    const struct node *n;
    const struct need *need;
    int64_t rooms_ns; /* when the pod's other requests are free */
    bool has_holders; /* e->holders lists this node's */
};

/* As time_until; now if none are missing. */
static int64_t time_of(struct future_question *q, uint32_t resource, uint64_t kind, int64_t missing)
{
    const struct shape *s = q->ask->s;

    if (missing <= 0)
        return q->ask->now_ns;
    if (!q->has_holders)
        holders_list(q->ask->e, q->n, q->ask->now_ns);
    q->has_holders = true;
    if (resource == 0 && s->n_asks == 0 && shape_is_share(s) && !q->need)
        return time_until_shares(q->ask->e, q->n, s, kind & q->n->healthy, missing);
    return time_until(q->ask->e, q->n, resource, kind, missing);
}

static int64_t latest(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static int64_t time_of_rooms(struct future_question *q)
{
    const struct shape *s = q->ask->s;
    int64_t ret = q->ask->now_ns;

    for (size_t i = 0; i < s->n_requests; i++) {
        const struct room *room = node_room(q->n, s->requests[i].resource);
        int64_t needed = q->need ? q->need->rooms[room - q->n->rooms] : 0;
        int64_t missing = s->requests[i].amount + needed - (room->capacity - room->used);

        ret = latest(ret, time_of(q, room->resource, 0, missing));
    }
    return ret;
}

/* When does the pod fit with gpus of `kind` (if it asks for any), not before `from_ns`? */
static bool future_in(struct future_question *q, uint64_t kind, int64_t from_ns, struct future *ret)
{
    const struct shape *s = q->ask->s;
    const struct need *need = q->need;
    uint64_t all = kind | (need ? need->kind : 0);
    unsigned own = future_gpus(q->n, s);
    int64_t gpus = (need ? need->gpus : 0) + own;
    uint64_t others = 0;
    int64_t missing;

    if (gpus > bits(q->n->healthy & all) || (own == 0 && s->gpus > 0))
        return false;
    missing = s->gpus > 0 ? gpus_missing(q->n, need, s, all, &others) : 0;
    *ret = (struct future){.start_ns = latest(from_ns, time_of(q, 0, others, missing)),
                           .missing_gpus = missing > 0 ? (unsigned)missing : 0,
                           .kind = kind};
    return !q->ask->w || reservation_start(q->ask->e, q->ask->w, q->n, all, gpus, &ret->start_ns);
}

/* When does the pod fit in that link group, beside planned pods that have to be there, too? */
static bool future_in_link(struct future_question *q, size_t link, struct future *ret)
{
    uint64_t kind = q->n->links[link].gpus & node_gpus_of(q->n, q->ask->s);
    uint64_t free = q->n->healthy & ~q->n->held & kind;
    int64_t needed = (q->need ? q->need->linked[link] : 0) + q->ask->s->gpus;
    int64_t start_ns;

    if (needed > bits(q->n->healthy & kind))
        return false;
    start_ns = time_of(q, 0, kind & ~free, needed - bits(free));
    if (!future_in(q, kind, latest(q->rooms_ns, start_ns), ret))
        return false;
    ret->link = link;
    return true;
}

/* Chooses the link group with the earliest start, then with the fewest gpus to wait for. */
static bool future_linked(struct future_question *q, struct future *ret)
{
    bool is_found = false;

    for (size_t i = 0; i < q->n->n_links; i++) {
        struct future here;

        if (!future_in_link(q, i, &here))
            continue;
        if (!is_found || here.start_ns < ret->start_ns ||
            (here.start_ns == ret->start_ns && here.missing_gpus < ret->missing_gpus))
            *ret = here;
        is_found = true;
    }
    return is_found;
}

bool future_of(const struct future_ask *ask, const struct node *n, const struct need *need,
               struct future *ret)
{
    struct future_question q = {.ask = ask, .n = n, .need = need};

    if (!has_rooms(n, need, ask->s))
        return false;
    q.rooms_ns = time_of_rooms(&q);
    if (ask->s->is_linked)
        return future_linked(&q, ret);
    return future_in(&q, ask->s->gpus > 0 ? node_gpus_of(n, ask->s) : 0, q.rooms_ns, ret);
}

/* The least number of gpus beyond `missing` that come back, in whatever order the holders end: the
 * minimum over all sets of holders that do not suffice, plus one holder that makes them suffice. */
static int64_t least_overshoot(const struct mete_engine *e, const struct node *n, uint64_t kind,
                               int64_t missing)
{
    uint64_t sums = 1; /* bit i: some holders give back i, less than `missing` (at most 64) */
    uint64_t mask = missing >= 64 ? UINT64_MAX : (UINT64_C(1) << missing) - 1;
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < e->holders.n; i++) {
        int64_t back = gpus_back(n, &e->holders.at[i], kind);

        if (back < 64)
            sums |= (sums << back) & mask;
    }
    for (size_t i = 0; i < e->holders.n; i++) {
        int64_t back = gpus_back(n, &e->holders.at[i], kind);

        for (int64_t sum = 0; back > 0 && sum < missing; sum++)
            if ((sums >> sum & 1) && sum + back >= missing && sum + back - missing < least)
                least = sum + back - missing;
    }
    return least == INT64_MAX ? 0 : least;
}

static int64_t extra_gpus(struct mete_engine *e, const struct need *need, int64_t start_ns)
{
    const struct node *n = need->node;
    int64_t free = (int64_t)bits(n->healthy & ~n->held & need->kind);

    if (need->gpus == 0)
        return INT64_MAX;
    if (need->is_split)
        return 0;
    if (need->gpus <= free && start_ns == NEVER_NS)
        return free - need->gpus;
    if (start_ns == NEVER_NS)
        return least_overshoot(e, n, need->kind, need->gpus - free);
    for (size_t i = 0; i < e->holders.n && e->holders.at[i].end_ns <= start_ns; i++)
        free += gpus_back(n, &e->holders.at[i], need->kind);
    return free > need->gpus ? free - need->gpus : 0;
}

static int64_t extra_amount(const struct mete_engine *e, const struct need *need, size_t room,
                            int64_t start_ns)
{
    const struct room *here = &need->node->rooms[room];
    int64_t free = here->capacity - here->used;

    if (need->rooms[room] == 0)
        return INT64_MAX;
    if (start_ns != NEVER_NS)
        for (size_t i = 0; i < e->holders.n && e->holders.at[i].end_ns <= start_ns; i++)
            free += amount_back(e, e->holders.at[i].pod, here->resource);
    return free > need->rooms[room] ? free - need->rooms[room] : 0;
}

void future_extra(struct mete_engine *e, const struct need *need, int64_t start_ns, int64_t now_ns,
                  struct backfill_node *ret)
{
    holders_list(e, need->node, now_ns);
    ret->extra_gpus = extra_gpus(e, need, start_ns);
    for (size_t i = 0; i < need->node->n_rooms; i++)
        ret->extra[i] = extra_amount(e, need, i, start_ns);
}
