/* account_private.h - what account*.c share */
#pragma once

#include "kinds/account.h"

static inline struct store_key account_key(struct store_range r, const char *name)
{
    return (struct store_key){.group = r.group, .resource = r.resource, .ns = "", .name = name};
}

/* Whether a row of `r` ends at `ns` or later. */
bool account_is_after(const struct store *s, const struct store_range *r, int64_t ns);

/* Moves the clock on where it is behind `ns`; its time. */
int64_t account_clock_at_least(struct account_clock *c, int64_t ns);
