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
#include "model/selector.h"
#include "store/store.h"

struct disruption {
    int64_t expected;
    int64_t healthy;
    int64_t desired; /* healthy pods that must stay */
    int64_t allowed; /* pods that may be evicted now */
};

/* The budget's selector; NULL matches nothing, an empty one everything. ERR_INVALID: damaged. */
struct err *disruption_selector(const json_t *budget, struct selector **ret) MUST_CHECK;
/* Fills in `desired` and `allowed` from the budget and the counts. */
void disruption_settle(const json_t *budget, struct disruption *d);
/*
 * May a pod of the budget be evicted now? An unready pod may by unhealthyPodEvictionPolicy: by
 * default only if the budget's healthy pods suffice.
 */
bool disruption_allows(const json_t *budget, const struct disruption *d, bool is_ready);

/* Counts the applied state. ERR_INVALID: a damaged selector. */
struct err *disruption_count(const struct store *s, const json_t *budget,
                             struct disruption *ret) MUST_CHECK;

/* NULL: `pod` may be evicted now. ERR_BUSY, in Kubernetes' words: its budget has no room.
 * ERR_INTERNAL: it has more than one budget. */
struct err *disruption_check(const struct store *s, const json_t *pod) MUST_CHECK;
