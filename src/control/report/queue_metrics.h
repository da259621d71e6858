/* queue_metrics.h - queues and what waits in them, for a page of metrics */
#pragma once

#include "control/scheduler/scheduler.h"

/* Adds the families; `now_ns` is realtime. Reasons are those that the pods were told last: a page
 * tries no placement. */
void queue_metrics_write(struct scheduler *s, int64_t now_ns, struct exposition *x);
