/* points.h - what decides the order within a queue: see mete_factors */
#pragma once

#include "engine/queue/queue.h"

int64_t points_of(struct mete_engine *e, const struct workload *w, int64_t now_ns);

/* Finds the points of all that wait anew where it is time to. */
void points_begin(struct mete_engine *e, int64_t now_ns);
