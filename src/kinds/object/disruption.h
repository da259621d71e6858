/*
 * disruption.h - how many pods a PodDisruptionBudget lets go now, and whether one may be evicted
 *
 * Expected are the pods that match and have not ended; those of them that are being deleted are to
 * be replaced. Healthy are those that are ready and stay. Percentages are of the expected, rounded
 * up, as Kubernetes does. (A controller with a scale is not looked up: there is none here.)
 */
#pragma once

#include <stdint.h>

#include "kinds/kind/kind.h"
#include "store/store.h"

struct disruption {
    int64_t expected;
    int64_t healthy;
    int64_t desired; /* healthy ones that must stay */
    int64_t allowed; /* how many more may go */
};

/* By what is applied. ERR_INVALID for a damaged selector. */
struct err *disruption_count(const struct store *s, const json_t *budget,
                             struct disruption *ret) MUST_CHECK;

/*
 * NULL: `pod` may be evicted now. ERR_BUSY, in Kubernetes' words, where its budget has no room;
 * ERR_INTERNAL where it has more than one budget.
 */
struct err *disruption_check(const struct store *s, const json_t *pod) MUST_CHECK;
