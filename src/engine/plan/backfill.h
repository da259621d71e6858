/*
 * backfill.h - room kept for a workload that cannot start now
 *
 * A reservation names the nodes on which its owner will fit soonest. Those before the owner in the
 * order take no notice of it. Those after it may use such a node where that does not delay the
 * owner: what is beyond its need whatever ends first, or until before its start, where that is
 * known.
 */
#pragma once

#include "engine/place/place.h"

/* What somebody may do on a node that is reserved. */
enum reserve_answer {
    RESERVE_FREE,  /* no notice taken */
    RESERVE_EXTRA, /* within what is beyond the owner's need */
    RESERVE_KEPT,  /* not */
};

enum reserve_answer reserve_ask(const struct attempt *a, const struct shape *s,
                                const struct node *n, uint64_t gpus);

/* A pod of the attempt goes to a reserved node: what that means for the reservation. Undone with
 * the trial. */
void reserve_note(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                  struct node *n, uint64_t gpus);

/* The one that w has, or NULL. */
struct reservation *reserve_of(const struct mete_engine *e, const struct workload *w);

/* Plans one for w anew and keeps it. False where no set of nodes could ever hold it. */
bool reserve_make(struct mete_engine *e, struct workload *w, int64_t now_ns);

/*
 * While w is placed in a trial: its nodes, kept from all others until it starts. They may have what
 * is left beside it; but nothing where `others` are placed in the trial, too, who start with it:
 * whoever came there would change the policy's choices. For reserve_put once the trial is undone.
 */
struct reservation *reserve_of_trial(struct workload *w, struct workload *const *others,
                                     size_t n_others);
void reserve_put(struct mete_engine *e, struct reservation *r);

void reserve_drop(struct mete_engine *e, struct reservation *r);
void reserve_drop_unconfirmed(struct mete_engine *e);
/* Claims too, as the next. */
void reserve_drop_node(struct mete_engine *e, struct node *n);
void reserve_drop_of(struct mete_engine *e, const struct workload *w);
void reserve_drop_group(struct mete_engine *e, const struct group *g);
