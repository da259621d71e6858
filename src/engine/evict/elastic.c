/* elastic.c - extras: made, placed, held and freed with their whole */

#include "engine/evict/elastic.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/evict/move.h"
#include "engine/evict/preempt.h"
#include "engine/plan/backfill.h"
#include "engine/record/record.h"

enum mete_result elastic_check(struct mete_engine *e, const struct mete_workload *w)
{
    for (size_t i = 0; i < w->n_pod_sets; i++) {
        const struct mete_pod_set *set = &w->pod_sets[i];

        if (w->is_extra && elastic_least(set) < set->count)
            return engine_refuse(e, METE_INVALID,
                                 "pod set %zu: min_count %u of %u: all pods of an extra are beyond "
                                 "the minimum",
                                 i, set->min_count, set->count);
        if (set->min_count > set->count)
            return engine_refuse(e, METE_INVALID, "pod set %zu: min_count %u is over its count %u",
                                 i, set->min_count, set->count);
        if (elastic_least(set) < set->count && (set->n_domains > 0 || w->n_domains > 0))
            return engine_refuse(e, METE_INVALID,
                                 "pod set %zu: min_count %u of %u: elastic pods are not "
                                 "implemented within domains",
                                 i, set->min_count, set->count);
    }
    return METE_OK;
}

struct mete_workload elastic_extra_of(const struct mete_workload *from)
{
    struct mete_workload w = *from;

    w.is_extra = true;
    w.priority = INT32_MIN;
    w.never_preempts = true;
    w.min_run_ns = 0;
    return w;
}

static void elastic_make_extra(struct mete_engine *e, struct workload *whole,
                               const struct mete_workload *from, uint32_t set, uint32_t pod)
{
    struct mete_pod_set one = from->pod_sets[set];
    struct mete_workload w = elastic_extra_of(from);
    struct workload *extra = NULL;

    one.count = 1;
    one.min_count = 0;
    w.is_preemptible = true;
    w.id = ELASTIC_EXTRA_IDS + ++e->n_extras_made;
    w.pod_sets = &one;
    w.n_pod_sets = 1;
    if (workload_make(e, &w, &extra) != METE_OK)
        return; /* the same request passed for the whole */
    extra->whole = whole;
    extra->as_set = set;
    extra->as_pod = pod;
    extra->hold = whole->is_placed ? METE_HOLD_NONE : METE_HOLD_GATED;
    vec_add(&whole->extras, extra);
    workload_enter(e, extra);
    group_wait(e, extra);
}

void elastic_make(struct mete_engine *e, struct workload *w, const struct mete_workload *from)
{
    for (uint32_t i = 0; i < from->n_pod_sets; i++)
        for (uint32_t k = elastic_least(&from->pod_sets[i]); k < from->pod_sets[i].count; k++)
            elastic_make_extra(e, w, from, i, k);
}

static struct workload *elastic_find(const struct workload *w, uint32_t set, uint32_t pod)
{
    VEC_EACH (&w->extras, x) {
        if ((*x)->as_set == set && (*x)->as_pod == pod)
            return *x;
    }
    return NULL;
}

enum mete_result elastic_restore(struct mete_engine *e, struct workload *w,
                                 const struct mete_placement *placement)
{
    for (size_t i = 0; i < placement->n_pods; i++) {
        struct mete_pod_placement at = placement->pods[i];
        struct workload *x = elastic_find(w, at.pod_set, at.pod);
        struct mete_placement one = {.pods = &at, .n_pods = 1};
        enum mete_result result;

        if (!x)
            continue;
        at.pod_set = 0;
        at.pod = 0;
        if (x->is_placed)
            return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": pod %u is placed twice",
                                 w->key.id, placement->pods[i].pod);
        group_unwait(e, x);
        result = workload_restore_pods(e, x, &one);
        if (result != METE_OK) {
            group_wait(e, x);
            return result;
        }
        workload_placed(e, x, w->started_ns);
        x->end_ns = w->end_ns;
    }
    return METE_OK;
}

static void elastic_set_hold(struct mete_engine *e, struct workload *x, enum mete_hold hold)
{
    group_unwait(e, x);
    x->hold = hold;
    group_wait(e, x);
}

void elastic_release(struct mete_engine *e, struct workload *w)
{
    VEC_EACH (&w->extras, x) {
        elastic_set_hold(e, *x, METE_HOLD_NONE);
    }
}

void elastic_hold(struct mete_engine *e, struct workload *w)
{
    VEC_EACH (&w->extras, x) {
        if ((*x)->is_placed) {
            workload_give(e, *x);
            group_wait(e, *x);
        }
        elastic_set_hold(e, *x, METE_HOLD_GATED);
    }
}

void elastic_free(struct mete_engine *e, struct workload *w)
{
    VEC_EACH (&w->extras, x) {
        if ((*x)->is_placed)
            workload_give(e, *x);
        else
            group_unwait(e, *x);
        move_forget(e, *x);
        id_map_remove(&e->workloads, (*x)->key.id);
        workload_free(e, *x);
    }
    vec_done(&w->extras);
}

enum mete_result mete_workload_shrink(struct mete_engine *e, uint64_t id, uint32_t pod_set,
                                      uint32_t pod)
{
    struct workload *w = engine_workload(e, id);
    struct workload *x;

    if (!w || !w->is_placed)
        return engine_refuse(e, METE_NOT_FOUND, "workload %" PRIu64 " is not placed", id);
    x = elastic_find(w, pod_set, pod);
    if (!x)
        return engine_refuse(e, METE_INVALID,
                             "workload %" PRIu64
                             ": pod %u of pod set %u is not beyond its min_count",
                             id, pod, pod_set);
    if (!x->is_placed)
        return engine_refuse(e, METE_NOT_FOUND,
                             "workload %" PRIu64 ": pod %u of pod set %u is not placed", id, pod,
                             pod_set);
    record_call(e, RECORD_WORKLOAD_SHRINK, &(struct record_shrink){id, pod_set, pod});
    workload_give(e, x);
    group_wait(e, x);
    e->version++;
    return METE_OK;
}

const char *elastic_check_state(const struct workload *w)
{
    if (w->whole && w->is_placed && !w->whole->is_placed)
        return "an extra is placed, and its whole is not";
    if (w->whole && !w->is_placed && (w->hold == METE_HOLD_NONE) != w->whole->is_placed)
        return "an extra waits while its whole does, or is held while its whole is placed";
    if (w->is_extra && (w->is_secured || w->claim || w->key.points != INT64_MIN))
        return "an extra is secured, has a claim, or is not behind all others";
    return NULL;
}
