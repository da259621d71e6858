/*
 * due.h - the order by size: where each workload stands in it, by what it is expected to run
 *
 * Who outlives its estimate is expected to run a quarter longer, however often that takes: that may
 * make it a larger one, and it steps back.
 */
#pragma once

#include "engine/queue/queue.h"

/* What it is due, as sizes_due; 0 where the order does not go by size. */
int64_t due_of(struct mete_engine *e, const struct workload *w);

/* It is there, in no order yet: its size is learned. */
void due_learn(struct mete_engine *e, struct workload *w);

/* It has stopped running, and will wait again. */
void due_stopped(struct mete_engine *e, struct workload *w);

/* Looks at all that run: who has outlived its estimate? */
void due_check(struct mete_engine *e, int64_t now_ns);

/* The order goes by size from now on, or no more: all that are there are learned from. */
void due_switch(struct mete_engine *e);
