/*
 * reservation.h - room that is set aside in advance: reservations and maintenance windows
 *
 * A reservation is for whole nodes, or for gpus that were picked when it was set. Reserved nodes
 * (those with a part of a reservation) are in no shape's tree but searched apart, since their free
 * room depends on the workload that asks. The bars of a node exclude one workload at a time:
 * reservations_bar sets them, and fit.h obeys them.
 */
#pragma once

#include "engine/state.h"

enum {
    RESERVATIONS_MAX = 1024,
};

struct reservation {
    char *name;
    uint32_t name_id;
    int64_t start_ns;
    int64_t end_ns;
    bool is_maintenance;
    bool has_begun;  /* as of the last cycle */
    bool is_applied; /* in the present bars */
    uint32_t *nodes; /* whole nodes, by interned name; none: gpus are picked */
    size_t n_nodes;
    uint32_t gpus; /* number of gpus to pick */
    uint32_t *models;
    size_t n_models;
    VEC(uint32_t) picks; /* interned uuids of the picked gpus */
    uint32_t *queues;
    size_t n_queues;
    uint32_t *users;
    size_t n_users;
};

/* The part of a node that a reservation has. */
struct reserved {
    struct node *node;
    struct reservation *reservation;
    uint64_t gpus; /* bits of the node */
    bool is_whole;
};

/* May a workload start now in the reservation that it names? */
enum reservation_answer {
    RESERVATION_OPEN, /* yes, or it names none */
    RESERVATION_MISSING,
    RESERVATION_NOT_ENTITLED,
    RESERVATION_NOT_YET,
    RESERVATION_OVER,
    RESERVATION_TOO_LONG, /* the workload could run beyond the reservation's end */
};

/* reservation.c */
struct reservation *reservation_find(const struct mete_engine *e, uint32_t name_id); /* or NULL */
void reservations_free_all(struct mete_engine *e);
/* At a cycle's start: removes reservations that are over, begins those that are due. */
void reservations_begin(struct mete_engine *e, int64_t now_ns);
bool reservation_is_entitled(const struct mete_engine *e, const struct reservation *b,
                             const struct workload *w);
enum reservation_answer reservation_ask(const struct mete_engine *e, const struct workload *w,
                                        int64_t now_ns);

/* reservation_bars.c */
/* Brings e->reserved up to date. */
void reservations_ready(struct mete_engine *e);
/* Reservations or nodes changed: e->reserved is made anew at its next use. */
void reservations_changed(struct mete_engine *e);
/* Sets the bars of all reserved nodes for `w`, as if it started now. */
void reservations_bar(struct mete_engine *e, const struct workload *w, int64_t now_ns);
/* Removes all bars: for questions that reservations do not answer. */
void reservations_unbar(struct mete_engine *e);
/* Moves `*at_ns` to the earliest moment from then on at which reservations let `w` start on the
 * node with `gpus` of the gpus in `kind` (bits). False: never. */
bool reservation_start(const struct mete_engine *e, const struct workload *w, const struct node *n,
                       uint64_t kind, int64_t gpus, int64_t *at_ns);
/* NULL, or the first difference between e->reserved and the reservations. */
const char *reservations_check(struct mete_engine *e);
uint64_t reservations_hash(const struct mete_engine *e, uint64_t hash);

/* reservation_pick.c */
/* Drops picked gpus that are gone or that another reservation has; picks new ones for those that
 * are missing. */
void reservation_pick(struct mete_engine *e, struct reservation *b);
/* The gpus of the node that pods not entitled to the reservation may hold past its start. */
uint64_t reservation_late(const struct mete_engine *e, const struct reservation *b,
                          const struct node *n);

static inline bool reservations_overlap(const struct reservation *a, const struct reservation *b)
{
    return a != b && a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* Do the bars exclude the whole node? */
static inline bool node_is_barred(const struct mete_engine *e, const struct node *n)
{
    return n->is_barred || (e->inside && n->n_reserved == 0);
}
