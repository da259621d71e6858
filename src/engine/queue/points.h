/* points.h - the points that order the workloads of a queue: see mete_factors */
#pragma once

#include "engine/queue/queue.h"

int64_t points_of(struct mete_engine *e, const struct workload *w, int64_t now_ns);

/* Computes the points of all waiting workloads anew, once a period. */
void points_begin(struct mete_engine *e, int64_t now_ns);
