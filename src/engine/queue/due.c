/* due.c - places in the order by size */

#include "engine/queue/due.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/queue/sizes.h"
#include "engine/record/record.h"

#define NS_PER_SEC INT64_C(1000000000)

/* The size in gpu seconds; a workload without gpus counts as one gpu. */
static int64_t due_size(struct mete_engine *e, const struct workload *w)
{
    struct charge c;
    int64_t milli;
    int64_t size = 0;

    charge_of(e, w, NULL, &c);
    milli = c.at[COUNTED_GPU] > 0 ? c.at[COUNTED_GPU] : MILLI;
    if (__builtin_mul_overflow(w->estimate_ns / NS_PER_SEC, milli, &size))
        return SIZE_MAX_S;
    return size / MILLI < SIZE_MAX_S ? size / MILLI : SIZE_MAX_S;
}

int64_t due_of(struct mete_engine *e, const struct workload *w)
{
    int64_t submit_s = w->key.submit_ns / NS_PER_SEC;

    if (!e->fairness.by_size)
        return 0;
    return w->estimate_ns > 0 ? sizes_due(e->sizes, due_size(e, w), submit_s) : submit_s;
}

void due_learn(struct mete_engine *e, struct workload *w)
{
    if (!e->fairness.by_size)
        return;
    if (w->estimate_ns > 0)
        sizes_add(e->sizes, due_size(e, w));
    w->key.due_s = due_of(e, w);
}

void due_stopped(struct mete_engine *e, struct workload *w)
{
    if (e->fairness.by_size)
        w->key.due_s = due_of(e, w);
}

void due_check(struct mete_engine *e, int64_t now_ns)
{
    if (!e->fairness.by_size)
        return;
    VEC_EACH (&e->queues, q) {
        for (struct workload *w = (*q)->first_placed; w; w = w->placed_after) {
            int64_t ran_ns = w->started_ns > 0 ? now_ns - w->started_ns : 0;

            if (w->estimate_ns == 0 || ran_ns < w->estimate_ns)
                continue;
            w->estimate_ns = sizes_estimate(w->estimate_ns, ran_ns, 60 * NS_PER_SEC);
            w->key.due_s = due_of(e, w);
        }
    }
}

void due_switch(struct mete_engine *e)
{
    size_t at;
    struct workload *w;

    free(e->sizes);
    e->sizes = e->fairness.by_size ? mem_alloc(sizeof(*e->sizes)) : NULL;
    id_map_each (&e->workloads, at, w) {
        if (e->sizes && w->estimate_ns > 0)
            sizes_add(e->sizes, due_size(e, w));
    }
    id_map_each (&e->workloads, at, w) {
        if (w->is_placed)
            w->key.due_s = due_of(e, w); /* waiting workloads: points_begin */
    }
}

enum mete_result mete_workload_estimate(struct mete_engine *e, uint64_t id, int64_t estimate_ns)
{
    struct workload *w = engine_workload(e, id);
    bool waits;

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    if (estimate_ns < 0)
        return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": a time is negative", id);
    record_call(e, RECORD_WORKLOAD_ESTIMATE, &(struct record_estimate){id, estimate_ns});
    waits = !w->is_placed;
    if (waits)
        group_unwait(e, w);
    w->estimate_ns = estimate_ns;
    w->key.due_s = due_of(e, w);
    if (waits)
        group_wait(e, w);
    e->version++;
    return METE_OK;
}
