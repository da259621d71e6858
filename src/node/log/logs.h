/*
 * logs.h - containers' logs over the reverse stream
 *
 * op "logs": {"podUid","container","attempt","previous","follow","tailLines","limitBytes",
 * "sinceSeconds","sinceTime","timestamps"}. The answer is the text; it is sent as far as credit and
 * the connection's backlog allow, and nothing is read ahead: a slow reader costs one buffer.
 */
#pragma once

#include "base/loop.h"
#include "node/pod/pods.h"
#include "node/session/streams.h"

struct logs;

struct logs_options {
    struct loop *loop;
    struct pods *pods;
    const struct stream_out *out; /* lives as long */
};

struct logs *logs_new(const struct logs_options *o);
void logs_free(struct logs *l); /* accepts NULL; streams end in silence */

/* For the uplink, by "op": "logs". */
struct stream_service logs_service(struct logs *l);
