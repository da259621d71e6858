/*
 * disruption.h - PodDisruptionBudgets: how many pods may be evicted now, and may this one?
 *
 * Expected pods match and have not ended; of these, the ones being deleted count as to be replaced.
 * Healthy pods are ready and not being deleted. Percentages are of the expected pods, rounded up,
 * as in Kubernetes. (Kubernetes also asks controllers with a scale; Mete has none.)
 */
#pragma once

#include <stdint.h>

#include "kinds/kind/kind.h"
#include "store/store.h"

struct disruption {
    int64_t expected;
    int64_t healthy;
    int64_t desired; /* healthy pods that must stay */
    int64_t allowed; /* pods that may be evicted now */
};

/* Counts the applied state. ERR_INVALID: a damaged selector. */
struct err *disruption_count(const struct store *s, const json_t *budget,
                             struct disruption *ret) MUST_CHECK;

/* NULL: `pod` may be evicted now. ERR_BUSY, in Kubernetes' words: its budget has no room.
 * ERR_INTERNAL: it has more than one budget. */
struct err *disruption_check(const struct store *s, const json_t *pod) MUST_CHECK;
