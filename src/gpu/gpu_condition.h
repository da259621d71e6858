/*
 * gpu_condition.h - what is learnt of each gpu over time: its samples, its XIDs
 *
 * Kept by UUID: the driver may number the same gpus otherwise after a restart. Samples that fail
 * make a gpu unhealthy for as long as they fail; an XID that calls for service does so until the
 * node starts anew, as no driver tells of it twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/gpu.h"

enum {
    CONDITIONS_MAX = 128,   /* gpus ever seen */
    XID_QUEUE_MAX = 256,    /* reports that wait to be read */
    SAMPLES_FAILED_BAD = 2, /* in a row: unhealthy; a lost gpu is at once */
    SAMPLES_GOOD_AGAIN = 3  /* in a row: healthy again */
};

struct gpu_condition {
    char uuid[GPU_TEXT_SIZE];
    struct gpu_sample sample; /* the newest; at_ns 0: none */
    bool is_failing;
    bool is_lost;
    unsigned n_failed; /* in a row, as are: */
    unsigned n_good;
    char problem[128];  /* why samples fail */
    int64_t xid_last;   /* -1: none */
    int64_t xid_effect; /* the one that made it unhealthy; -1: none */
};

/* An XID as it came. */
struct gpu_xid {
    char uuid[GPU_TEXT_SIZE];
    int64_t xid;
};

/* {0} is empty. Nothing to free. */
struct gpu_conditions {
    struct gpu_condition list[CONDITIONS_MAX];
    size_t n;
    struct gpu_xid queue[XID_QUEUE_MAX];
    size_t first; /* of the queue */
    size_t n_queued;
    uint64_t n_dropped; /* reports that found the queue full */
};

/* That of a gpu, made where it is missing; NULL: past CONDITIONS_MAX, or the UUID is "". */
struct gpu_condition *gpu_condition_of(struct gpu_conditions *all, const char *uuid);

/* A reading came. The last XID stays. */
void gpu_condition_sampled(struct gpu_condition *c, const struct gpu_sample *s, int64_t now_ns);
/* No reading came: `why`. */
void gpu_condition_failed(struct gpu_condition *c, bool is_lost, const char *why);

/* An XID of a gpu, also of one that no list has shown yet. */
void gpu_conditions_add_xid(struct gpu_conditions *all, const char *uuid, int64_t xid);
/* The oldest that was not read yet; false: none. */
bool gpu_conditions_next_xid(struct gpu_conditions *all, struct gpu_xid *ret);

/* Sets the health of `g` and its reason: what the driver's list says (`listed`), and over that what
 * was learnt since. */
void gpu_condition_apply(const struct gpu_condition *c, const struct gpu *listed, struct gpu *g);
