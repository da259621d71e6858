/*
 * waiting.h - what waits in a queue, in the order of the scheduler
 *
 * GET /apis/mete.dev/v1/waiting with `queue` (default: the queue with the most waiting workloads),
 * `offset` and `limit` (at most 200; 50). The answer has `items`, `total`, and `queues`: each queue
 * with its waiting and running workloads. A workload of a namespace that the caller may not see has
 * its place, size and reason only.
 */
#pragma once

#include "control/report/views.h"
#include "kinds/report.h"

struct err *waiting_begin(struct views *v, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret) MUST_CHECK;
void waiting_cancel(struct report *r);
