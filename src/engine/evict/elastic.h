/*
 * elastic.h - workloads that grow and shrink
 *
 * The minimum of a workload (the whole) is a workload like any other. Each pod beyond the minimum
 * is an extra: inside the engine a workload of one pod, behind all others in its queue. An extra
 * waits only while the whole is placed, is never secured, evicts nobody, and is evicted before
 * others wherever evictions are allowed. Callers see whole and extras as one: see workload_id. A
 * caller that counts pods itself may pass a workload with is_extra: it is treated alike, but has a
 * name of its own and waits by itself.
 */
#pragma once

#include "engine/state.h"

#define ELASTIC_EXTRA_IDS (UINT64_C(1) << 63) /* ids of extras begin here */

/* The id by which the caller knows the workload. */
static inline uint64_t workload_id(const struct workload *w)
{
    return w->whole ? w->whole->key.id : w->key.id;
}

/* The minimum number of pods of a set. */
static inline uint32_t elastic_least(const struct mete_pod_set *set)
{
    return set->min_count > 0 ? set->min_count : set->count;
}

/* `from` as an extra: the lowest priority, no evictions for it, no protected run time. */
struct mete_workload elastic_extra_of(const struct mete_workload *from);

/* METE_INVALID, with a message: the workload cannot have such extras. */
enum mete_result elastic_check(struct mete_engine *e, const struct mete_workload *w);

/* Makes the extras of `w`, which has just been entered. They wait if `w` is placed; else they are
 * held. */
void elastic_make(struct mete_engine *e, struct workload *w, const struct mete_workload *from);
/* Places the extras whose pods are in the placement. */
enum mete_result elastic_restore(struct mete_engine *e, struct workload *w,
                                 const struct mete_placement *placement);
/* Releases the extras, whose whole was placed; holds them when it lost its place; frees them before
 * it is freed. */
void elastic_release(struct mete_engine *e, struct workload *w);
void elastic_hold(struct mete_engine *e, struct workload *w);
void elastic_free(struct mete_engine *e, struct workload *w);

/* NULL, or the first contradiction. */
const char *elastic_check_state(const struct workload *w);
