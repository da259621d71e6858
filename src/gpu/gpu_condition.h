/*
 * gpu_condition.h - the health of each gpu over time, from its samples and XIDs
 *
 * Conditions are kept by UUID: the driver may number the same gpus differently after a restart. A
 * gpu is unhealthy while its samples fail. gpu_incident.h decides what its XIDs
 * mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu_xid.h"
#include "model/gpu.h"

enum {
    CONDITIONS_MAX = 128,   /* gpus seen since the start */
    XID_QUEUE_MAX = 1024,   /* unread reports */
    SAMPLES_FAILED_BAD = 2, /* failures in a row: unhealthy (a lost gpu: at once) */
    SAMPLES_GOOD_AGAIN = 3  /* samples in a row: healthy again */
};

struct gpu_condition {
    char uuid[GPU_TEXT_SIZE];
    struct gpu_sample sample; /* the newest; at_ns 0: none */
    bool is_failing;
    bool is_lost;
    unsigned n_failed; /* in a row */
    unsigned n_good;
    char problem[128]; /* why samples fail */
    int64_t xid_last;  /* 0: none */
};

/* An XID report. */
struct gpu_xid {
    char uuid[GPU_TEXT_SIZE]; /* of the gpu */
    int64_t xid;
    int instance;       /* id of the GPU instance that the report names; -1: none */
    int64_t kernel_seq; /* number of the line in the kernel's log; -1: an event of NVML */
    bool is_decoded;    /* the line says itself what the XID asks for: */
    enum xid_action action;
    int64_t at_ns; /* monotonic: when the kernel wrote the line; of events 0 */
};

/* {0} is empty. Nothing to free. */
struct gpu_conditions {
    struct gpu_condition list[CONDITIONS_MAX];
    size_t n;
    struct gpu_xid queue[XID_QUEUE_MAX];
    size_t first; /* index of the oldest report */
    size_t n_queued;
    uint64_t n_dropped; /* reports lost because the queue was full */
};

/* Finds or adds the condition of a gpu. NULL: past CONDITIONS_MAX, or the UUID is "". */
struct gpu_condition *gpu_condition_of(struct gpu_conditions *all, const char *uuid);

/* Notes a sample. The last XID stays. */
void gpu_condition_sampled(struct gpu_condition *c, const struct gpu_sample *s, int64_t now_ns);
/* Notes a failed sample and the reason. */
void gpu_condition_failed(struct gpu_condition *c, bool is_lost, const char *why);

/* Adds an XID of a gpu, which need not have been listed yet. */
void gpu_conditions_add_xid(struct gpu_conditions *all, const struct gpu_xid *x);
/* Takes the oldest unread XID. False: none. */
bool gpu_conditions_next_xid(struct gpu_conditions *all, struct gpu_xid *ret);

/* Sets the health of `g` and its reason: those of the driver's list (`listed`), unless the
 * condition is worse. */
void gpu_condition_apply(const struct gpu_condition *c, const struct gpu *listed, struct gpu *g);
