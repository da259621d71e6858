/*
 * node_stats.h - a node's samples: the content of a stream of op "stats" (client/frames.h)
 *
 * The server opens the stream with {"op":"stats"} as soon as the node is connected; the node sends
 * messages until the connection ends. A message is u32 size of the rest (at most STATS_MAX), u8
 * version (STATS_VERSION), then records of u8 type, u16 size, bytes; all big endian. A text is u8
 * size, bytes; a number is i64, -1: unknown.
 *
 *   1  node           numbers: time (ns since 1970), parts (STATS_LOADS, STATS_GPUS), cpu
 *                     (nanocores), memory, window (ns)
 *   2  gpu            texts: uuid, uuid of the gpu of a slice; u8 n, then n numbers in the order
 *                     of enum gpu_field
 *   3  container      texts: uid of the pod, name; numbers: attempt, cpu (nanocores), memory,
 *                     window, cpu so far (ns), memory so far (KiB s); and, absent from older
 *                     writers, peak of memory, of its gpus busy (ns), idle (ns), energy (mJ), peak
 *                     of memory, all so far, and idle now for (ns)
 *   4  container gpu  texts: uid of the pod, name of the container, uuid of the gpu or slice;
 *                     numbers: attempt, memory, compute (1/1000), processes
 *   5  xids           text: uuid of the gpu; numbers: XIDs of the gpu so far, the last one (0:
 *                     none since the machine was booted)
 *
 * The first record is the node's. A reader skips records of other types, and further numbers and
 * bytes of a record. An unknown number is -1, and so is a field that the writer does not have.
 *
 * A message has one part or both: gpus come each second, machine and containers each 10 s. A part
 * replaces what the reader had of it: a gpu that is missing in a part of gpus has no new sample.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "kinds/account/account.h"
#include "model/gpu.h"

enum {
    STATS_VERSION = 2,
    STATS_MAX = 1 << 20,
    STATS_HEAD_SIZE = 4,
    STATS_TEXT_SIZE = 64,
};

/* The parts of a message. */
enum {
    STATS_LOADS = 1, /* `load` and `containers` */
    STATS_GPUS = 2   /* `gpus`, `container_gpus` and `xids` */
};

/* The use of a machine or a container; -1: unknown. */
struct load_sample {
    int64_t cpu_nano; /* nanocores */
    int64_t memory_bytes;
    int64_t window_ns; /* of cpu_nano */
};

struct container_sample {
    char pod_uid[STATS_TEXT_SIZE];
    char name[STATS_TEXT_SIZE];
    int64_t attempt;
    struct load_sample load;
    struct account_usage usage; /* since the attempt's start */
    int64_t gpu_idle_for_ns;    /* known time since a gpu of it was last busy; -1: unknown */
};

/*
 * The use of a gpu or slice by a container, at the time of the gpu's sample. A container that holds
 * a device and has no process on it has no record. All processes on a device that belong to no
 * container of this node share one record with the pod "" and the name "".
 */
struct container_gpu {
    char pod_uid[STATS_TEXT_SIZE];
    char name[STATS_TEXT_SIZE];
    int64_t attempt;            /* -1: no container */
    char device[GPU_TEXT_SIZE]; /* uuid of a gpu or slice */
    int64_t memory_bytes;       /* -1: the driver does not tell, as the following two */
    int64_t sm_milli;           /* busy time of the device's compute for it, in 1/1000 */
    int64_t n_processes;
};

/* The XIDs of a gpu, also of one that does not answer. */
struct gpu_xids {
    char uuid[GPU_TEXT_SIZE];
    int64_t n;    /* ever */
    int64_t last; /* 0: none since the machine was booted */
};

struct node_stats {
    int64_t at_ns;  /* realtime, by the node's clock */
    unsigned parts; /* STATS_LOADS | STATS_GPUS */
    struct load_sample load;
    VEC(struct gpu_sample) gpus; /* each gpu before its slices */
    VEC(struct container_gpu) container_gpus;
    VEC(struct gpu_xids) xids;
    VEC(struct container_sample) containers;
};

void node_stats_done(struct node_stats *s);

/* Appends a message. Containers that find no room in STATS_MAX are left out. */
void node_stats_format(struct buf *b, const struct node_stats *s);

/*
 * Reads one message from the front of `bytes`: `*ret_size` is what it took, 0 when it is not
 * complete yet. Numbers below -1 become -1; texts are printable ASCII. ERR_BAD_REQUEST: malformed;
 * the stream is of no more use. The caller ends `*ret` by node_stats_done.
 */
struct err *node_stats_parse(struct str bytes, struct node_stats *ret, size_t *ret_size) MUST_CHECK;
