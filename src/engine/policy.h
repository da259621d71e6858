/* policy.h - which of the nodes that fit is the best one: a score in 31 bits, larger is better */
#pragma once

#include "engine/state.h"

struct policy {
    const char *name;
    uint32_t (*score)(const struct node *n, const struct shape *s);
};

/* NULL is the default. NULL where there is none of that name. */
const struct policy *policy_find(const char *name);
