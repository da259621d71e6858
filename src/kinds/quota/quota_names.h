/*
 * quota_names.h - the words of quotas and limits: resource names, scopes, amounts
 *
 * As Kubernetes has them: pkg/apis/core/helper and pkg/quota/v1/evaluator/core.
 */
#pragma once

#include <stdbool.h>

#include "kinds/kind/kind.h"
#include "model/quantity.h"

/* Of a JSON value that was decoded before: what does not parse reads as 0. */
struct quantity quota_amount(const json_t *value);
/* Canonical text as a JSON value. New reference. */
json_t *quota_amount_json(struct quantity q);

/* Keys of spec.hard without a '/' that Kubernetes knows: "pods", "limits.cpu", ... */
bool quota_is_standard(const char *resource);
/* Whether it comes in whole numbers only. */
bool quota_is_integer(const char *resource);

/*
 * The extended resource that a key of spec.hard counts, or NULL: "nvidia.com/gpu" of
 * "requests.nvidia.com/gpu", and also of "limits.nvidia.com/gpu" and "nvidia.com/gpu", which
 * Kubernetes takes without effect. A container's request of it equals its limit.
 */
const char *quota_extended(const char *resource);

/* Whether `resource` counts the objects of `k`: "count/jobs.batch", "configmaps". Of pods only
 * "count/pods" does: "pods" counts those that have not ended. */
bool quota_counts(const char *resource, const struct kind *k);
/* The kind that `resource` counts, or NULL. */
const struct kind *quota_counted(const char *resource);
/* Events are never counted, as in Kubernetes: a full quota must not hide what happens. */
bool quota_ignores(const struct kind *k);

bool quota_scope_is_known(const char *scope);
/* Whether a quota with `scope` may limit the standard `resource`. */
bool quota_scope_fits(const char *scope, const char *resource);
