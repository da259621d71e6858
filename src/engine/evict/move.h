/*
 * move.h - running workloads that start anew elsewhere, so that a waiting one gets room in one
 * piece
 *
 * A plan names the workloads to move. The plan holds only if, with all of them gone, the waiting
 * workload can be placed, and after it each of them again. It pays if the gain (the waiting
 * workload's gpus x the time that it would wait otherwise) is more than the loss (the moved
 * workloads' gpus x their work since the last checkpoint and the restart). Each plan adds a placed
 * workload and takes none away, so the moves end.
 *
 * The room that all of them need is kept from the decision on. When the moved workloads are gone,
 * the waiting workload is placed first, and they right after it, before any other has a turn.
 */
#pragma once

#include "engine/place/place.h"

/* `w` does not fit and has a backfill reservation: moves others for it if that pays. False: nothing
 * was decided; so also if `w` is being moved itself. */
bool move_for(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* Lists the workloads that were moved for `w`, which has just started, into `list` (room for
 * e->moved.n), in the order in which they are to be placed; forgets these moves. */
size_t move_take(struct mete_engine *e, const struct workload *w, struct workload **list);

/* Forgets the workload's move, and the moves for it. */
void move_forget(struct mete_engine *e, const struct workload *w);

/* Would the workload start if others moved, whatever that costs? Their names and new nodes, in
 * e->answers; NULL: no. */
const char *move_text(struct mete_engine *e, struct workload *w, int64_t now_ns);
