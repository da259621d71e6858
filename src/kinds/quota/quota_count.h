/* quota_count.h - how much of a namespace a quota would find used, counted from its objects */
#pragma once

#include "kinds/quota/quota.h"

struct quota_counting {
    const struct store *store;
    bool is_durable; /* counts what is durable; else what is applied */
    const char *ns;
    const json_t *quota; /* its spec and name matter */
};

/*
 * `*ret` is a new object: every key of spec.hard with what is used of it. ERR_INVALID where that
 * passes what can be counted.
 */
struct err *quota_count(const struct quota_counting *q, json_t **ret) MUST_CHECK;
