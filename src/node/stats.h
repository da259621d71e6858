/*
 * stats.h - what runs here, and how much of this machine it uses: sampled each 10 s, told the
 * server
 *
 * POST /mete.dev/v1/nodes/NAME/stats: {"at": ns since 1970, "node": {"cpuNano", "memoryBytes",
 * "windowNs"}, "pods": [{"uid", "containers": [{"name", "attempt", "cpuNano", "memoryBytes",
 * "windowNs", "cpuNs", "memoryKibSeconds"}]}]}. What is not known is left out. A sample that the
 * server does not take is not sent again: the next one is newer.
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
    struct err *(*load)(struct machine_load *ret); /* of the machine */
    int64_t every_ns;                              /* 0: 10 s */
};

struct stats *stats_new(const struct stats_options *o);
void stats_free(struct stats *s); /* accepts NULL */
