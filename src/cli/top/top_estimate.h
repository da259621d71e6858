/*
 * top_estimate.h - when the selected job of a queue will start, for `mete top`
 *
 * An estimate costs the server many trial placements: one job is asked for, at most each 5 s.
 */
#pragma once

#include "cli/session.h"
#include "cli/top/top_page.h"

struct top_estimate;

/* `on_change` comes when the text has changed. */
struct top_estimate *top_estimate_new(struct session *s, loop_fn on_change, void *arg);
void top_estimate_free(struct top_estimate *x); /* accepts NULL */

/* Asks about the row's job, unless its estimate is young or on its way. */
void top_estimate_want(struct top_estimate *x, const struct top_row *row);
/* "start 14:20:00 to 16:05:00 (time limits of running jobs)"; "": another job, or not known.
 * Borrowed until the loop runs again. */
const char *top_estimate_text(const struct top_estimate *x, const struct top_row *row);
