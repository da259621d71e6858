/* events.h - Events about pods, posted one after the other behind everything else */
#pragma once

#include "client/client.h"

struct events;

struct events *pod_events_new(struct loop *l, struct client *c, const char *node);
void pod_events_free(struct events *e); /* what is queued is lost */

/*
 * `type` is "Normal" or "Warning"; container may be NULL. One that was told before is counted on;
 * of one reason a container tells 25 at once and then one in five minutes, with the count of all
 * (the kubelet's filter). What does not fit in the queue is dropped.
 */
void pod_events_add(struct events *e, const json_t *pod, const char *container, const char *type,
                    const char *reason, const char *message);
