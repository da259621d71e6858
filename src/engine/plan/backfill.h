/*
 * backfill.h - room kept for a workload that cannot start now
 *
 * A backfill reservation names the nodes on which its owner will fit soonest. Workloads before the
 * owner in the order ignore the reservation. Workloads behind it may use such a node if that does
 * not delay the owner: they take room beyond the owner's need, whichever holders end first, or they
 * end before the owner's start, if that is known.
 */
#pragma once

#include "engine/place/place.h"

/* May a pod go to a node with a backfill reservation? */
enum backfill_answer {
    BACKFILL_FREE,   /* the reservation does not bind the pod */
    BACKFILL_BEYOND, /* the pod takes room beyond the owner's need */
    BACKFILL_KEPT,   /* no */
};

enum backfill_answer backfill_ask(const struct attempt *a, const struct shape *s,
                                  const struct node *n, uint64_t gpus);

/* Notes in the node's backfill reservation that a pod of the attempt goes there. The trial's undo
 * undoes it. */
void backfill_note(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                   struct node *n, uint64_t gpus);

/* The workload's backfill reservation, or NULL. */
struct backfill *backfill_of(const struct mete_engine *e, const struct workload *w);

/* Plans the workload's backfill reservation anew and keeps it. False: no set of nodes could ever
 * hold the workload. */
bool backfill_make(struct mete_engine *e, struct workload *w, int64_t now_ns);

/*
 * In a trial that has placed `w`: makes a backfill reservation of its nodes, for backfill_put once
 * the trial is undone. Other workloads keep off these nodes until `w` starts. They may use the room
 * beside `w`; but no room at all if the trial has placed `others`, which start with `w`, since any
 * other pod there would change the policy's choices.
 */
struct backfill *backfill_of_trial(struct workload *w, struct workload *const *others,
                                   size_t n_others);
void backfill_put(struct mete_engine *e, struct backfill *r);

void backfill_drop(struct mete_engine *e, struct backfill *r);
void backfill_drop_unconfirmed(struct mete_engine *e);
/* The next two drop claims, too: those on the node, the workload's own. */
void backfill_drop_node(struct mete_engine *e, struct node *n);
void backfill_drop_of(struct mete_engine *e, const struct workload *w);
void backfill_drop_group(struct mete_engine *e, const struct group *g);
