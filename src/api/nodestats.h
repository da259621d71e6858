/* nodestats.h - the samples that a connected node sends, for core_take_stats */
#pragma once

#include "api/core.h"

/* If the server wants samples, opens the stream of op "stats" to a node that has just connected.
 * The stream frees itself when the connection ends. */
void node_stats_begin(struct core *c, const char *node);
