/* top_events.h - the last events for `mete top`, by a watch */
#pragma once

#include "cli/session.h"
#include "cli/top/top_page.h"

enum {
    TOP_EVENTS_MAX = 500
};

struct top_events;

/* Watches from now on, with what the server still knows of the last changes. `on_change` tells of
 * new events, and of the end of the watch: `e` is then borrowed. The watch begins again by itself.
 */
typedef void (*top_events_fn)(void *arg, const struct err *e);

struct top_events *top_events_new(struct session *s, top_events_fn on_change, void *arg);
void top_events_free(struct top_events *v); /* accepts NULL */

/* The newest first. Borrowed until the loop runs again. */
size_t top_events_count(const struct top_events *v);
const struct top_row *top_events_at(const struct top_events *v, size_t i);
