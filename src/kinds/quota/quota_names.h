/*
 * quota_names.h - the words of quotas and limits: resource names, scopes, amounts
 *
 * As Kubernetes has them: pkg/apis/core/helper and pkg/quota/v1/evaluator/core.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "kinds/kind/kind.h"
#include "model/quantity.h"

/* The amount of a decoded JSON value; 0 if it does not parse. */
struct quantity quota_amount(const json_t *value);
/* The canonical text of an amount, as a JSON value. New reference. */
json_t *quota_amount_json(struct quantity q);

/*
 * Is `resource` a key of spec.hard without a '/' that Kubernetes knows: "pods", "limits.cpu", ...?
 */
bool quota_is_standard(const char *resource);
/* Does the resource come in whole numbers only? */
bool quota_is_integer(const char *resource);

/*
 * The extended resource that a key of spec.hard counts, or NULL: "nvidia.com/gpu" of
 * "requests.nvidia.com/gpu", and also of "limits.nvidia.com/gpu" and "nvidia.com/gpu", which
 * Kubernetes takes without effect. A container's request of it equals its limit.
 */
const char *quota_extended(const char *resource);

/*
 * The class whose devices a key of spec.hard counts: "gpu.nvidia.com" of
 * "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"; empty: another key. Borrowed.
 */
struct str quota_device_class(const char *resource);
/* The devices of the class for which a ResourceClaim asks: of alternatives the most, of all that
 * match 32, as in Kubernetes; with adminAccess none. Pods that share the claim change nothing. */
int64_t quota_devices(const json_t *claim, struct str class);

/* Does a key of spec.hard count claims of persistent volumes: "requests.storage",
 * "fast.storageclass.storage.k8s.io/persistentvolumeclaims"? */
bool quota_is_storage(const char *resource);
/* The amount that a PersistentVolumeClaim adds to such a key. */
struct quantity quota_storage(const json_t *claim, const char *resource);

/* Does `resource` count the objects of `k`: "count/jobs.batch", "configmaps"? For pods only
 * "count/pods" does: "pods" counts pods that have not ended. */
bool quota_counts(const char *resource, const struct kind *k);
/* The kind that `resource` counts, or NULL. */
const struct kind *quota_counted(const char *resource);
/* Does no quota count objects of `k`? True for events, as in Kubernetes: a full quota must not hide
 * events. */
bool quota_ignores(const struct kind *k);

bool quota_scope_is_known(const char *scope);
/* May a quota with `scope` limit the standard `resource`? */
bool quota_scope_fits(const char *scope, const char *resource);
