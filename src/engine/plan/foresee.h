/* foresee.h - when one that waits will start, by what is known: see foresee.c */
#pragma once

#include "engine/state.h"

enum {
    USE_STEPS = 64 /* of how much of their time limit jobs use */
};

/* Fills the estimate; leaves it 0 where nothing is known. */
void foresee(struct mete_engine *e, struct workload *w, int64_t now_ns, struct mete_reason *ret);

/* One ended: how much of its time limit it used is counted. */
void foresee_ended(struct mete_engine *e, const struct workload *w);
