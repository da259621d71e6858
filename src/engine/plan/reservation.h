/*
 * reservation.h - room that is set aside in advance: reservations and maintenance windows
 *
 * A booking names whole nodes, or gpus that were picked when it was set. Nodes with a part of one
 * are booked: they are in no shape's tree but searched apart, as what may be taken there depends
 * on who asks. The bars of a node say that for one asker at a time: bookings_bar sets them, and
 * fit.h goes by them.
 */
#pragma once

#include "engine/state.h"

enum {
    BOOKINGS_MAX = 1024,
};

struct booking {
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

/* What a booking has of a node. */
struct booked {
    struct node *node;
    struct booking *booking;
    uint64_t gpus; /* bits of the node */
    bool is_whole;
};

/* What stands between a workload and the booking that it names. */
enum booking_answer {
    BOOKING_OPEN, /* nothing, or it names none */
    BOOKING_MISSING,
    BOOKING_NOT_ENTITLED,
    BOOKING_NOT_YET,
    BOOKING_OVER,
    BOOKING_TOO_LONG, /* its time limit ends later than the booking */
};

/* reservation.c */
struct booking *booking_find(const struct mete_engine *e, uint32_t name_id); /* or NULL */
void bookings_free(struct mete_engine *e);
/* Those over are gone, those that begin have begun. */
void bookings_begin(struct mete_engine *e, int64_t now_ns);
bool booking_is_entitled(const struct mete_engine *e, const struct booking *b,
                         const struct workload *w);
enum booking_answer booking_ask(const struct mete_engine *e, const struct workload *w,
                                int64_t now_ns);

/* reservation_bars.c */
/* e->booked is up to date. */
void bookings_ready(struct mete_engine *e);
/* Something about bookings or nodes changed: e->booked is made anew at its next use. */
void bookings_changed(struct mete_engine *e);
/* The bars of all booked nodes are those for `w`, were it to start now. */
void bookings_bar(struct mete_engine *e, const struct workload *w, int64_t now_ns);
/* No bars: for questions about what stands in the way. */
void bookings_unbar(struct mete_engine *e);
/*
 * Moves `*at_ns` to the earliest moment from there on at which `w` could start on the node with
 * `gpus` of the bits in `kind`, as far as bookings are concerned. False: never.
 */
bool booking_start(const struct mete_engine *e, const struct workload *w, const struct node *n,
                   uint64_t kind, int64_t gpus, int64_t *at_ns);
/* NULL, or what differs from what it is made of. */
const char *bookings_check(struct mete_engine *e);
uint64_t bookings_hash(const struct mete_engine *e, uint64_t hash);

/* reservation_pick.c */
/* Picks gpus where some are missing; those that are gone or taken by others are let go. */
void booking_pick(struct mete_engine *e, struct booking *b);
/* The gpus of the node whose holders, not entitled to it, may hold them past its start. */
uint64_t booking_late(const struct mete_engine *e, const struct booking *b, const struct node *n);

static inline bool bookings_overlap(const struct booking *a, const struct booking *b)
{
    return a != b && a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* Nothing of the node is for whoever the bars are for. */
static inline bool node_is_barred(const struct mete_engine *e, const struct node *n)
{
    return n->is_barred || (e->inside && n->n_booked == 0);
}
