/*
 * turn.h - whose turn it is: down the tree of queues, then by the order in the queue
 *
 * Among the queues of a parent those come first whose next workload stays within the nominal quota,
 * then those with the least share. A turn changes what is held in one queue and those above it, so
 * it costs a heap operation for each of these.
 */
#pragma once

#include "engine/queue/queue.h"

void turns_begin(struct mete_engine *e);

/* The group whose turn it is, or NULL. */
struct group *turn_next(struct mete_engine *e);

/* That group goes on with `next`; NULL: it is through for this cycle. */
void turn_end(struct mete_engine *e, struct group *g, struct order_link *next);

/* Would `a` have its turn before `b`, as things are? Both wait. */
bool turn_is_before(struct mete_engine *e, const struct workload *a, const struct workload *b);
