/* pod_state.h - what objects, the ledger and the controllers read from a Pod's tree, and how they
 * mark it */
#pragma once

#include "base/json.h"

#define POD_JOB_ID  "mete.dev/job-id"  /* label: an int64 that only grows */
#define POD_USER    "mete.dev/user"    /* annotation: who submitted it */
#define POD_DEVICES "mete.dev/devices" /* annotation: {"containers":{"NAME":["GPU-..."]}} */
#define POD_PLACEMENT                                                                              \
    "mete.dev/placement" /* annotation: the placement's name, where it is not the pod's; with "/1" \
                          * and so on where it is that part of it (ledger.h) */
#define POD_HOST_PATHS "mete.dev/host-paths" /* annotation: "any": an administrator's hostPaths */
#define NODE_GPUS      "mete.dev/gpus"       /* annotation of a node: its gpus, a JSON array */

/* "" where it has none. Borrowed. */
const char *pod_node(const json_t *pod);
bool pod_is_deleting(const json_t *pod);

/*
 * Calls `fn` for each gpu that the annotation mete.dev/devices names, with its container, until
 * `fn` returns false. A damaged annotation reads as none.
 */
void pod_each_device(const json_t *pod,
                     bool (*fn)(void *arg, const char *container, const char *uuid), void *arg);

/*
 * Sets the condition `type` in status.conditions; lastTransitionTime changes with `status` only.
 * `reason` and `message` may be NULL. False when it was so already.
 */
bool object_set_condition(json_t *object, const char *type, const char *status, const char *reason,
                          const char *message, int64_t now_ns);
/* Borrowed or NULL. */
json_t *object_condition(const json_t *object, const char *type);
