/* place.c - placing a workload pod by pod */

#include "engine/place/place.h"

#include <assert.h>

#include "engine/affinity/affinity.h"
#include "engine/evict/lend.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"

static void set_bit(struct mete_engine *e, uint64_t *bits, uint64_t bit, bool is_set)
{
    if (((*bits & bit) != 0) != is_set)
        SET(e, *bits, *bits ^ bit);
}

/* Updates the node's account of a gpu that changed. The caller touches `here`. */
static void gpu_count(struct mete_engine *e, const struct gpu *g, const struct node *here)
{
    struct node *n = g->node;
    uint64_t bit = UINT64_C(1) << g->bit;

    if (!n)
        return;
    set_bit(e, &n->held, bit, gpu_is_held(g));
    set_bit(e, &n->shared, bit, g->n_shares > 0);
    set_bit(e, &n->sized, bit, g->bytes_used > 0);
    set_bit(e, &n->fenced, bit, g->is_fenced && g->n_shares > 0);
    SET(e, n->free_milli[g->bit], gpu_free_milli(g));
    if (n != here)
        node_touch(e, n);
}

/* Notes the namespace of a share's or replica's holder, before the gpu counts it. */
static void fence_note(struct mete_engine *e, struct gpu *g, const struct shape *s)
{
    bool is_first = g->n_shares == 0 && !(g->parts && g->parts->n_replicas > 0);

    if (is_first)
        SET(e, g->fence, s->ns);
    else if (g->fence != s->ns)
        SET(e, g->fence, FENCE_MIXED);
}

static void share_take(struct mete_engine *e, struct gpu *g, uint32_t milli, int64_t bytes)
{
    if (g->memory_at_share != gpu_share_memory(g))
        SET(e, g->memory_at_share, gpu_share_memory(g));
    SET(e, g->n_shares, g->n_shares + 1);
    SET(e, g->milli_used, g->milli_used + milli);
    if (bytes > 0)
        SET(e, g->bytes_used, g->bytes_used + bytes);
    else
        SET(e, g->memory_milli_used, g->memory_milli_used + milli);
}

static void share_give(struct mete_engine *e, struct gpu *g, uint32_t milli, int64_t bytes)
{
    SET(e, g->n_shares, g->n_shares - 1);
    SET(e, g->milli_used, g->milli_used - milli);
    if (bytes > 0)
        SET(e, g->bytes_used, g->bytes_used - bytes);
    else
        SET(e, g->memory_milli_used, g->memory_milli_used - milli);
}

static void gpu_take(struct mete_engine *e, struct gpu *g, struct pod *p, const struct shape *s)
{
    if (shape_is_share(s)) {
        fence_note(e, g, s);
        share_take(e, g, s->milli, s->gpu_bytes);
    } else {
        SET(e, g->holder, p);
    }
    if (g->parts)
        parts_leave(e, g->parts);
    gpu_count(e, g, p->node);
}

static void gpu_give(struct mete_engine *e, struct gpu *g, const struct shape *s,
                     const struct node *here)
{
    if (shape_is_share(s))
        share_give(e, g, s->milli, s->gpu_bytes);
    else
        SET(e, g->holder, NULL);
    gpu_count(e, g, here);
}

/* Takes one device of a pod with asks. */
static void device_take(struct mete_engine *e, struct gpu *g, struct pod *p, const struct ask *a,
                        unsigned start)
{
    if (a->kind == ASK_SHARE || a->kind == ASK_REPLICA)
        fence_note(e, g, pod_shape(p));
    switch (a->kind) {
    case ASK_WHOLE:
        SET(e, g->holder, p);
        break;
    case ASK_SHARE:
        share_take(e, g, ask_share_milli(a, g), a->bytes);
        break;
    case ASK_SLICE:
        parts_take_slice(e, g->parts, p, a->profile, start);
        break;
    case ASK_REPLICA:
        parts_count_replica(e, g->parts, 1);
        break;
    }
    if (g->parts && (a->kind == ASK_WHOLE || a->kind == ASK_SHARE))
        parts_leave(e, g->parts);
    gpu_count(e, g, p->node);
}

static void device_give(struct mete_engine *e, struct pod *p, size_t i, const struct node *here)
{
    const struct ask *a = pod_ask(p, i);
    struct gpu *g = p->gpus[i];

    switch (a->kind) {
    case ASK_WHOLE:
        SET(e, g->holder, NULL);
        break;
    case ASK_SHARE:
        share_give(e, g, ask_share_milli(a, g), a->bytes);
        break;
    case ASK_SLICE:
        parts_give_slice(e, g->parts, pod_start(p, i));
        break;
    case ASK_REPLICA:
        parts_count_replica(e, g->parts, -1);
        break;
    }
    gpu_count(e, g, here);
}

/* Adds a pod's requests to the rooms, or subtracts them. Rooms for all requests must exist; both
 * lists are by resource number. */
static void count_rooms(struct mete_engine *e, struct node *n, const struct shape *s, int sign)
{
    struct room *room = n->rooms;

    for (size_t i = 0; i < s->n_requests; i++) {
        while (room->resource != s->requests[i].resource)
            room++;
        SET(e, room->used, room->used + sign * s->requests[i].amount);
    }
}

void pod_take(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n,
              struct gpu *const *gpus, size_t n_gpus)
{
    count_rooms(e, n, s, 1);
    SET(e, p->node, n);
    for (size_t i = 0; i < n_gpus; i++) {
        if (s->n_asks > 0)
            device_take(e, gpus[i], p, &s->asks[pod_marks(p)[i] >> 4], pod_start(p, i));
        else
            gpu_take(e, gpus[i], p, s);
        SET(e, p->gpus[i], gpus[i]);
    }
    SET(e, p->n_gpus, n_gpus);
    SET(e, p->before, NULL);
    SET(e, p->after, n->pods);
    if (n->pods)
        SET(e, n->pods->before, p);
    SET(e, n->pods, p);
    if (e->affinity)
        affinity_count(e, pod_ties(p), s, n, 1);
    node_fill(e, n);
    node_touch(e, n);
}

void pod_give(struct mete_engine *e, struct pod *p)
{
    const struct shape *s = pod_shape(p);
    struct node *n = p->node;

    pod_unlend(e, p);
    count_rooms(e, n, s, -1);
    for (size_t i = 0; i < p->n_gpus; i++)
        if (s->n_asks > 0)
            device_give(e, p, i, n);
        else
            gpu_give(e, p->gpus[i], s, n);
    SET(e, p->n_gpus, 0);
    if (p->before)
        SET(e, p->before->after, p->after);
    else
        SET(e, n->pods, p->after);
    if (p->after)
        SET(e, p->after->before, p->before);
    if (e->affinity)
        affinity_count(e, pod_ties(p), s, n, -1);
    SET(e, p->node, NULL);
    SET(e, p->before, NULL);
    SET(e, p->after, NULL);
    node_fill(e, n);
    node_touch(e, n);
}

/*
 * The best node with a backfill reservation, as far as the workload may use it. A node counts
 * despite the reservation (BACKFILL_BEYOND) only when no other node fits. `*key` is the key of the
 * best other node. `is_affine`: affinity_ask was called.
 */
static struct node *best_kept(struct mete_engine *e, struct attempt *a, const struct shape *s,
                              bool is_affine, uint64_t *key)
{
    bool has_other = *key != 0;
    struct node *best = NULL;

    VEC_EACH (&e->backfills, r) {
        for (size_t i = 0; i < (*r)->n_nodes; i++) {
            struct node *n = (*r)->nodes[i].node;
            bool is_open = !node_is_barred(e, n) && scope_has(&a->scope, n);
            uint64_t here = is_open ? search_key(e, n, s) : 0;
            enum backfill_answer answer;

            if (is_affine)
                here = affinity_key(e, n, here);
            if (here <= *key || !claim_allows(e, a, s, n))
                continue;
            answer = backfill_ask(a, s, n, policy_devices(e, n, s));
            if (answer == BACKFILL_KEPT)
                a->kept = *r;
            if (answer == BACKFILL_KEPT || (answer == BACKFILL_BEYOND && has_other))
                continue;
            *key = here;
            best = n;
        }
    }
    return best;
}

/* The best node with an advance reservation and without a backfill reservation, within the bars;
 * NULL: none is better than `*key`. */
static struct node *best_reserved(struct mete_engine *e, struct attempt *a, const struct shape *s,
                                  bool is_affine, uint64_t *key)
{
    struct node *best = NULL;

    for (size_t i = 0; i < e->reserved.n; i += e->reserved.at[i].node->n_reserved) {
        struct node *n = e->reserved.at[i].node;
        bool is_open = !n->backfill && scope_has(&a->scope, n);
        uint64_t here = is_open ? search_key(e, n, s) : 0;

        if (is_affine)
            here = affinity_key(e, n, here);
        if (here <= *key || !claim_allows(e, a, s, n))
            continue;
        *key = here;
        best = n;
    }
    return best;
}

static void take_gpus(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n,
                      uint64_t chosen)
{
    struct gpu *gpus[NODE_GPUS_MAX];
    size_t n_gpus = 0;

    for (uint64_t left = chosen; left; left &= left - 1)
        gpus[n_gpus++] = n->gpus[__builtin_ctzll(left)];
    pod_take(e, p, s, n, gpus, n_gpus);
}

/* Takes the devices that policy_deal chooses for a pod with asks. */
static void take_devices(struct mete_engine *e, struct pod *p, const struct shape *s,
                         struct node *n)
{
    struct gpu *gpus[ASK_DEVICES_MAX];
    struct choice c = {0};
    bool fits = policy_deal(e, n, s, &c);

    assert(fits); /* as the caller says */
    for (uint32_t i = 0; i < s->gpus; i++) {
        gpus[i] = n->gpus[c.at[i].bit];
        SET(e, pod_marks(p)[i], (uint16_t)(c.at[i].ask << 4 | c.at[i].start));
    }
    pod_take(e, p, s, n, gpus, s->gpus);
}

void place_on(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n)
{
    if (s->n_asks > 0)
        take_devices(e, p, s, n);
    else
        take_gpus(e, p, s, n, policy_devices(e, n, s));
}

static void take_chosen(struct mete_engine *e, const struct attempt *a, struct pod *p,
                        const struct shape *s, struct node *n)
{
    uint64_t chosen = policy_devices(e, n, s);

    if (n->backfill)
        backfill_note(e, a, s, n, chosen);
    if (s->n_asks > 0)
        take_devices(e, p, s, n);
    else
        take_gpus(e, p, s, n, chosen);
}

/* The best node in the scope without a reservation or backfill reservation. */
static struct node *best_open(struct mete_engine *e, const struct attempt *a, struct shape *s,
                              uint64_t *key)
{
    return a->scope.level ? domain_best(e, &a->scope, s, key) : search_best(e, s, key);
}

/* The same, within the claims. */
static struct node *best_allowed(struct mete_engine *e, struct attempt *a, struct shape *s,
                                 uint64_t *ret_key)
{
    struct node *best = best_open(e, a, s, ret_key);

    if (!best || claim_allows(e, a, s, best))
        return best;
    best = NULL;
    *ret_key = 0;
    search_prepare(e, s);
    VEC_EACH (&e->order, n) {
        uint64_t key = scope_has(&a->scope, *n) ? search_key_there(e, *n, s) : 0;

        if (key <= *ret_key || !claim_allows(e, a, s, *n))
            continue;
        *ret_key = key;
        best = *n;
    }
    return best;
}

/* The pod's node in the claim, if the pod still fits there. The claim's parts are in the order of
 * placing. */
static struct node *claimed_node(struct mete_engine *e, struct attempt *a, const struct pod *p,
                                 const struct shape *s, bool is_affine)
{
    struct node *n = a->w->claim->parts.at[a->n_placed].node;

    if (is_affine)
        affinity_ask(e, pod_ties(p), s);
    if (is_affine && !affinity_allows(e, n, NULL))
        return NULL;
    return scope_has(&a->scope, n) && fit_now(n, s) && !node_is_barred(e, n) &&
                   claim_allows(e, a, s, n)
               ? n
               : NULL;
}

static bool place_pod(struct mete_engine *e, struct attempt *a, struct pod *p)
{
    struct shape *s = a->shapes ? a->shapes[p->set] : a->w->group->sets[p->set].shape;
    bool is_affine = !a->ignores_others && affinity_concerns(pod_ties(p), s);
    uint64_t key = 0;
    struct node *n = NULL;

    if (a->follows_claim) {
        n = claimed_node(e, a, p, s, is_affine);
        if (n)
            take_chosen(e, a, p, s, n);
        return n != NULL;
    }
    if (is_affine)
        n = affinity_best(e, a, pod_ties(p), s, &key);
    else if (!e->inside)
        n = best_allowed(e, a, s, &key);

    if (e->reserved.n > 0) {
        struct node *reserved = best_reserved(e, a, s, is_affine, &key);

        n = reserved ? reserved : n;
    }
    if (e->backfills.n > 0) {
        struct node *kept = best_kept(e, a, s, is_affine, &key);

        n = kept ? kept : n;
    }
    if (!n)
        return false;
    take_chosen(e, a, p, s, n);
    return true;
}

bool place_set(struct mete_engine *e, struct attempt *a, uint32_t set)
{
    const struct group *g = a->w->group;
    size_t first = 0;

    for (uint32_t before = 0; before < set; before++)
        first += g->sets[before].count;
    for (uint32_t k = 0; k < g->sets[set].count; k++) {
        if (!place_pod(e, a, &a->w->pods[first + k]))
            return false;
        a->n_placed++;
    }
    return true;
}

bool place_pods(struct mete_engine *e, struct attempt *a)
{
    const struct group *g = a->w->group;

    a->e = e;
    a->n_placed = 0;
    a->kept = NULL;
    a->kept_by = NULL;
    a->block.code = METE_REASON_NONE;
    a->scope = (struct scope){0};
    if (a->ignores_reservations) {
        reservations_unbar(e);
    } else {
        reservations_bar(e, a->w, a->now_ns);
        if (reservation_ask(e, a->w, a->now_ns) != RESERVATION_OPEN)
            return false;
    }
    if (e->claims.n > 0)
        SET(e, a->w->end_ns,
            claim_end_ns(a->w, a->now_ns)); /* how long its pods count for each other */
    if (g->has_asks && !a->ignores_domains)
        return domains_place(e, a);
    for (size_t i = 0; i < g->n_sets; i++)
        if (!place_set(e, a, g->fill_order[i]))
            return false;
    return queue_admits_placed(e, a->w, &a->block);
}

bool place_would_fit(struct mete_engine *e, struct attempt *a)
{
    size_t mark = journal_open(&e->journal);
    bool fits = place_pods(e, a);

    journal_undo(&e->journal, mark);
    return fits;
}
