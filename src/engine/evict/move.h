/*
 * move.h - running workloads that start anew elsewhere, so that one that waits has its room in one
 * piece
 *
 * A plan names those who go and holds only if, with all of them gone, the one that waits can be
 * placed and after it each of them again. It pays if what is gained, the waiting one's gpus x the
 * time that it would wait else, is more than what is lost, theirs x the work since their last
 * checkpoint and the restart. As each plan adds a placed workload and takes none away, they end.
 *
 * What they all need is kept from the decision on. When they are gone, the one that waits is placed
 * first, and they right after it, before anybody else has a turn.
 */
#pragma once

#include "engine/place/place.h"

/* `w` does not fit and has a backfill reservation: moves others for it where that pays, unless it
 * moves itself. */
bool move_for(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* Those who made way for `w`, which has just started: into `list` (room for e->moved.n), in the
 * order in which they are to be placed. They are not known as such any more. */
size_t move_take(struct mete_engine *e, const struct workload *w, struct workload **list);

/* It goes, or its plan does. */
void move_forget(struct mete_engine *e, const struct workload *w);

/* Would it start if some moved, whatever that costs? Their names and new nodes, in e->answers;
 * NULL: no. */
const char *move_text(struct mete_engine *e, struct workload *w, int64_t now_ns);
