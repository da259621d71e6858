/* account_private.h - what account*.c share */
#pragma once

#include "kinds/account/account.h"

static inline struct store_key account_key(struct store_range r, const char *name)
{
    return (struct store_key){.group = r.group, .resource = r.resource, .ns = "", .name = name};
}

/* Moves the clock on where it is behind `ns`; its time. */
int64_t account_clock_at_least(struct account_clock *c, int64_t ns);
