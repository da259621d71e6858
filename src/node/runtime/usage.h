/*
 * usage.h - what an attempt used so far, summed up from samples: CPU time, memory over time
 *
 * Memory counts as it was at each sample until the next; an attempt that ended before its first
 * sample counts its peak for as long as it ran. A value; it is kept in a small file of the
 * attempt's bundle, so that a restart of the node loses nothing but its precision. Times are
 * monotonic: another boot ends all attempts anyway.
 */
#pragma once

#include "base/json.h"
#include "kinds/account/account.h"
#include "node/runtime/cgroup_stats.h"

struct usage {
    bool is_known; /* there was a sample */
    struct account_usage total;
    int64_t kib_ms;       /* of memory, less than a KiB second */
    int64_t memory_bytes; /* at the last sample; -1: it did not tell */
    int64_t sampled_ns;   /* monotonic */
    int64_t rate_nano; /* billionths of a core over the window before the last sample; -1: none */
    int64_t window_ns;
};

/* A sample at `now_ns`; `began_ns` is when the attempt started. */
void usage_add(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);
/* The last one, of what is over: its memory is gone, what was there before counts to the end. */
void usage_end(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns);

/* Back and forth; what is malformed reads as nothing known. */
char *usage_format(const struct usage *u);
void usage_parse(struct str text, struct usage *ret);
