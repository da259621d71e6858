/* summary.h - short descriptions of nodes */
#pragma once

#include "base/json.h"

/* Formats the gpus of a node: "Found 8 GPUs (8 x NVIDIA H100 80GB HBM3), emulated"; NULL: no gpus.
 * The caller frees it. */
char *summary_gpus(const json_t *node);

/* Is the node Ready, by a report of `since_ns` (real time) or later? */
bool summary_is_ready(const json_t *node, int64_t since_ns);
