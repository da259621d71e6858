/*
 * usage.h - the usage of an attempt so far, summed from samples: CPU time, memory over time, gpus
 *
 * The memory of a sample counts until the next sample. An attempt that ended before its first
 * sample is charged its peak for its whole run. A value, kept in a small file of the attempt's
 * bundle, so that a restart of the node process loses only precision. Times are monotonic: no
 * attempt outlives its boot.
 */
#pragma once

#include "base/json.h"
#include "kinds/account/account.h"
#include "node/runtime/cgroup_stats.h"

struct usage {
    bool is_known; /* at least one sample of the cgroup was taken */
    struct account_usage total;
    int64_t
        gpu_idle_for_ns;  /* known time since a gpu of the attempt was last busy; -1: no sample */
    int64_t kib_ms;       /* memory not yet in `total`, less than a KiB second */
    int64_t memory_bytes; /* at the last sample; -1: unknown */
    int64_t sampled_ns;   /* monotonic */
    int64_t rate_nano; /* billionths of a core over the window before the last sample; -1: none */
    int64_t window_ns;
};

/* Nothing is known yet. */
#define USAGE_UNKNOWN                               \
    ((struct usage){.total = ACCOUNT_USAGE_UNKNOWN, \
                    .gpu_idle_for_ns = -1,          \
                    .memory_bytes = -1,             \
                    .rate_nano = -1})

/* What an attempt used of its gpus between two samples of them. */
struct gpu_used {
    int64_t ns;      /* between the samples, less the time before the attempt's start */
    int64_t busy_ns; /* this and the following: by the part of the gpus held */
    int64_t idle_ns;
    int64_t energy_mj;    /* -1: unknown, as the following */
    int64_t memory_bytes; /* on all its gpus, at the later sample */
    bool is_judged;       /* the driver tells how busy its gpus are: */
    bool is_busy;         /* one of them is busy for 5 percent of the time or more */
};

void usage_add_gpus(struct usage *u, const struct gpu_used *g);

/* Adds a sample taken at `now_ns`; the attempt started at `began_ns`. */
void usage_add(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);
/* Adds the last sample, of an attempt that ended: the memory of the sample before counts to the
 * end. */
void usage_end(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);

/* Text out and in; malformed text reads as unknown. */
char *usage_format(const struct usage *u);
void usage_parse(struct str text, struct usage *ret);
