/* retry.h - a back-off: the next time at which a failed action may be retried */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"

/* {0}: at once. Monotonic times. */
struct retry {
    int64_t at_ns;
    int64_t pause_ns;
};

static inline int64_t retry_left_ns(const struct retry *r, int64_t now_ns)
{
    return r->at_ns > now_ns ? r->at_ns - now_ns : 0;
}

/* Doubles the pause, from 1 s to 60 s as Kubernetes' controllers do, and returns it. */
static inline int64_t retry_failed(struct retry *r, int64_t now_ns)
{
    int64_t pause_ns = r->pause_ns == 0 ? NS_PER_SEC : r->pause_ns * 2;

    r->pause_ns = pause_ns < 60 * NS_PER_SEC ? pause_ns : 60 * NS_PER_SEC;
    r->at_ns = now_ns + r->pause_ns;
    return r->pause_ns;
}
