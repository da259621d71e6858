/*
 * logs.h - container logs over the reverse stream
 *
 * op "logs": {"podUid","container","attempt","previous","follow","tailLines","limitBytes",
 * "sinceSeconds","sinceTime","timestamps"}. The answer is the text, sent as credit and the
 * connection's backlog allow. Nothing is read ahead: a slow reader costs one buffer.
 */
#pragma once

#include "base/loop.h"
#include "node/pod/pods.h"
#include "node/session/streams.h"

struct logs;

struct logs_options {
    struct loop *loop;
    struct pods *pods;
    const struct stream_out *out; /* outlives this */
};

struct logs *logs_new(const struct logs_options *o);
void logs_free(struct logs *l); /* accepts NULL; open streams get no end */

/* The uplink's service for "op": "logs". */
struct stream_service logs_service(struct logs *l);
