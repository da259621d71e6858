/*
 * quota.h - what objects use, as quotas count it
 *
 * A quota object is a ResourceQuota's tree. What a pod uses is the larger of its containers' sum
 * and its largest init container, of requests and of limits; nothing once it has ended. The checks
 * of the invariant "a quota is never exceeded, and used is exact" are in quota_check.c.
 */
#pragma once

#include "kinds/quota/quota_names.h"
#include "store/store.h"

/* Whether the scopes of the quota take the object in; kinds other than pods have none. */
bool quota_covers(const json_t *quota, const struct kind *k, const json_t *object);

/*
 * How much the object uses of `resource`, a key of spec.hard; amounts past int64 saturate, so that
 * what is charged is what is released.
 */
struct quantity quota_usage(const struct kind *k, const json_t *object, const char *resource);

/* Adds with the form of the first that is not 0. False where it passes int64. */
bool quota_add(struct quantity *sum, struct quantity more);

/* "must specify limits.cpu for: a,b; memory for: b", or NULL. The caller frees it. */
char *quota_missing(const json_t *quota, const json_t *pod);

/*
 * Proves from the durable objects that each quota's status.hard is its spec's, that status.used is
 * what a count of the namespace gives, and that nothing was charged beyond hard while it was so
 * (used above hard is possible only by a quota that was made or lowered later: not an error).
 * ERR_INTERNAL tells what is wrong.
 */
struct err *quota_check(const struct store *s) MUST_CHECK;
