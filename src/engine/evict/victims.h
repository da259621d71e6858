/*
 * victims.h - a set of placed workloads whose end makes room for one that waits
 *
 * The set is found node by node: for each pod the node on which room costs least, given those
 * chosen already; in the end whoever fits back beside the new one stays. Cost is the work lost
 * since the last checkpoint x gpus of the whole workload. Who may be chosen is the caller's to say:
 * preempt.c, move.c.
 */
#pragma once

#include "engine/place/level.h"
#include "engine/place/place.h"

struct victims {
    struct mete_engine *e;
    struct attempt attempt; /* of the one that waits */
    struct charge charge;   /* what it asks for */
    int64_t again_ns;       /* when the next one may be chosen */
    size_t n_candidates;
    bool has_rules; /* about other pods, that must hold: affinity_ask was asked */

    /* The nodes of attempt.scope, by name, and what a pod more costs on each. */
    struct node *const *nodes;
    size_t n_listed;
    uint64_t *costs; /* parallel to these */
    uint32_t *tree;  /* the one with the least cost; see search.c */
    size_t room;
    uint64_t spent;     /* the cost of all victims so far */
    uint64_t spent_max; /* with that much another domain is better; 0: no limit */
};

#define COST_NEVER UINT64_MAX

/* May it be chosen still? */
static inline bool victims_may_take(const struct victims *v, const struct workload *w)
{
    return w->marked_at == v->e->searches && !w->is_victim;
}

/* A domain, and what room for the gpus there costs at least, with what is spent already. */
struct victims_domain {
    uint64_t cost;
    uint32_t domain;
};

/* Those of the level within the outer scope where there can be room for so many whole gpus, the
 * cheapest first, then by name; how many. In the scratch arena. victims_bound.c */
size_t victims_order(const struct victims *v, const struct level *l, const struct scope *outer,
                     uint64_t gpus, struct victims_domain **ret);

/* Nobody is a candidate; e->victims is empty. */
void victims_begin(struct victims *v);
/* `w` may be chosen, if it may be evicted at all by now. */
void victims_allow(struct victims *v, struct workload *w);

/* In an open trial: evicts into e->victims until the quotas admit it, and until it is placed. False
 * where that cannot be. */
bool victims_make_quota(struct victims *v);
bool victims_make_room(struct victims *v);
/* Those that are not in the way stay, the dearest first. */
void victims_spare(struct victims *v);

/* They are to go for `w`; e->victims, once the trial is undone. Those that are moved stay secured
 * until they are gone: they come back. */
void victims_decide(struct mete_engine *e, struct workload *w, bool is_move);
