/*
 * events.h - Event objects: what happened to an object, for people
 *
 * Repeats of the same object, reason and message are one Event whose count and lastTimestamp grow.
 * Events are help, not state: an event that cannot be written is logged and dropped. gc.h removes
 * old events.
 */
#pragma once

#include "base/loop.h"
#include "control/cluster.h"

struct events;

/* Both arguments are borrowed. */
struct events *events_new(struct loop *l, struct cluster *c);
void events_free(struct events *ev); /* accepts NULL */

struct event {
    const char *kind;        /* of the object: "Pod" */
    const char *api_version; /* NULL: "v1" */
    const char *ns;          /* "" for cluster-wide objects: their events are in "default" */
    const char *name;
    const char *uid;
    bool is_warning;
    const char *reason; /* "FailedScheduling" */
    const char *message;
    const char *component; /* "mete-scheduler" */
};

void events_record(struct events *ev, const struct event *what);
