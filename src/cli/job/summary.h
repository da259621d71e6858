/* summary.h - short words about objects: nodes, gpus, jobs */
#pragma once

#include "base/json.h"

/* "Found 8 GPUs (8 x NVIDIA H100 80GB HBM3), emulated" of a node; NULL when it has none. The caller
 * frees it. */
char *summary_gpus(const json_t *node);

/* Whether the node is Ready by a heartbeat of `since_ns` (real time) or later. */
bool summary_is_ready(const json_t *node, int64_t since_ns);
