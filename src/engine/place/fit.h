/* fit.h - may a pod go to a node, and to which gpus? Changes no state */
#pragma once

#include "engine/state.h"

bool fit_labels(const struct node *n, const struct shape *s);
/* The selector and the node terms. */
bool fit_wanted(const struct node *n, const struct shape *s);

/* The first NoSchedule or NoExecute taint that the pod does not tolerate, or NULL. */
const struct taint *fit_taint(const struct node *n, const struct shape *s);
/* The number of PreferNoSchedule taints that the pod does not tolerate. */
unsigned fit_disliked(const struct node *n, const struct shape *s);

/* Name, labels, taints, model: conditions that do not depend on what runs. */
bool fit_kind(const struct node *n, const struct shape *s);

/* Are all requests but gpus within the free amounts, or with `is_empty` within the capacity? */
bool fit_rooms(const struct node *n, const struct shape *s, bool is_empty);

/* Has the gpu enough memory left for one such share? */
bool fit_share_memory(const struct gpu *g, const struct shape *s);

/* The gpus of `gpus` with room for one such share. */
uint64_t fit_shares(const struct node *n, const struct shape *s, uint64_t gpus);

/* Does the node have the gpus for a pod now? */
bool fit_gpus_now(const struct node *n, const struct shape *s);

/* The gpus of `gpus` in the smallest link group that has `count` of them; 0: none has. */
uint64_t fit_linked(const struct node *n, uint64_t gpus, unsigned count);

/* The most of `gpus` that one pod can have: of linked gpus, the most in one link group. */
unsigned fit_together(const struct node *n, const struct shape *s, uint64_t gpus);

/* The free gpus for a pod of this shape, which has no asks. */
static inline uint64_t fit_gpus(const struct node *n, const struct shape *s)
{
    uint64_t free;

    if (s->gpus == 0)
        return 0;
    if (shape_is_share(s))
        return fit_shares(n, s,
                          n->healthy & (~n->held | n->shared) & node_gpus_of(n, s) & ~n->barred);
    free = n->healthy & ~n->held & node_gpus_of(n, s) & ~n->barred;
    return s->is_linked ? fit_linked(n, free, s->gpus) : free;
}

/* All conditions, now, within the bars of advance reservations. Ignores backfill reservations. */
bool fit_now(const struct node *n, const struct shape *s);

/* The number of such pods that the node holds when empty, healthy, ready and not cordoned. */
uint64_t fit_empty(const struct node *n, const struct shape *s);

/*
 * The gpus of `free` that a pod with `count` gpus gets: of one model if possible; of one link
 * group, else of one NUMA node; from the group with the fewest free gpus, so that large groups stay
 * whole; the lowest bits of that group. `free` has at least `count`.
 */
uint64_t devices_choose(const struct node *n, uint64_t free, unsigned count);

/* The gpus of `free` without slices, if there are `count` of them; else all of `free`. */
uint64_t devices_uncut(const struct node *n, uint64_t free, unsigned count);

/* For shares: the s->gpus gpus with the least left, lowest bits first. `free` has at least s->gpus.
 */
uint64_t devices_best_fit(const struct node *n, const struct shape *s, uint64_t free);

/* The best locality of `count` of the free gpus. 2: one link group, or one gpu; 1: one NUMA node;
 * 0: neither. */
unsigned devices_quality(const struct node *n, uint64_t free, unsigned count);

static inline unsigned bits(uint64_t set)
{
    return (unsigned)__builtin_popcountll(set);
}
