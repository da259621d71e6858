/* scheduler_fit.h - pods that others place: would the engine take them, and where? */
#pragma once

#include "control/scheduler/scheduler.h"

/* The number of pods like `pod` that could start now on the node, side by side; at most `max`. */
uint32_t scheduler_count_starts(struct scheduler *s, const json_t *pod, const char *node,
                                uint32_t max);
bool scheduler_has_node(const struct scheduler *s, const char *name);
