/*
 * share_state.h - the files by which the node and the share library (inject/) hold a capped share
 *
 * A container with capped shares sees the folder SHARE_DIR. The node writes `limits`, which the
 * container reads only; the processes of the container write `state`. Each pod has files of its
 * own, and all its containers see the same ones: a share counts for all its processes together. The
 * driver's libraries lie in the folder under the names that the share library needs.
 *
 * A process owns a slot of the state while it holds a POSIX record lock on the byte of the slot's
 * number: the kernel drops the lock when the process ends, in whatever way. The byte
 * SHARE_SLOTS_MAX is the lock of all sums.
 */
#pragma once

#include <stdint.h>

#define SHARE_DIR "/run/mete/share"

enum {
    SHARE_GPUS_MAX = 16,
    SHARE_SLOTS_MAX = 1024, /* processes of a pod that use its shares at a time */
    SHARE_VERSION = 1,
};

#define SHARE_LIMITS_MAGIC UINT64_C(0x736d696c6574656d) /* "metelims" */
#define SHARE_STATE_MAGIC  UINT64_C(0x746174736574656d) /* "metestat" */

/* The share of one gpu, and what the node measured of it. */
struct share_limit {
    char uuid[96];         /* "GPU-..." or "MIG-..." */
    uint64_t memory_bytes; /* all processes of the share together */
    uint32_t gpu_milli;    /* compute in 1/1000 of the gpu; 1000: not limited */
    uint32_t used_milli;   /* compute that the share used since the measurement before */
    uint64_t sample;       /* the number of the measurement; 0: none yet */
    uint64_t other_bytes;  /* memory that the driver counts for the share's processes, and the
                              share library does not: contexts, code */
};

struct share_limits {
    uint64_t magic;
    uint32_t version;
    uint32_t n_gpus;
    struct share_limit gpus[SHARE_GPUS_MAX];
};

/* One process. */
struct share_slot {
    uint64_t is_taken;
    uint64_t bytes[SHARE_GPUS_MAX]; /* allocated, by the index of the limit */
};

/* Launches of all processes of a share; a launch costs its number of threads. */
struct share_bucket {
    int64_t tokens;      /* launches wait while this is not positive */
    int64_t refilled_ns; /* CLOCK_MONOTONIC */
    uint64_t rate;       /* tokens a second; 0: not known yet, launches do not wait */
    uint64_t spent;      /* tokens since the start */
    uint64_t sample;     /* the measurement that `rate` was last corrected by */
    uint64_t sample_spent;
    int64_t sample_ns;
};

struct share_state {
    uint64_t magic;
    uint32_t version;
    uint32_t n_slots; /* slots that were ever used: 0 .. n_slots-1 */
    struct share_slot slots[SHARE_SLOTS_MAX];
    struct share_bucket buckets[SHARE_GPUS_MAX];
};
