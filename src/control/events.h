/*
 * events.h - what happened to an object, for people: Event objects, repeated ones counted
 *
 * The same object, reason and message again is one Event whose count and lastTimestamp grow. Events
 * are help, not state: what cannot be written is logged and forgotten. gc.h takes old ones away.
 */
#pragma once

#include "base/loop.h"
#include "control/cluster.h"

struct events;

/* Both are borrowed. */
struct events *events_new(struct loop *l, struct cluster *c);
void events_free(struct events *ev); /* accepts NULL */

struct event {
    const char *kind;        /* of the object: "Pod" */
    const char *api_version; /* NULL: "v1" */
    const char *ns;          /* "" for cluster-wide ones: their events are in "default" */
    const char *name;
    const char *uid;
    bool is_warning;
    const char *reason; /* "FailedScheduling" */
    const char *message;
    const char *component; /* "mete-scheduler" */
};

void events_record(struct events *ev, const struct event *what);
