/*
 * elastic.h - workloads that grow and shrink
 *
 * What a workload needs at least is one as any other. Each pod beyond that is an extra: inside it
 * is a workload of its own, of one pod, behind everybody in its queue, that waits only while the
 * whole is placed, is never secured, evicts nobody, and is evicted before others wherever evicting
 * is allowed. Outside all are one: see workload_id. A caller that keeps count itself says of a
 * workload of its own that it is_extra: then it is the same, but has its name, and waits by itself.
 */
#pragma once

#include "engine/state.h"

#define ELASTIC_EXTRA_IDS (UINT64_C(1) << 63) /* from here on are theirs */

/* The id by which the caller knows it. */
static inline uint64_t workload_id(const struct workload *w)
{
    return w->whole ? w->whole->key.id : w->key.id;
}

/* How many pods it needs at least. */
static inline uint32_t elastic_least(const struct mete_pod_set *set)
{
    return set->min_count > 0 ? set->min_count : set->count;
}

/* `from` as one that is_extra. */
struct mete_workload elastic_extra_of(const struct mete_workload *from);

/* METE_INVALID, with a message, where it cannot be. */
enum mete_result elastic_check(struct mete_engine *e, const struct mete_workload *w);

/* Those of `w`, which has just been entered; they wait where it is placed, but for those in the
 * placement (NULL: none), whose pods must be good: see elastic_restore. */
void elastic_make(struct mete_engine *e, struct workload *w, const struct mete_workload *from);
/* The pods of the placement beyond what it needs at least. */
enum mete_result elastic_restore(struct mete_engine *e, struct workload *w,
                                 const struct mete_placement *placement);
/* The whole has its place, or has lost it; or is about to be freed. */
void elastic_release(struct mete_engine *e, struct workload *w);
void elastic_hold(struct mete_engine *e, struct workload *w);
void elastic_free(struct mete_engine *e, struct workload *w);

/* NULL, or what is wrong. */
const char *elastic_check_state(const struct workload *w);
