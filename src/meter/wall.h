/*
 * wall.h - the gpus of all nodes with their states and last readings in few words, for screens that
 * show many
 *
 * GET /apis/mete.dev/v1/wall with `by` (gpu, the default: an item for each gpu or slice; node: one
 * for each node), `q` (a part of the name of the node, the model, the job or the user), `state` (of
 * gpus; a list with commas), `sort` (of nodes: name, free, temperature, errors; "-free" backwards),
 * `offset` and `limit` (default: all; 0: only counts).
 *
 * The answer has `items`, `total` (that match), and `counts` (gpus and slices by state, without the
 * filter `state`).
 */
#pragma once

#include "kinds/metrics.h"
#include "meter/meter.h"

#define WALL_REPORT_PATH "/apis/mete.dev/v1/wall"

/* The gpus and nodes of later answers; without a table there are none. */
void meter_set_devices(struct meter *m, struct device_table table);

/* For struct report_maker; meter_cancel cancels. */
struct err *meter_wall(void *meter, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret) MUST_CHECK;
