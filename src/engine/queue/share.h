/*
 * share.h - what each user is due by what was used lately: Slurm's two formulas, in integers
 *
 * Users are beside each other below their queue, each with one share; queues have their weights.
 * Classic ("Multifactor Priority Plugin", NO_FAIR_TREE): 2^-(usage / share), where usage takes part
 * of what the queues above have used. Fair Tree: the rank in a walk of the tree, by share / usage
 * at each level.
 */
#pragma once

#include "engine/queue/queue.h"

#define SHARE_FACTOR_ONE (UINT32_C(1) << 20)

/* Fills the factors of all users that the queues know. */
void share_find(struct mete_engine *e);

/* Of a user in a queue: 0 .. SHARE_FACTOR_ONE. */
uint32_t share_factor(const struct queue *q, uint32_t user);

/* Notes what was held since the last cycle; and what is held after this one. */
void share_begin(struct mete_engine *e, int64_t now_ns);
void share_end(struct mete_engine *e);
