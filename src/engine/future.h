/* future.h - when a node will have room, from the time limits of what runs there */
#pragma once

#include "engine/state.h"

/* What is planned for a node already, on top of what is held there. */
struct need {
    const struct node *node;
    uint64_t kind; /* gpus that may serve: bits of the node */
    int64_t gpus;
    int64_t *rooms; /* parallel to node->rooms */
};

struct need *need_new(struct arena *a, const struct node *n);
struct need *need_copy(struct arena *a, const struct need *from);
void need_add(struct need *need, const struct shape *s);

struct future {
    int64_t start_ns;      /* NEVER_NS: someone who has no time limit is in the way */
    unsigned missing_gpus; /* how many must be freed first */
};

/* On how many gpus of the node such a pod is, were it empty. */
unsigned future_gpus(const struct node *n, const struct shape *s);

/* One more pod on top of `need` (may be NULL). False where it does not fit even once all else is
 * gone. */
bool future_of(struct mete_engine *e, const struct node *n, const struct need *need,
               const struct shape *s, int64_t now_ns, struct future *ret);

/* What others may take there without delaying who needs that from `start_ns` on: fills the extras.
 */
void future_extra(struct mete_engine *e, const struct need *need, int64_t start_ns, int64_t now_ns,
                  struct reserved_node *ret);
