/* queue_view.c - the caller's view of queues, their check and their hash */

#include "engine/queue/queue.h"

size_t mete_queue_count(const struct mete_engine *e)
{
    return e->queues.n;
}

static uint32_t waiting_in(const struct queue *q)
{
    uint32_t n = (uint32_t)order_count(&q->waiting);

    VEC_EACH (&q->children, child) {
        n += waiting_in(*child);
    }
    return n;
}

static uint32_t held_in(const struct queue *q)
{
    uint32_t n = q->n_on_hold;

    VEC_EACH (&q->children, child) {
        n += held_in(*child);
    }
    return n;
}

/* The oldest submission among the next workloads of the queues; 0: none. Held workloads are passed
 * over, up to LOOK_MAX. */
static int64_t oldest_in(const struct queue *q)
{
    enum {
        LOOK_MAX = 64
    };
    struct order_link *at = order_first(&q->waiting);
    int64_t oldest_ns = 0;

    for (size_t i = 0; at && i < LOOK_MAX && workload_of_all(at)->hold != METE_HOLD_NONE; i++)
        at = order_next(at);
    if (at && workload_of_all(at)->hold == METE_HOLD_NONE && !workload_of_all(at)->is_extra)
        oldest_ns = at->key->submit_ns;
    VEC_EACH (&q->children, child) {
        int64_t below_ns = oldest_in(*child);

        if (below_ns > 0 && (oldest_ns == 0 || below_ns < oldest_ns))
            oldest_ns = below_ns;
    }
    return oldest_ns;
}

static uint32_t placed_in(const struct queue *q)
{
    uint32_t n = 0;

    for (const struct workload *w = q->first_placed; w; w = w->placed_after)
        n += !w->is_extra;
    VEC_EACH (&q->children, child) {
        n += placed_in(*child);
    }
    return n;
}

enum mete_result mete_queue_view(struct mete_engine *e, size_t i, struct mete_queue_view *ret)
{
    struct mete_quota_view *quotas;
    const struct queue *q;

    if (i >= e->queues.n)
        return engine_refuse(e, METE_NOT_FOUND, "there are %zu queues", e->queues.n);
    q = e->queues.at[i];
    queues_measure(e);
    arena_reset(e->answers);
    quotas = arena_alloc(e->answers, (e->counted.n + 1) * sizeof(*quotas));
    *ret = (struct mete_queue_view){
        .name = q->name,
        .weight = q->weight,
        .parent = q->parent->name,
        .waiting = waiting_in(q),
        .running = placed_in(q),
        .held = held_in(q),
        .oldest_ns = oldest_in(q),
        .gpu_milli = e->counted.n > 0 ? q->cells[COUNTED_GPU].held : 0,
        .share_ppm = decay_scale(queue_share(e, q, NULL) * q->weight, 1000000, DECAY_ONE),
        .quotas = quotas,
    };
    for (size_t k = 0; k < e->counted.n; k++) {
        const struct queue_cell *cell = &q->cells[k];

        if (!cell->has_quota)
            continue;
        quotas[ret->n_quotas++] = (struct mete_quota_view){
            .resource = intern_text(e->texts, e->counted.at[k].name),
            .nominal = cell->nominal,
            .borrow_limit =
                cell->ceiling == METE_UNLIMITED ? METE_UNLIMITED : cell->ceiling - cell->nominal,
            .held = cell->held,
            .capacity = e->counted.at[k].capacity,
        };
    }
    return METE_OK;
}

size_t mete_queue_waiting(const struct mete_engine *e, const char *queue, size_t first,
                          uint64_t *ret_ids, size_t max)
{
    struct queue *found = NULL;
    size_t n = 0;

    map_find_text(handle, e->queue_map, queue, found);
    for (struct order_link *at = found ? order_at(&found->waiting, first) : NULL; at && n < max;
         at = order_next(at))
        ret_ids[n++] = at->key->id;
    return n;
}

static const char *check_queue_sums(const struct mete_engine *e, const struct queue *q)
{
    for (size_t i = 0; i < e->counted.n; i++) {
        const struct queue_cell *cell = &q->cells[i];
        int64_t held = 0;
        int64_t secured = 0;
        int64_t below = 0;

        for (const struct workload *w = q->first_placed; w; w = w->placed_after) {
            held += w->charged[i];
            secured += w->is_secured ? w->charged[i] : 0;
        }
        VEC_EACH (&e->preemptors, w) {
            held += (*w)->queue == q ? (*w)->charged[i] : 0;
            secured += (*w)->queue == q && (*w)->is_secured ? (*w)->charged[i] : 0;
        }
        below = held;
        VEC_EACH (&q->children, child) {
            held += (*child)->cells[i].held;
            secured += (*child)->cells[i].secured;
            below += (*child)->cells[i].kept;
        }
        if (q->parent && (cell->held != held || cell->secured != secured || cell->below != below))
            return "the amount held in a queue differs from the sum over its workloads";
        if (cell->kept != (below > cell->guarantee ? below : cell->guarantee) && q->parent)
            return "the amount kept for a queue is neither the amount below it nor its guarantee";
        if (cell->has_quota && secured > cell->nominal)
            return "the secured amount is over the nominal quota";
    }
    return NULL;
}

/* The amounts that a queue's quotas, or the queues below it, guarantee. */
static const char *check_guarantees(const struct mete_engine *e, const struct queue *q)
{
    for (size_t i = 0; i < e->counted.n; i++) {
        const struct queue_cell *cell = &q->cells[i];
        int64_t guarantee = 0;

        VEC_EACH (&q->children, child) {
            guarantee += (*child)->cells[i].guarantee;
        }
        if (cell->has_quota)
            guarantee = cell->nominal > cell->lend ? cell->nominal - cell->lend : 0;
        if (cell->guarantee != guarantee)
            return "a guarantee is neither that of the queue nor the sum of those below";
    }
    return NULL;
}

/* Are the queues with waiting groups listed? */
static bool waiting_are_listed(const struct mete_engine *e)
{
    size_t n_waiting = 0;
    struct queue *next;
    struct queue *q;

    map_each (handle, e->queue_map, q, next) {
        if (q->groups.n > 0 && (q->waiting_index >= e->queues_waiting.n ||
                                e->queues_waiting.at[q->waiting_index] != q))
            return false;
        n_waiting += q->groups.n > 0;
    }
    return n_waiting == e->queues_waiting.n;
}

const char *queues_check(struct mete_engine *e)
{
    const char *wrong = NULL;
    size_t n_present = 0;
    struct queue *next;
    struct queue *q;

    map_each (handle, e->queue_map, q, next) {
        unsigned refs = (unsigned)order_count(&q->waiting);

        for (const struct workload *w = q->first_placed; w; w = w->placed_after) {
            refs++;
            if (w->queue != q || !w->is_placed)
                return "a queue lists a workload that is not placed in it";
        }
        if (refs != q->refs || (!q->is_present && refs == 0))
            return "a removed queue without workloads is left, or a queue lost a workload";
        n_present += q->is_present;
        wrong = wrong ? wrong : check_queue_sums(e, q);
        wrong = wrong ? wrong : check_guarantees(e, q);
    }
    wrong = wrong ? wrong : check_guarantees(e, e->root);
    if (!waiting_are_listed(e))
        return "a queue with waiting groups is not listed, or another one is";
    for (size_t i = 1; i < e->queues.n; i++)
        if (strcmp(e->queues.at[i - 1]->name, e->queues.at[i]->name) >= 0 ||
            e->queues.at[i - 1]->place >= e->queues.at[i]->place)
            return "the queues are not in order";
    return n_present == e->queues.n ? wrong : "a queue is not listed";
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

uint64_t queues_hash(const struct mete_engine *e, uint64_t hash)
{
    VEC_EACH (&e->queues, q) {
        for (struct order_link *at = order_first(&(*q)->waiting); at; at = order_next(at))
            hash = mix(hash, at->key->id + ((uint64_t)workload_of_all(at)->hold << 32));
        for (size_t i = 0; i < e->counted.n; i++) {
            const struct queue_cell *cell = &(*q)->cells[i];

            hash = mix(mix(mix(hash, (uint64_t)cell->held), (uint64_t)cell->secured),
                       (uint64_t)cell->kept);
        }
        hash = e->counted.n > 0 ? mix(hash, (*q)->n_running) : hash;
    }
    return hash;
}
