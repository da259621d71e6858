/*
 * sessions.h - commands in containers, clients attached to one, and connections to ports of pods,
 * over the reverse stream (client/records.h says what is asked and answered)
 *
 * A reader that is slow stops the command's output, an input that is not read stops who sends it:
 * a session holds at most what credit was given for.
 */
#pragma once

#include "node/pod/pods.h"
#include "node/session/streams.h"

struct sessions;

struct sessions_options {
    struct pods *pods;
    struct runtime *runtime;
    const struct stream_out *out; /* lives as long */
};

struct sessions *sessions_new(const struct sessions_options *o);
void sessions_free(struct sessions *s); /* accepts NULL; what runs is ended */

/* For the uplink, by "op": "exec", "attach" and "portforward". */
struct stream_service sessions_service(struct sessions *s);
