/*
 * backfill.h - room kept for a workload that cannot start now
 *
 * A backfill reservation names the nodes on which its owner will fit soonest. Those before the
 * owner in the order take no notice of it. Those after it may use such a node where that does not
 * delay the owner: what is beyond its need whatever ends first, or until before its start, where
 * that is known.
 */
#pragma once

#include "engine/place/place.h"

/* What somebody may do on a node that is reserved. */
enum backfill_answer {
    BACKFILL_FREE,   /* no notice taken */
    BACKFILL_BEYOND, /* within what is beyond the owner's need */
    BACKFILL_KEPT,   /* not */
};

enum backfill_answer backfill_ask(const struct attempt *a, const struct shape *s,
                                  const struct node *n, uint64_t gpus);

/* A pod of the attempt goes to a reserved node: what that means for the backfill reservation.
 * Undone with the trial. */
void backfill_note(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                   struct node *n, uint64_t gpus);

/* The one that w has, or NULL. */
struct backfill *backfill_of(const struct mete_engine *e, const struct workload *w);

/* Plans one for w anew and keeps it. False where no set of nodes could ever hold it. */
bool backfill_make(struct mete_engine *e, struct workload *w, int64_t now_ns);

/*
 * While w is placed in a trial: its nodes, kept from all others until it starts. They may have what
 * is left beside it; but nothing where `others` are placed in the trial, too, who start with it:
 * whoever came there would change the policy's choices. For backfill_put once the trial is undone.
 */
struct backfill *backfill_of_trial(struct workload *w, struct workload *const *others,
                                   size_t n_others);
void backfill_put(struct mete_engine *e, struct backfill *r);

void backfill_drop(struct mete_engine *e, struct backfill *r);
void backfill_drop_unconfirmed(struct mete_engine *e);
/* Claims too, as the next. */
void backfill_drop_node(struct mete_engine *e, struct node *n);
void backfill_drop_of(struct mete_engine *e, const struct workload *w);
void backfill_drop_group(struct mete_engine *e, const struct group *g);
