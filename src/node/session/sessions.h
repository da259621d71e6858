/*
 * sessions.h - sessions over the reverse stream: commands in containers, attached clients, and
 * connections to ports of pods (the protocol: client/records.h); and signals to containers
 *
 * A slow reader stops the command's output, and an input that is not read stops its sender: a
 * session buffers at most the granted credit.
 */
#pragma once

#include "node/pod/pods.h"
#include "node/session/streams.h"

struct sessions;

struct sessions_options {
    struct pods *pods;
    struct runtime *runtime;
    const struct stream_out *out; /* outlives this */
};

struct sessions *sessions_new(const struct sessions_options *o);
void sessions_free(struct sessions *s); /* accepts NULL; ends all sessions */

/* The uplink's service for "op": "exec", "attach", "portforward" and "signal". */
struct stream_service sessions_service(struct sessions *s);
