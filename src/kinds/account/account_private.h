/* account_private.h - helpers shared by account*.c */
#pragma once

#include "kinds/account/account.h"

static inline struct store_key account_key(struct store_range r, const char *name)
{
    return (struct store_key){.group = r.group, .resource = r.resource, .ns = "", .name = name};
}

/* Moves a clock that is behind `ns` forward to it. Returns the clock's time. */
int64_t account_clock_at_least(struct account_clock *c, int64_t ns);
