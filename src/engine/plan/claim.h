/*
 * claim.h - what a workload that waits will take: where, and from when to when
 *
 * The plan of conservative backfill: each workload in order, up to a depth, claims the earliest
 * time at which it fits beside what runs, by time limits, and beside the claims of those before it.
 * Those behind may start where that leaves all claims what they need. A claim moves to an earlier
 * time only, so nobody is ever delayed by who comes later. What has no known end has no claim: see
 * backfill.h.
 */
#pragma once

#include "engine/place/place.h"

/* So many pods of a kind on a node. */
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
    uint64_t made_at;    /* e->cycles */
    uint64_t yielded_at; /* e->yields when it was looked at */
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

/* What a holder on a node gives back. */
struct ending {
    int64_t at_ns;
    uint64_t gpus; /* bits */
    const struct pod *pod;
};

/* A node's future: made at its first claim, gone with its last. */
struct timeline {
    VEC(struct edge) edges;     /* by time, ends first */
    VEC(struct ending) endings; /* by time */
    bool is_stale;              /* the endings; there are no rows then */
    int64_t *rows;              /* see claim_levels.c; NULL: not known */
    size_t row_size;
    size_t n_rows;
    size_t rows_room;
};

/* Is room kept by claims? */
bool claims_in_use(const struct mete_engine *e);

/* At the start of a cycle: claims that are due have their turn, also where their kind has failed;
 * when something was freed and a period is over all are looked at for an earlier time. */
void claims_begin(struct mete_engine *e, int64_t now_ns);
void claims_end(struct mete_engine *e);

/* `w`, which cannot start now, has a claim for a later time; else false: its time is not known. */
bool claim_keep(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* Have all of the group that wait a claim that needs no look in this cycle? */
bool claims_suffice(const struct mete_engine *e, const struct group *g);

/* The time of its claim has come, so it starts now or claims anew. */
bool claim_is_late(const struct mete_engine *e, const struct workload *w, int64_t now_ns);

enum {
    CLAIM_KIN_MAX = 64
};

/* Those of its group behind `w`, which cannot start, who have claims on nodes that changed since
 * one of the group was tried: what they claimed may do now, for whoever of the group is first. */
size_t claim_kin(const struct mete_engine *e, const struct workload *w,
                 struct workload *kin[static CLAIM_KIN_MAX]);

/* Two of one group, both with a claim, take each other's. */
void claims_swap(struct workload *a, struct workload *b);

/* Until when it counts, were it to start now: one whose claim is due, until that ends. It may be
 * late by a moment, and who comes next is not pushed back for that before it is true. */
int64_t claim_end_ns(const struct workload *w, int64_t now_ns);

/* May a pod of this shape be on the node from now on, beside the claims that bind `a->w`? Says in
 * a->kept_by who is in the way. */
bool claim_allows(struct mete_engine *e, struct attempt *a, const struct shape *s, struct node *n);

/* `w` has been placed over the claims of some behind it, or of anybody: they are to claim anew. */
void claims_yield(struct mete_engine *e, const struct workload *w, bool from_all);

void claim_drop_of(struct mete_engine *e, const struct workload *w);
void claims_drop_node(struct mete_engine *e, struct node *n);
void claims_drop_all(struct mete_engine *e);
void claims_drop_queue(struct mete_engine *e, const struct queue *q);

/* Nothing is claimed for now; all count `use` of USE_STEPS of the time limits, 0: all of it. What
 * is claimed meanwhile is given up when they are put back, and nobody has noticed. */
struct claims_aside {
    struct claim **at;
    size_t n;
    uint64_t eased;
    uint64_t version;
    uint64_t unclaimed;
};
struct claims_aside claims_put_aside(struct mete_engine *e, uint32_t use);
void claims_put_back(struct mete_engine *e, struct claims_aside *aside);

/* How much of that time counts. */
int64_t claim_length_ns(const struct mete_engine *e, int64_t limit_ns);

/* NULL, or what does not add up. */
const char *claims_check(const struct mete_engine *e);
uint64_t claims_hash(const struct mete_engine *e, uint64_t hash);

/* claim_find.c */
/* Who looks for room: `own` (may be NULL) is what it has found so far. */
struct asker {
    struct mete_engine *e;
    const struct workload *w;
    const struct claim *own;
    int64_t now_ns;
    int64_t length_ns;              /* NEVER_NS: no time limit */
    bool all_bind;                  /* nobody with a claim is behind it, or it has one itself */
    bool saw_behind;                /* out: claims of those behind it are there */
    const struct workload *kept_by; /* out: whose claim was first in the way */
};

/* In the order; between queues asked for once an asker. */
bool claim_is_before(const struct asker *a, const struct workload *owner);

struct timeline *timeline_of(struct node *n);
void timeline_add(struct node *n, const struct claim *c, const struct claimed *part);
void timeline_drop(struct node *n, const struct claim *c);
void timeline_free(struct node *n);
/* When the first of those ends who hold something there; NEVER_NS. */
int64_t timeline_first_end(const struct mete_engine *e, struct node *n);
/* Whose edge that is. */
struct claim *timeline_claim(const struct timeline *t, size_t edge);

/* claim_levels.c: gpus of one model each as good as another, whole ones only */
bool levels_serve(const struct node *n, const struct shape *s);
/* As claim_find, where all claims bind; the endings are not stale. */
int64_t levels_search(struct timeline *t, const struct node *n, const struct shape *s,
                      int64_t length_ns, int64_t from_ns);
void levels_claim(struct timeline *t, const struct node *n, const struct claim *c,
                  const struct claimed *part);
void levels_forget(struct timeline *t);
/* The row of that moment. */
size_t levels_find(const struct timeline *t, int64_t at_ns);

/* The earliest time from `from_ns` on at which such a pod fits there for as long as it may run;
 * NEVER_NS. */
int64_t claim_find(struct asker *a, struct node *n, const struct shape *s, int64_t from_ns);
/* The same, but only whether it is now. */
bool claim_fits_now(struct asker *a, struct node *n, const struct shape *s);
