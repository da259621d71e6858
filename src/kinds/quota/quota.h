/*
 * quota.h - the usage of objects, as quotas count it
 *
 * A quota is a ResourceQuota's tree. A pod uses the larger of its containers' sum and its largest
 * init container, of requests and of limits; a pod that has ended uses nothing. quota_check.c
 * checks the invariant "a quota is never exceeded, and used is exact".
 */
#pragma once

#include "kinds/quota/quota_names.h"
#include "store/store.h"

/* Do the quota's scopes cover the object? A quota with scopes covers pods only. */
bool quota_covers(const json_t *quota, const struct kind *k, const json_t *object);

/* The object's usage of `resource`, a key of spec.hard. Amounts past int64 saturate, so that the
 * charge and the release are equal. */
struct quantity quota_usage(const struct kind *k, const json_t *object, const char *resource);

/* Adds; the sum has the form of the first amount that is not 0. False: the sum passes int64. */
bool quota_add(struct quantity *sum, struct quantity more);

/* "must specify limits.cpu for: a,b; memory for: b", or NULL. The caller frees it. */
char *quota_missing(const json_t *quota, const json_t *pod);

/*
 * Checks on the durable objects that each quota's status.hard is its spec's, that status.used is
 * what a count of the namespace gives, and that no charge went beyond the hard limit of its time
 * (used above hard is legal only after the quota was made or lowered later). ERR_INTERNAL says what
 * is wrong.
 */
struct err *quota_check(const struct store *s) MUST_CHECK;
