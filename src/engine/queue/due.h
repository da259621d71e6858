/*
 * due.h - the order by size: each workload's place in it, by its expected run time
 *
 * A workload that outlives its estimate is expected to run a quarter longer, again and again. The
 * workload grows by that, and may lose its place.
 */
#pragma once

#include "engine/queue/queue.h"

/* The workload's place as sizes_due computes it; 0: the order does not go by size. */
int64_t due_of(struct mete_engine *e, const struct workload *w);

/* Learns the size of a new workload, which is in no order yet. */
void due_learn(struct mete_engine *e, struct workload *w);

/* The workload stopped running and will wait again. */
void due_stopped(struct mete_engine *e, struct workload *w);

/* Lengthens the estimates of running workloads that outlived them. */
void due_check(struct mete_engine *e, int64_t now_ns);

/* The order by size was switched on or off: learns all sizes anew. */
void due_switch(struct mete_engine *e);
