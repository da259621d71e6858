/* account_private.h - helpers shared by account*.c */
#pragma once

#include "kinds/account/account.h"

static inline struct store_key account_key(struct store_range r, const char *name)
{
    return (struct store_key){.group = r.group, .resource = r.resource, .ns = "", .name = name};
}

/* Moves a clock that is behind `ns` forward to it. Returns the clock's time. */
int64_t account_clock_at_least(struct account_clock *c, int64_t ns);

/*
 * The time of a placement's attempt in which no container with gpus ran: before their start (an
 * image was pulled), after their end, between restarts. A lower bound, by the times in the pod's
 * status; -1: unknown, or no gpus.
 */
int64_t account_wait_ns(const json_t *entry, const json_t *pod, struct account_span span);
