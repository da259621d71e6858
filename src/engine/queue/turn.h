/*
 * turn.h - the next workload's group: down the tree of queues, then by the order in the queue
 *
 * Among the queues of a parent, those whose next workload stays within the nominal quota come
 * first, then those with the least share. A turn changes what one queue and those above it hold, so
 * it costs a heap operation for each of these.
 */
#pragma once

#include "engine/queue/queue.h"

void turns_begin(struct mete_engine *e);

/* The next group, or NULL. */
struct group *turn_next(struct mete_engine *e);

/* The group goes on with `next`; NULL: the group is done for this cycle. */
void turn_end(struct mete_engine *e, struct group *g, struct order_link *next);

/* Does `a` come before `b`? Both wait. */
bool turn_is_before(struct mete_engine *e, const struct workload *a, const struct workload *b);
