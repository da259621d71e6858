/*
 * claim.h - the room that a waiting workload will take: which nodes, from when to when
 *
 * The plan of conservative backfill: each workload in order, up to a depth, claims the earliest
 * time at which it fits beside the running workloads, by their time limits, and beside the claims
 * of workloads before it. Workloads behind it may start if all claims keep the room that they need.
 * A claim moves to an earlier time only, so no workload delays one before it. A workload whose
 * start is not known has no claim: see backfill.h.
 */
#pragma once

#include "engine/place/place.h"

/* A number of pods of one shape on a node. */
struct claimed {
    struct node *node;
    const struct shape *shape;
    uint32_t count;
};

struct claim {
    struct workload *owner;
    int64_t start_ns;
    int64_t end_ns; /* NEVER_NS: no time limit */
    VEC(struct claimed) parts;
    uint64_t made_at;    /* e->cycles at that time */
    uint64_t yielded_at; /* e->yields when the claim was last checked */
    size_t index;        /* in e->claims */
};

/* A claim's start or end on a node. */
struct edge {
    int64_t at_ns;
    const struct claim *claim;
    const struct shape *shape;
    uint32_t count;
    bool is_end;
};

/* The end of a holder on a node, and the gpus that it gives back. */
struct claim_ending {
    int64_t at_ns;
    uint64_t gpus; /* bits */
    const struct pod *pod;
};

/* The claims and endings of a node, by time. */
struct timeline {
    VEC(struct edge) edges;           /* by time, ends first */
    VEC(struct claim_ending) endings; /* by time */
    bool is_stale;                    /* the endings are out of date, and there are no rows */
    int64_t *rows;                    /* see claim_levels.c; NULL: not computed */
    size_t row_size;
    size_t n_rows;
    size_t rows_room;
};

/* Is room kept by claims? */
bool claims_in_use(const struct mete_engine *e);

/* At a cycle's start. Workloads whose claim is due have their turn, even if their group has failed.
 * When something was freed and a period is over, this cycle looks for an earlier time for every
 * claim. */
void claims_begin(struct mete_engine *e, int64_t now_ns);
void claims_end(struct mete_engine *e);

/* Gives `w`, which cannot start now, a claim for a later time. False: that time is not known. */
bool claim_keep(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* Have all waiting workloads of the group claims, and does this cycle leave claims as they are? */
bool claims_suffice(const struct mete_engine *e, const struct group *g);

/* Has the start of the workload's claim come? The workload starts now or claims anew. */
bool claim_is_late(const struct mete_engine *e, const struct workload *w, int64_t now_ns);

enum {
    CLAIM_KIN_MAX = 64
};

/* Lists workloads behind `w` in its group with claims on nodes that changed since the group's last
 * try. `w` cannot start with its own claim; as the first of the group it may start with one of
 * theirs. */
size_t claim_kin(const struct mete_engine *e, const struct workload *w,
                 struct workload *kin[static CLAIM_KIN_MAX]);

/* Swaps the claims of two workloads of one group. */
void claims_swap(struct workload *a, struct workload *b);

/* The workload's end if it started now. A workload whose claim is due ends with the claim, although
 * it starts a moment late: the next claim is not pushed back for that. */
int64_t claim_end_ns(const struct workload *w, int64_t now_ns);

/* May a pod of this shape be on the node from now on, beside the claims that bind `a->w`? If not,
 * a->kept_by is set to the owner of the claim in the way. */
bool claim_allows(struct mete_engine *e, struct attempt *a, const struct shape *s, struct node *n);

/* `w` was placed: workloads behind it (`from_all`: all) whose claims do not fit any more have to
 * claim anew. */
void claims_yield(struct mete_engine *e, const struct workload *w, bool from_all);

void claim_drop_of(struct mete_engine *e, const struct workload *w);
void claims_drop_node(struct mete_engine *e, struct node *n);
void claims_drop_all(struct mete_engine *e);
void claims_drop_queue(struct mete_engine *e, const struct queue *q);

/* All claims, put aside for a plan that will be given up. Meanwhile `use` of USE_STEPS of each time
 * limit counts (0: all). claims_put_back drops the claims of that plan and restores the engine's
 * counters. */
struct claims_aside {
    struct claim **at;
    size_t n;
    uint64_t eased;
    uint64_t version;
    uint64_t unclaimed;
};
struct claims_aside claims_put_aside(struct mete_engine *e, uint32_t use);
void claims_put_back(struct mete_engine *e, struct claims_aside *aside);

/* The part of a time limit that counts: see claims_put_aside. */
int64_t claim_length_ns(const struct mete_engine *e, int64_t limit_ns);

/* NULL, or the first contradiction. */
const char *claims_check(const struct mete_engine *e);
uint64_t claims_hash(const struct mete_engine *e, uint64_t hash);

/* claim_find.c */
/* A workload that looks for room; `own`: its claim in the making, may be NULL. */
struct claim_asker {
    struct mete_engine *e;
    const struct workload *w;
    const struct claim *own;
    int64_t now_ns;
    int64_t length_ns;              /* NEVER_NS: no time limit */
    bool all_bind;                  /* no claim's owner is behind `w`, or `w` has a claim itself */
    bool saw_behind;                /* out: claims of workloads behind `w` are there */
    const struct workload *kept_by; /* out: owner of the first claim in the way */
};

/* Is `owner` before the asker in the order? Between queues: as of the asker's making. */
bool claim_is_before(const struct claim_asker *a, const struct workload *owner);

struct timeline *timeline_of(struct node *n);
void timeline_add(struct node *n, const struct claim *c, const struct claimed *part);
void timeline_drop(struct node *n, const struct claim *c);
void timeline_free(struct node *n);
/* The first end of a holder on the node; NEVER_NS. */
int64_t timeline_first_end(const struct mete_engine *e, struct node *n);
/* The claim of an edge. */
struct claim *timeline_claim(const struct timeline *t, size_t edge);

/* claim_levels.c: for nodes whose gpus are alike, and pods that take whole gpus. Do the levels
 * serve such a pod on the node? */
bool levels_serve(const struct node *n, const struct shape *s);
/* As claim_find, but all claims bind. The endings are not stale. */
int64_t levels_search(struct timeline *t, const struct node *n, const struct shape *s,
                      int64_t length_ns, int64_t from_ns);
void levels_claim(struct timeline *t, const struct node *n, const struct claim *c,
                  const struct claimed *part);
void levels_forget(struct timeline *t);
/* The index of the row of that moment. */
size_t levels_find(const struct timeline *t, int64_t at_ns);

/* The earliest time from `from_ns` on at which such a pod fits on the node for as long as it may
 * run; NEVER_NS. */
int64_t claim_find(struct claim_asker *a, struct node *n, const struct shape *s, int64_t from_ns);
/* Is that time now? */
bool claim_fits_now(struct claim_asker *a, struct node *n, const struct shape *s);
