/* fit.h - may a pod go to a node, and to which of its gpus; no state changes here */
#pragma once

#include "engine/state.h"

bool fit_labels(const struct node *n, const struct shape *s);
/* Its labels and the node terms. */
bool fit_wanted(const struct node *n, const struct shape *s);

/* The first taint that keeps pods away and is not tolerated, or NULL. */
const struct taint *fit_taint(const struct node *n, const struct shape *s);
/* How many PreferNoSchedule taints are not tolerated. */
unsigned fit_disliked(const struct node *n, const struct shape *s);

/* Name, labels, taints, model: what stays as it is when jobs come and go. */
bool fit_kind(const struct node *n, const struct shape *s);

/* All requests, gpus apart, within what is free; with `is_empty` within the capacity. */
bool fit_rooms(const struct node *n, const struct shape *s, bool is_empty);

/* Has the gpu that much memory left beside its shares? */
bool fit_share_memory(const struct gpu *g, const struct shape *s);

/* Those of `gpus` that have room for one share. */
uint64_t fit_shares(const struct node *n, const struct shape *s, uint64_t gpus);

/* Does the node have the gpus that a pod asks for now? */
bool fit_gpus_now(const struct node *n, const struct shape *s);

/* Those of `gpus` in the link group with the fewest of them that has `count`; 0 where none has. */
uint64_t fit_linked(const struct node *n, uint64_t gpus, unsigned count);

/* How many of `gpus` one pod could have at once: for linked ones the most in one link group. */
unsigned fit_together(const struct node *n, const struct shape *s, uint64_t gpus);

/* The gpus that a pod of this shape, which has no asks, could be given now. */
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

/* Everything, now, within the bars of reservations. A backfill reservation on the node is not
 * looked at. */
bool fit_now(const struct node *n, const struct shape *s);

/* Everything, if the node were empty, healthy, ready and not cordoned: how many such pods; 0: none.
 */
uint64_t fit_empty(const struct node *n, const struct shape *s);

/*
 * Which of `free` a pod with `count` gpus gets: of one model if possible; of one link group, else
 * of one NUMA node; out of the group with the fewest free, so that large groups stay whole; the
 * lowest bits of those. `free` has at least `count`.
 */
uint64_t devices_choose(const struct node *n, uint64_t free, unsigned count);

/* Those of `free` that are not cut into slices, where there are `count` of them; else all. */
uint64_t devices_uncut(const struct node *n, uint64_t free, unsigned count);

/* Shares: the gpus with the least left, the lowest bits of those. `free` has at least s->gpus. */
uint64_t devices_best_fit(const struct node *n, const struct shape *s, uint64_t free);

/* 2: within one link group (or one gpu), 1: on one NUMA node, 0: neither. */
unsigned devices_quality(const struct node *n, uint64_t free, unsigned count);

static inline unsigned bits(uint64_t set)
{
    return (unsigned)__builtin_popcountll(set);
}
