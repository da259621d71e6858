/*
 * pod_state.h - the fields of a Pod's tree that objects, the ledger and the controllers read and
 * mark
 */
#pragma once

#include "base/json.h"
#include "model/device.h"

#define POD_JOB_ID "mete.dev/job-id" /* label: an int64 that only grows */
#define POD_USER   "mete.dev/user"   /* annotation: the user who submitted the pod */
#define POD_DEVICES                                                                          \
    "mete.dev/devices" /* annotation: {"containers":{"NAME":["GPU-...", ...]}}, the texts of \
                          model/device.h */
#define POD_PLACEMENT                                                                           \
    "mete.dev/placement" /* annotation: the placement's name, if it is not the pod's; with "/1" \
                            and so on for a part of a large placement (ledger.h) */
#define POD_HOST_PATHS    "mete.dev/host-paths" /* annotation: "any": an administrator's hostPaths */
#define POD_RUNTIME       "mete.dev/runtime"    /* annotation: a runtime that no node has */
#define POD_IMAGE_PULLED  "mete.dev/ImagePulled"  /* condition: the start waited for a pull */
#define POD_PROLOG_FAILED "mete.dev/PrologFailed" /* condition: the job did not begin */
#define POD_EPILOG_FAILED "mete.dev/EpilogFailed" /* condition: the node is to be drained */
#define POD_GPU_LOST      "GpuLost"               /* reason of a pod that ended with its gpu */
#define NODE_GPUS         "mete.dev/gpus"         /* annotation of a node: its gpus, a JSON array */
/* Annotations of a node: modes that administrators set (gpu/gpu_wish.h), and the configuration
 * that the server found for the node (control/gpu_config.h). */
#define NODE_SHARES_ACROSS                                                                         \
    "mete.dev/share-across-namespaces"            /* annotation of a node, "true": pods of several \
                                                     namespaces may have shares and replicas of one gpu */
#define NODE_DRAIN_REASON "mete.dev/drain-reason" /* annotation of a Node: why it is cordoned */
#define NODE_DRAINED_BY   "mete.dev/drained-by"   /* "STAMP USER": who gave the reason */
#define NODE_GPU_MODES    "mete.dev/gpu-modes"
#define NODE_GPU_CONFIG   "mete.dev/gpu-config"
/* The part of a node that jobs may have, if less than all: {"cpu": 4, "memoryBytes": 1073741824}.
 */
#define NODE_OFFERS "mete.dev/offers"
/* Annotation of a node: what administrators say of its gpus, {"GPU-...": {"drained": REASON,
 * "resumed": the healthSince of the incident whose remedy is done}}. */
#define NODE_GPU_CARE "mete.dev/gpu-care"

/* The pod's node, or "". Borrowed. */
const char *pod_node(const json_t *pod);
bool pod_is_deleting(const json_t *pod);
/* The Job that controls the pod, or NULL. Borrowed. */
const char *pod_job(const json_t *pod);

/* Calls `fn` for each device in the annotation mete.dev/devices, with its container, until `fn`
 * returns false. A damaged annotation counts as absent, and so does a damaged device. */
void pod_each_device(const json_t *pod,
                     bool (*fn)(void *arg, const char *container, const struct device *d),
                     void *arg);

/* Sets the condition `type` in status.conditions; lastTransitionTime changes only with `status`.
 * `reason` and `message` may be NULL. False: nothing changed. */
bool object_set_condition(json_t *object, const char *type, const char *status, const char *reason,
                          const char *message, int64_t now_ns);
/* The condition `type`, borrowed, or NULL. */
json_t *object_condition(const json_t *object, const char *type);
