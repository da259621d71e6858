/*
 * share.h - fair-share factors of users from decayed usage: Slurm's two formulas, in integers
 *
 * The users of a queue have one share each; queues have their weights.
 * Classic ("Multifactor Priority Plugin", NO_FAIR_TREE): 2^-(usage / share), where usage takes part
 * of what the queues above have used. Fair Tree: the rank in a walk of the tree, by share / usage
 * at each level.
 */
#pragma once

#include "engine/queue/queue.h"

#define SHARE_FACTOR_ONE (UINT32_C(1) << 20)

/* Computes the factors of all known users. */
void share_find(struct mete_engine *e);

/* The factor of a user in a queue: 0 .. SHARE_FACTOR_ONE. */
uint32_t share_factor(const struct queue *q, uint32_t user);

/* At a cycle's begin: notes what was held since the last cycle. At its end: what is held now. */
void share_begin(struct mete_engine *e, int64_t now_ns);
void share_end(struct mete_engine *e);
