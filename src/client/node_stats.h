/*
 * node_stats.h - a node's samples: the content of a stream of op "stats" (client/frames.h)
 *
 * The server opens the stream with {"op":"stats"} as soon as the node is connected; the node sends
 * messages until the connection ends. A message is u32 size of the rest (at most STATS_MAX), u8
 * version (STATS_VERSION), then records of u8 type, u16 size, bytes; all big endian. A text is u8
 * size, bytes; a number is i64, -1: unknown.
 *
 *   1  node       numbers: time (ns since 1970), cpu (nanocores), memory, window (ns)
 *   2  gpu        text uuid; numbers: memory used, utilization, memory utilization, temperature,
 *                 power (mW), energy (mJ), SM clock, memory clock (MHz), processes
 *   3  container  texts: uid of the pod, name; numbers: attempt, cpu (nanocores), memory, window,
 *                 cpu so far (ns), memory so far (KiB s)
 *
 * The first record is the node's. A reader skips records of other types, and further bytes of a
 * record.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/gpu.h"

enum {
    STATS_VERSION = 1,
    STATS_MAX = 1 << 20,
    STATS_HEAD_SIZE = 4,
    STATS_TEXT_SIZE = 64,
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
    int64_t cpu_ns; /* since the attempt's start */
    int64_t memory_kib_seconds;
};

struct node_stats {
    int64_t at_ns; /* realtime, by the node's clock */
    struct load_sample load;
    VEC(struct gpu_sample) gpus;
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
