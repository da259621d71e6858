/*
 * ps_report.h - a page of `mete ps`
 *
 * GET /apis/mete.dev/v1/ps with `namespace` (absent: all; the door checks that the caller may list
 * its pods and Jobs), `all` ("true": ended jobs, too), `limit` (at most 500; 50) and `after`.
 *
 * The answer has `items` (kinds/job/job_item.h) in the order of their numbers, `more`, the number
 * of jobs behind them, and `after`: the value of the parameter that asks for the next page (null:
 * this is the last one). A job is a Job, or a pod whose Job is not in the list. `isMade` is false,
 * and the answer has no items, until the index is made: the caller lists pods and Jobs instead.
 */
#pragma once

#include "kinds/report.h"
#include "page/jobs_index.h"

#define PS_REPORT_PATH "/apis/mete.dev/v1/ps"

/* For a report_maker: `arg` is the index. */
struct err *ps_report_begin(void *arg, const struct report_question *q, report_done_fn done,
                            void *done_arg, struct report **ret) MUST_CHECK;
void ps_report_cancel(struct report *r);
