/* show.h - the parts of `mete show` */
#pragma once

#include "cli/session.h"

/* Shows a batch/v1 Job: its state, pods and events. */
struct err *show_batch(struct cli *c, struct session *s, const json_t *job) MUST_CHECK;

/* Adds "events" and one line for each event of the list. */
void show_events(struct buf *b, const json_t *events);
