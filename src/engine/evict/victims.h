/*
 * victims.h - a set of placed workloads whose end makes room for a waiting one
 *
 * The set is found node by node: for each pod the node on which room costs least, given the victims
 * chosen so far. In the end victims that fit back beside the new workload are spared. A victim's
 * cost is its work since the last checkpoint x the gpus of the whole workload. The callers,
 * preempt.c and move.c, say which workloads may be chosen.
 */
#pragma once

#include "engine/evict/lend.h"
#include "engine/place/level.h"
#include "engine/place/place.h"

struct victims {
    struct mete_engine *e;
    struct attempt attempt; /* of the waiting workload */
    struct charge charge;   /* of the waiting workload */
    int64_t again_ns;       /* when the next protected workload may be chosen */
    size_t n_candidates;
    bool suspends;  /* where the rules of classes say so: cpus alone come back */
    bool has_rules; /* required rules about other pods: affinity_ask was called */

    /* The nodes of attempt.scope, by name, and the cost of one more pod on each. */
    struct node *const *nodes;
    size_t n_listed;
    uint64_t *costs; /* parallel to the nodes */
    uint32_t *tree;  /* a winner tree: the node with the least cost; see search.c */
    size_t room;
    uint64_t spent;     /* the cost of all victims so far */
    uint64_t spent_max; /* the best domain's cost so far: stop there; 0: no limit */
};

#define COST_NEVER UINT64_MAX

/* May the workload still be chosen? */
static inline bool victims_may_take(const struct victims *v, const struct workload *w)
{
    return w->marked_at == v->e->searches && !w->is_victim;
}

/* Is the candidate suspended instead of ended? */
static inline bool victims_suspend(const struct victims *v, const struct workload *w)
{
    return v->suspends && lend_may_suspend(v->e, v->attempt.w, w);
}

/* A domain, and a lower bound of the cost of room for the gpus there, with the cost spent so far.
 */
struct victims_domain {
    uint64_t cost;
    uint32_t domain;
};

/* victims_bound.c: lists the level's domains within the outer scope that can have room for that
 * number of whole gpus, by bound, then by name; returns their number. The list is in the scratch
 * arena. */
size_t victims_order(const struct victims *v, const struct level *l, const struct scope *outer,
                     uint64_t gpus, struct victims_domain **ret);

/* Begins a search: no candidates, and e->victims is empty. */
void victims_begin(struct victims *v);
/* Makes `w` a candidate, unless it is protected from eviction. */
void victims_allow(struct victims *v, struct workload *w);

/* In an open trial: evicts candidates, into e->victims, until the quotas admit the waiting
 * workload; until it is placed. False: not even with all candidates gone. */
bool victims_make_quota(struct victims *v);
bool victims_make_room(struct victims *v);
/* Spares victims that are not in the way, the most expensive first. */
void victims_spare(struct victims *v);

/* After the trial's undo: decides to evict e->victims for `w`. Moved victims stay secured until
 * they are gone, since they come back. */
void victims_decide(struct mete_engine *e, struct workload *w, bool is_move);
