/* future.h - when a node will have room, from the time limits of what runs there */
#pragma once

#include "engine/state.h"

/* What is planned for a node already, on top of what is held there. */
struct need {
    const struct node *node;
    uint64_t kind; /* gpus that may serve: bits of the node */
    int64_t gpus;
    int64_t *linked; /* of these, parallel to node->links: those that have to be there */
    bool is_split;   /* some are linked, others are not, or elsewhere */
    int64_t *rooms;  /* parallel to node->rooms */
};

struct need *need_new(struct arena *a, const struct node *n);
struct need *need_copy(struct arena *a, const struct need *from);

/* Who asks, for one pod. */
struct future_ask {
    struct mete_engine *e;
    const struct workload *w; /* NULL: reservations are not looked at */
    const struct shape *s;
    int64_t now_ns;
};

struct future {
    int64_t start_ns;      /* NEVER_NS: someone who has no time limit is in the way */
    unsigned missing_gpus; /* how many must be freed first */
    uint64_t kind;         /* of which it takes its own */
    size_t link;           /* where they are linked: in node->links, of that group */
};

/* On how many gpus of the node such a pod is, were it empty. */
unsigned future_gpus(const struct node *n, const struct shape *s);

/* One more pod on top of `need` (may be NULL). False where it does not fit even once all else is
 * gone. */
bool future_of(const struct future_ask *ask, const struct node *n, const struct need *need,
               struct future *ret);

/* That pod is planned. */
void need_add(struct need *need, const struct shape *s, const struct future *f);

/* What others may take there without delaying who needs that from `start_ns` on: fills the extras.
 */
void future_extra(struct mete_engine *e, const struct need *need, int64_t start_ns, int64_t now_ns,
                  struct backfill_node *ret);
