/* events.h - Events about pods, posted to the server one at a time, at low priority */
#pragma once

#include "client/client.h"

struct events;

struct events *pod_events_new(struct loop *l, struct client *c, const char *node);
void pod_events_free(struct events *e); /* queued Events are lost */

/*
 * Queues an Event about a pod, or about the object of another kind that `kind` of the object names;
 * an object without a namespace has its Events in "default". `type` is "Normal" or "Warning";
 * `container` may be NULL. A repeated Event raises the count of the first. As in the kubelet's
 * filter, a container may send 25 Events of one reason at once, then one each five minutes, whose
 * count includes the suppressed ones. A full queue drops the Event.
 */
void pod_events_add(struct events *e, const json_t *pod, const char *container, const char *type,
                    const char *reason, const char *message);
