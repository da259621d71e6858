/* future.h - when a node will have room, by the time limits of its running pods */
#pragma once

#include "engine/state.h"

/* The pods planned for a node, on top of those that hold something there. */
struct need {
    const struct node *node;
    uint64_t kind; /* gpus that may serve: bits of the node */
    int64_t gpus;
    int64_t *linked; /* of these, gpus that have to be in one link group; parallel to node->links */
    bool is_split;   /* some gpus are linked, others are not or in another link group */
    int64_t *rooms;  /* parallel to node->rooms */
};

struct need *need_new(struct arena *a, const struct node *n);
struct need *need_copy(struct arena *a, const struct need *from);

/* A question about one pod. */
struct future_ask {
    struct mete_engine *e;
    const struct workload *w; /* NULL: reservations are ignored */
    const struct shape *s;
    int64_t now_ns;
};

struct future {
    int64_t start_ns;      /* NEVER_NS: a holder without a time limit is in the way */
    unsigned missing_gpus; /* gpus that must be freed first */
    uint64_t kind;         /* gpus that the pod may take: bits of the node */
    size_t link;           /* of a linked pod: index in node->links */
};

/* The number of gpus that such a pod would take on the node if the node were empty. */
unsigned future_gpus(const struct node *n, const struct shape *s);

/* When can one more pod start, on top of `need` (may be NULL)? False: never, not even once all pods
 * have left the node. */
bool future_of(const struct future_ask *ask, const struct node *n, const struct need *need,
               struct future *ret);

/* Adds that pod to the plan. */
void need_add(struct need *need, const struct shape *s, const struct future *f);

/* Fills the extras: the room that other workloads may take on the node without delaying one that
 * needs `need` from `start_ns` on. */
void future_extra(struct mete_engine *e, const struct need *need, int64_t start_ns, int64_t now_ns,
                  struct backfill_node *ret);
