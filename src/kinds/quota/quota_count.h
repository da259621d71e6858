/* quota_count.h - a namespace's usage, counted from its objects */
#pragma once

#include "kinds/quota/quota.h"

struct quota_counting {
    const struct store *store;
    bool is_durable; /* counts the durable state; else the applied one */
    const char *ns;
    const json_t *quota; /* only its spec and name are read */
};

/* `*ret` is a new object: each key of spec.hard with its usage. ERR_INVALID: the usage passes what
 * can be counted. */
struct err *quota_count(const struct quota_counting *q, json_t **ret) MUST_CHECK;
