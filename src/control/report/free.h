/*
 * free.h - what could start now: for each gpu model the largest set of gpus on one node, and how
 * many jobs of each size could start side by side within the quotas of a queue
 *
 * GET /apis/mete.dev/v1/free with `queue`, or with `namespace` (its queue; "default"), `gpus` (a
 * list with commas, "1,2,4,8") and `time` (the jobs' time limit, "30m"; default: none). Found by
 * trial placements in the engine; a trial job requests little besides gpus.
 */
#pragma once

#include "control/report/views.h"
#include "kinds/report.h"

struct err *free_begin(struct views *v, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret) MUST_CHECK;
void free_cancel(struct report *r);
