/* check.c - consistency checks of the whole state, and a hash of it */

#include "engine/affinity/affinity.h"
#include "engine/device/device_asks.h"
#include "engine/evict/lend.h"
#include "engine/evict/preempt.h"
#include "engine/group_cache.h"
#include "engine/place/domain.h"
#include "engine/place/place.h"
#include "engine/place/search.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/queue/queue.h"
#include "engine/state.h"

static const char *check_node(struct mete_engine *e, const struct node *n)
{
    uint64_t held = 0;
    uint64_t shared = 0;
    uint64_t sized = 0;
    uint64_t fenced = 0;
    uint64_t healthy = 0;
    uint64_t wholes = 0;
    uint64_t parted = 0;
    const struct pod *before = NULL;

    for (unsigned i = 0; i < n->n_gpus; i++) {
        const struct gpu *g = n->gpus[i];

        if (g->node != n || g->bit != i)
            return "a gpu is not where its node says";
        if (n->free_milli[i] != gpu_free_milli(g))
            return "a gpu's free compute differs from its used compute";
        held |= (uint64_t)gpu_is_held(g) << i;
        wholes |= (uint64_t)(!g->parts || g->parts->can_be_whole) << i;
        parted |= (uint64_t)(g->parts != NULL) << i;
        shared |= (uint64_t)(g->n_shares > 0) << i;
        sized |= (uint64_t)(g->bytes_used > 0) << i;
        fenced |= (uint64_t)(g->is_fenced && g->n_shares > 0) << i;
        healthy |= (uint64_t)g->is_healthy << i;
    }
    if (held != n->held || shared != n->shared || sized != n->sized || fenced != n->fenced ||
        healthy != n->healthy || wholes != n->wholes || parted != n->parted)
        return "a node's sets of gpus differ from its gpus";
    for (const struct pod *p = n->pods; p; p = p->after) {
        if (p->node != n || p->before != before || !p->workload->is_placed)
            return "a node lists a pod that is not on it";
        before = p;
    }
    if (!n->is_present && (!n->pods || n->backfill))
        return "an absent node without pods is kept";
    if (n->backfill && n->backfill->nodes[n->kept_at].node != n)
        return "a node and its backfill reservation differ";
    return lend_check_node(e, n);
}

static const char *check_used(const struct mete_engine *e, const struct node *n)
{
    for (size_t i = 0; i < n->n_rooms; i++) {
        bool is_cpu = n->rooms[i].resource == e->cpu;
        int64_t used = is_cpu ? n->filler : 0;

        for (const struct pod *p = n->pods; p; p = p->after)
            for (size_t k = 0; k < pod_shape(p)->n_requests; k++)
                if (pod_shape(p)->requests[k].resource == n->rooms[i].resource &&
                    !(is_cpu && p->is_lent))
                    used += pod_shape(p)->requests[k].amount;
        if (used != n->rooms[i].used)
            return "a node's used amount differs from the sum over its pods";
        if (i > 0 && n->rooms[i - 1].resource >= n->rooms[i].resource)
            return "a node's resources are not in order";
    }
    return NULL;
}

static const char *check_workload(const struct mete_engine *e, const struct workload *w)
{
    if (w->is_extra && (w->is_secured || w->claim || w->key.points != INT64_MIN))
        return "an extra is secured, has a claim, or is not behind all others";
    if (w->is_placed && w->decided_at == e->labels_version && !(domains_hold(w) && links_hold(w)))
        return "a workload was placed outside of a required domain";
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *p = &w->pods[i];

        if ((p->node != NULL) != w->is_placed)
            return "some pods of a workload are placed and some are not";
        for (size_t k = 0; k < p->n_gpus; k++)
            if (p->gpus[k]->holder != (pod_has_whole(p, k) ? p : NULL))
                return "a gpu is listed by a pod and held by another";
    }
    if ((w->all.size > 0) == w->is_placed ||
        (w->in_group.size > 0) == (w->is_placed || w->hold != METE_HOLD_NONE))
        return "a workload waits and is placed, or neither";
    return NULL;
}

static bool largest_are_right(const struct mete_engine *e)
{
    int64_t cpu = 0;
    uint32_t gpus = 0;

    VEC_EACH (&e->order, n) {
        const struct room *room = node_room(*n, e->cpu);

        cpu = room && room->capacity > cpu ? room->capacity : cpu;
        gpus = (*n)->n_gpus > gpus ? (*n)->n_gpus : gpus;
    }
    return cpu == e->cpu_max && gpus == e->gpus_max;
}

static const char *check_nodes(struct mete_engine *e)
{
    const char *wrong = NULL;
    struct node *n;
    struct node *next;

    map_each (handle, e->node_map, n, next) {
        wrong = check_node(e, n);
        if (!wrong)
            wrong = check_used(e, n);
        if (wrong)
            return wrong;
    }
    if (!largest_are_right(e))
        return "the largest sizes differ from those of the nodes";
    for (size_t i = 0; i < e->order.n; i++)
        if (!e->order.at[i]->is_present ||
            (i > 0 && strcmp(e->order.at[i - 1]->name, e->order.at[i]->name) >= 0))
            return "the nodes are not in order";
    return NULL;
}

/* Compares the gpu's sums with its pods' shares, on whatever node the pods are. */
static const char *check_shares(struct mete_engine *e, const struct gpu *g)
{
    uint32_t n_shares = 0;
    uint32_t milli = 0;
    uint32_t memory_milli = 0;
    int64_t bytes = 0;
    struct node *n;
    struct node *next;

    map_each (handle, e->node_map, n, next) {
        for (const struct pod *p = n->pods; p; p = p->after) {
            const struct shape *s = pod_shape(p);

            for (size_t k = 0; k < p->n_gpus; k++) {
                uint32_t milli_here = pod_device_milli(p, k);
                int64_t bytes_here = s->n_asks > 0 ? pod_ask(p, k)->bytes : s->gpu_bytes;

                if (p->gpus[k] != g || !pod_has_share(p, k))
                    continue;
                n_shares++;
                milli += milli_here;
                bytes += bytes_here;
                memory_milli += bytes_here > 0 ? 0 : milli_here;
            }
        }
    }
    if (n_shares != g->n_shares || milli != g->milli_used || bytes != g->bytes_used ||
        memory_milli != g->memory_milli_used)
        return "a gpu's used amounts differ from the sums over its shares";
    return milli > MILLI ? "more than a whole gpu is given" : NULL;
}

static const char *check_node_gpus(struct mete_engine *e)
{
    struct gpu *g;
    struct gpu *next;

    map_each (handle, e->gpu_map, g, next) {
        const char *wrong;
        bool is_listed = g->holder == NULL;

        for (size_t i = 0; g->holder && i < g->holder->n_gpus; i++)
            is_listed = is_listed || g->holder->gpus[i] == g;
        if (!is_listed)
            return "a gpu is held by a pod that does not list it";
        if (!g->node && !g->holder && g->n_shares == 0 && (!g->parts || parts_are_free(g->parts)))
            return "an absent gpu without holders is kept";
        if (g->holder && g->n_shares > 0)
            return "a gpu is held whole and in parts";
        wrong = check_shares(e, g);
        if (!wrong && g->parts)
            wrong = parts_check_all(e, g);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *check_order(const struct queue *q)
{
    size_t waiting = q->n_on_hold;
    size_t on_hold = 0;
    size_t place = 0;
    const struct order_key *before = NULL;

    for (struct order_link *at = order_first(&q->waiting); at; at = order_next(at), place++) {
        if (order_place(at) != place || (before && !order_before(before, at->key)))
            return "the waiting workloads are not in order";
        on_hold += workload_of_all(at)->hold != METE_HOLD_NONE;
        before = at->key;
    }
    for (size_t i = 0; i < q->groups.n; i++) {
        if (q->groups.at[i]->waiting_index != i || q->groups.at[i]->queue != q)
            return "a group is not at its index in its queue";
        waiting += order_count(&q->groups.at[i]->waiting);
    }
    if (on_hold != q->n_on_hold)
        return "a queue's count of held workloads is wrong";
    return waiting == place ? NULL : "the groups do not add up to the waiting workloads";
}

const char *mete_engine_check(struct mete_engine *e)
{
    const char *wrong = check_nodes(e);
    struct workload *w;
    size_t at;
    struct queue *next_q;
    struct queue *q;

    if (!wrong)
        wrong = check_node_gpus(e);
    if (!wrong)
        wrong = queues_check(e);
    map_each (handle, e->queue_map, q, next_q) {
        if (!wrong)
            wrong = check_order(q);
    }
    if (!wrong)
        wrong = lend_check(e);
    if (!wrong && e->journal.depth != 0)
        wrong = "a trial is open";
    id_map_each (&e->workloads, at, w) {
        if (!wrong)
            wrong = check_workload(e, w);
    }
    VEC_EACH (&e->moved, moved) {
        const struct workload *by = engine_workload(e, (*moved)->moved_for);

        if (!wrong && (!by || !preempt_is_pending(e, by)))
            wrong = "a workload is moved for another that does not wait for it";
    }
    VEC_EACH (&e->preemptors, by) {
        if (!wrong && (*by)->is_placed)
            wrong = "a placed workload waits for victims";
    }
    VEC_EACH (&e->backfills, r) {
        if (!wrong && (*r)->owner->is_placed)
            wrong = "a placed workload has a backfill reservation";
    }
    if (!wrong)
        wrong = reservations_check(e);
    if (!wrong)
        wrong = claims_check(e);
    if (!wrong)
        wrong = levels_check(e);
    if (!wrong)
        wrong = group_cache_check(e);
    if (!wrong)
        wrong = affinity_check(e);
    return wrong ? wrong : search_check(e);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

uint64_t engine_hash(const struct mete_engine *e)
{
    uint64_t hash = e->order.n + affinity_hash(e);

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];

        hash = mix(mix(mix(hash, n->held), n->healthy), node_takes_pods(n));
        for (size_t k = 0; k < n->n_rooms; k++)
            hash = mix(hash, (uint64_t)n->rooms[k].used);
        for (const struct pod *p = n->pods; p; p = p->after)
            hash = mix(mix(hash, p->workload->key.id), p->n_gpus * 2 + p->is_lent);
        for (uint32_t k = 0; k < n->n_gpus; k++) {
            hash = mix(mix(hash, n->free_milli[k]),
                       n->gpus[k]->holder ? n->gpus[k]->holder->workload->key.id : 0);
            if (n->gpus[k]->parts)
                hash = parts_hash(n->gpus[k]->parts, hash);
        }
        hash = mix(hash, n->backfill ? n->backfill->owner->key.id : 0);
        if (n->backfill)
            hash = mix(hash, (uint64_t)n->backfill->nodes[n->kept_at].extra_gpus);
    }
    return queues_hash(e, reservations_hash(e, claims_hash(e, hash)));
}
