/* show.h - the parts of `mete show` */
#pragma once

#include "cli/session.h"

/* A batch/v1 Job: how it is, its pods, what happened to it. */
struct err *show_batch(struct cli *c, struct session *s, const json_t *job) MUST_CHECK;

/* "events" and a line each, of a list of them. */
void show_events(struct buf *b, const json_t *events);
