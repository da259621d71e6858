/* foresee.h - estimates of when a waiting workload will start: see foresee.c */
#pragma once

#include "engine/state.h"

enum {
    USE_STEPS = 64 /* steps that count the used part of a time limit */
};

/* Fills the estimate; leaves it 0 if it is not known. */
void foresee(struct mete_engine *e, struct workload *w, int64_t now_ns, struct mete_reason *ret);

/* A workload ended: counts the part of its time limit that it used. */
void foresee_ended(struct mete_engine *e, const struct workload *w);
