/* place.h - placing pods and whole workloads, and giving back what pods hold */
#pragma once

#include "engine/queue/queue.h"

struct level;

/* The nodes of one domain; a NULL level: all nodes. */
struct scope {
    const struct level *level;
    uint32_t domain;
};

/* A try to place a workload: its options, and its outcome. */
struct attempt {
    struct mete_engine *e;
    struct workload *w;
    struct shape *const *shapes; /* parallel to the group's sets; NULL: the group's own */
    int64_t now_ns;
    bool ignores_backfills;
    bool ignores_reservations;
    bool ignores_domains;
    bool is_thorough;     /* tries also domains without room by the count: for texts */
    uint32_t relaxed_key; /* a label whose domains are not required in this try; 0: none */
    bool ignores_claims;  /* evictions made the room for this workload */
    bool follows_claim;   /* each pod goes to its node in the claim */
    bool ignores_others;  /* rules about other pods */
    bool is_turn; /* in a cycle: owners of confirmed backfill reservations had their turn before */

    struct quota_block block;    /* out: the quota that the models of the placement would exceed */
    size_t n_placed;             /* out: the most pods that found a node */
    const struct backfill *kept; /* out: a backfill reservation in the way, or NULL */
    const struct workload *kept_by; /* out: the owner of a claim in the way, or NULL */

    struct scope scope; /* during the try: the nodes for the present set, */
    struct scope wide;  /* and the nodes for all sets */
    size_t most_placed; /* n_placed of the best earlier domain */
    unsigned n_returns;
};

/* Gives the pod the shape's requests on the node, and these gpus, which must be free. With asks,
 * the pod's marks say what the pod takes of each gpu. */
void pod_take(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n,
              struct gpu *const *gpus, size_t n_gpus);

/* The same, with the gpus that the policy chooses. The pod must fit. */
void place_on(struct mete_engine *e, struct pod *p, const struct shape *s, struct node *n);

/* Frees what the pod holds. */
void pod_give(struct mete_engine *e, struct pod *p);

/* Places the pods of one set within the scope. False: a pod found no node. For domain.c. */
bool place_set(struct mete_engine *e, struct attempt *a, uint32_t set);

/*
 * Places all pods, or some and returns false. A trial must be open; undo it to take back. Respects
 * shapes, backfill reservations and the order. The workload must be waiting.
 */
bool place_pods(struct mete_engine *e, struct attempt *a);

/* Would place_pods succeed? Tries in a trial of its own. */
bool place_would_fit(struct mete_engine *e, struct attempt *a);
