/*
 * stats.h - the usage of this machine and of its running containers, reported to the server each 10
 * s
 *
 * POST /mete.dev/v1/nodes/NAME/stats: {"at": ns since 1970, "node": {"cpuNano", "memoryBytes",
 * "windowNs"}, "pods": [{"uid", "containers": [{"name", "attempt", "cpuNano", "memoryBytes",
 * "windowNs", "cpuNs", "memoryKibSeconds"}]}]}. Unknown values are absent. A sample that the server
 * did not take is not sent again: the next sample is newer.
 */
#pragma once

#include "client/client.h"
#include "node/pod/pods.h"

struct stats;

struct stats_options {
    struct loop *loop;
    struct client *client;
    struct pods *pods; /* borrowed, outlives this */
    const char *node;
    struct err *(*load)(struct machine_load *ret); /* machine_load_read, or a test's */
    int64_t every_ns;                              /* 0: 10 s */
};

struct stats *stats_new(const struct stats_options *o);
void stats_free(struct stats *s); /* accepts NULL */
