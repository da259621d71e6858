/*
 * stats.h - the use of this machine and its running containers, sent to the server each 10 s, and
 * of its gpus, sent whenever all have been sampled
 *
 * The service of op "stats" on the reverse stream: client/node_stats.h describes the messages. The
 * first goes out when the server opens the stream. A sample that finds the sample before unsent is
 * dropped: the next is newer.
 */
#pragma once

#include "base/loop.h"
#include "client/node_stats.h"
#include "node/pod/pods.h"
#include "node/session/streams.h"

struct stats;

struct stats_options {
    struct loop *loop;
    struct pods *pods;                             /* borrowed, outlives this */
    const struct stream_out *out;                  /* borrowed, outlives this */
    struct err *(*load)(struct machine_load *ret); /* machine_load_read, or a test's */
    int64_t every_ns;                              /* 0: 10 s */
};

struct stats *stats_new(const struct stats_options *o);
void stats_free(struct stats *s); /* accepts NULL */

/* Sends the part of the gpus, if the server listens: `sample` has `gpus` and `container_gpus`. */
void stats_send_gpus(struct stats *s, struct node_stats *sample);

/* The uplink's service for "op": "stats". */
struct stream_service stats_service(struct stats *s);
