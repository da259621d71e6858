/* toleration.h - which taints a pod tolerates, and for how long */
#pragma once

#include <stdint.h>

#include "base/json.h"

#define TOLERATED_FOR_EVER INT64_MAX

/* The first matching toleration of the pod counts, as in Kubernetes. NULL: none. */
const json_t *toleration_find(const json_t *pod, const json_t *taint);

/* The time for which the pod tolerates a taint with the effect NoExecute; 0: not at all. */
int64_t toleration_ns(const json_t *pod, const json_t *taint);
/* The same for the taint of an unreachable node. */
int64_t toleration_unreachable_ns(const json_t *pod);
