/* gpu_uses.h - which containers of this node use which gpus, for a message of samples */
#pragma once

#include "client/node_stats.h"
#include "gpu/gpu_use.h"
#include "node/pod/pods.h"

/* Adds what containers use of devices to `s`. Uses of other programs than containers of `pods`
 * count as foreign, in one record a device. */
void gpu_uses_add(const struct pods *pods, const struct gpu_use *uses, size_t n,
                  struct node_stats *s);
