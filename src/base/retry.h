/* retry.h - pauses between the tries of an action that fails: each twice as long as the last */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"

/* Sets the pause after another failure and returns it: `min_ns` after the first (`*pause_ns` is
 * 0), then twice the last one, `max_ns` at most. */
static inline int64_t retry_pause(int64_t *pause_ns, int64_t min_ns, int64_t max_ns)
{
    if (*pause_ns == 0)
        *pause_ns = min_ns;
    else
        *pause_ns = *pause_ns < max_ns / 2 ? *pause_ns * 2 : max_ns;
    return *pause_ns;
}

/* The pause after `n` failures in a row; 0: none. */
static inline int64_t retry_pause_after(int64_t n, int64_t min_ns, int64_t max_ns)
{
    int64_t pause_ns = 0;

    for (int64_t i = 0; i < n && pause_ns < max_ns; i++)
        (void)retry_pause(&pause_ns, min_ns, max_ns);
    return pause_ns;
}

/* A pause and its end, monotonic. {0}: at once. */
struct retry {
    int64_t at_ns;
    int64_t pause_ns;
};

static inline int64_t retry_left_ns(const struct retry *r, int64_t now_ns)
{
    return r->at_ns > now_ns ? r->at_ns - now_ns : 0;
}

/* Begins a pause after a failure, from 1 s to 60 s as Kubernetes' controllers do. Returns it. */
static inline int64_t retry_failed(struct retry *r, int64_t now_ns)
{
    r->at_ns = now_ns + retry_pause(&r->pause_ns, NS_PER_SEC, 60 * NS_PER_SEC);
    return r->pause_ns;
}

#define PENDING_NS (100 * NS_PER_MS) /* between tries of an action that has begun (ERR_PENDING) */

#define RETRY_WELL_NS (600 * NS_PER_SEC) /* as a kubelet has it */

/* The action went well for `ns`, then failed. After RETRY_WELL_NS the failure is the first one of a
 * row. */
static inline void retry_went_well(struct retry *r, int64_t ns)
{
    if (ns >= RETRY_WELL_NS)
        *r = (struct retry){0};
}
