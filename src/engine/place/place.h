/* place.h - pods onto nodes and off again, and trials of whole workloads */
#pragma once

#include "engine/queue/queue.h"

struct level;

/* The nodes of one domain; without a level all there are. */
struct scope {
    const struct level *level;
    uint32_t domain;
};

/* What a workload asks for when it is tried. */
struct attempt {
    struct mete_engine *e;
    struct workload *w;
    struct shape *const *shapes; /* parallel to the group's sets; NULL: the group's own */
    int64_t now_ns;
    bool ignores_backfills;
    bool ignores_reservations;
    bool ignores_domains;
    bool is_thorough;     /* also domains of which a count says that they have no room: for texts */
    uint32_t relaxed_key; /* no domain of that label is required; 0 */
    bool ignores_claims;  /* its room was made for it */
    bool follows_claim;   /* each pod goes where the claim says */
    bool ignores_others;  /* rules about other pods */
    bool is_turn; /* in a cycle: those had their turn before it whose backfill reservation is
                     confirmed */

    struct quota_block block;       /* out: the models that it would get are over a quota */
    size_t n_placed;                /* out: how many of its pods found a node, at most */
    const struct backfill *kept;    /* out: one that it had to keep out of, or NULL */
    const struct workload *kept_by; /* out: likewise, who has a claim */

    struct scope scope; /* while it is tried: where its pods may go, */
    struct scope wide;  /* and those of all its sets */
    size_t most_placed; /* and what was reached before */
    unsigned n_returns;
};

/* The pod takes what the shape asks for on the node, and these gpus, which nobody holds. With asks
 * the pod's marks say what it takes of each. */
void pod_take(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n,
              struct gpu *const *gpus, size_t n_gpus);

/* The same, with the gpus that the policy chooses; it fits. */
void place_on(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n);

/* The pod's things are free again. */
void pod_give(struct mete_engine *e, struct pod *p);

/* The pods of one set, within the scope: false where one finds no node. For domain.c. */
bool place_set(struct mete_engine *e, struct attempt *a, uint32_t set);

/*
 * Places all pods, or as many as go: true when all. A trial must be open; undo it to take back.
 * Shapes, backfill reservations and the order are respected; that w is waiting is assumed.
 */
bool place_pods(struct mete_engine *e, struct attempt *a);

/* place_pods in a trial of its own, undone. */
bool place_would_fit(struct mete_engine *e, struct attempt *a);
