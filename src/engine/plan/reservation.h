/*
 * reservation.h - room that is set aside in advance: reservations and maintenance windows
 *
 * A reservation names whole nodes, or gpus that were picked when it was set. Nodes with a part of
 * one are reserved: they are in no shape's tree but searched apart, as what may be taken there
 * depends on who asks. The bars of a node say that for one asker at a time: reservations_bar sets
 * them, and fit.h goes by them.
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
    bool is_applied; /* in the bars as they are now */
    uint32_t *nodes; /* all of these, by interned name */
    size_t n_nodes;
    uint32_t gpus; /* or so many */
    uint32_t *models;
    size_t n_models;
    VEC(uint32_t) picks; /* their interned uuids */
    uint32_t *queues;
    size_t n_queues;
    uint32_t *users;
    size_t n_users;
};

/* What a reservation has of a node. */
struct reserved {
    struct node *node;
    struct reservation *reservation;
    uint64_t gpus; /* bits of the node */
    bool is_whole;
};

/* What stands between a workload and the reservation that it names. */
enum reservation_answer {
    RESERVATION_OPEN, /* nothing, or it names none */
    RESERVATION_MISSING,
    RESERVATION_NOT_ENTITLED,
    RESERVATION_NOT_YET,
    RESERVATION_OVER,
    RESERVATION_TOO_LONG, /* its time limit ends later than the reservation */
};

/* reservation.c */
struct reservation *reservation_find(const struct mete_engine *e, uint32_t name_id); /* or NULL */
void reservations_free_all(struct mete_engine *e);
/* Those over are gone, those that begin have begun. */
void reservations_begin(struct mete_engine *e, int64_t now_ns);
bool reservation_is_entitled(const struct mete_engine *e, const struct reservation *b,
                             const struct workload *w);
enum reservation_answer reservation_ask(const struct mete_engine *e, const struct workload *w,
                                        int64_t now_ns);

/* reservation_bars.c */
/* e->reserved is up to date. */
void reservations_ready(struct mete_engine *e);
/* Something about reservations or nodes changed: e->reserved is made anew at its next use. */
void reservations_changed(struct mete_engine *e);
/* The bars of all reserved nodes are those for `w`, were it to start now. */
void reservations_bar(struct mete_engine *e, const struct workload *w, int64_t now_ns);
/* No bars: for questions about what stands in the way. */
void reservations_unbar(struct mete_engine *e);
/*
 * Moves `*at_ns` to the earliest moment from there on at which `w` could start on the node with
 * `gpus` of the bits in `kind`, as far as reservations are concerned. False: never.
 */
bool reservation_start(const struct mete_engine *e, const struct workload *w, const struct node *n,
                       uint64_t kind, int64_t gpus, int64_t *at_ns);
/* NULL, or what differs from what it is made of. */
const char *reservations_check(struct mete_engine *e);
uint64_t reservations_hash(const struct mete_engine *e, uint64_t hash);

/* reservation_pick.c */
/* Picks gpus where some are missing; those that are gone or taken by others are let go. */
void reservation_pick(struct mete_engine *e, struct reservation *b);
/* The gpus of the node whose holders, not entitled to it, may hold them past its start. */
uint64_t reservation_late(const struct mete_engine *e, const struct reservation *b,
                          const struct node *n);

static inline bool reservations_overlap(const struct reservation *a, const struct reservation *b)
{
    return a != b && a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* Nothing of the node is for whoever the bars are for. */
static inline bool node_is_barred(const struct mete_engine *e, const struct node *n)
{
    return n->is_barred || (e->inside && n->n_reserved == 0);
}
