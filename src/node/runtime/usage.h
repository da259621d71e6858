/*
 * usage.h - the usage of an attempt so far, summed from samples: CPU time, and memory over time
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
    bool is_known; /* at least one sample was taken */
    struct account_usage total;
    int64_t kib_ms;       /* memory not yet in `total`, less than a KiB second */
    int64_t memory_bytes; /* at the last sample; -1: unknown */
    int64_t sampled_ns;   /* monotonic */
    int64_t rate_nano; /* billionths of a core over the window before the last sample; -1: none */
    int64_t window_ns;
};

/* Adds a sample taken at `now_ns`; the attempt started at `began_ns`. */
void usage_add(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);
/* Adds the last sample, of an attempt that ended: the memory of the sample before counts to the
 * end. */
void usage_end(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);

/* Text out and in; malformed text reads as unknown. */
char *usage_format(const struct usage *u);
void usage_parse(struct str text, struct usage *ret);
