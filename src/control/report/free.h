/*
 * free.h - what could start now: by model of gpu the largest set on one node, and how many jobs of
 * each size, one beside the other, within the quotas of the queue that is asked about
 *
 * GET /apis/mete.dev/v1/free with `queue`, or `namespace` (its queue; "default"), and `gpus` (a
 * list with commas, "1,2,4,8") and `time` (their time limit, "30m"; none). Found by placing them in
 * the engine; a job asks for little besides gpus.
 */
#pragma once

#include "control/report/views.h"
#include "kinds/report.h"

struct err *free_begin(struct views *v, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret) MUST_CHECK;
void free_cancel(struct report *r);
