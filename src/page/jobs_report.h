/*
 * jobs_report.h - a page of the list of jobs
 *
 * GET /apis/mete.dev/v1/jobs with `state`, `namespace`, `user`, `queue` (lists with commas), `q` (a
 * part of the name, or the number), `sort` (id, name, user, queue, state, gpus, submitted, started,
 * ended; "-id" backwards, the default), `offset` (at most 10,000) and `limit` (at most 500; 50).
 *
 * The answer has `items`, `total` (that match), `counts` (by state, without the filter `state`) and
 * `queues` (waiting and running jobs and gpus, and since when the oldest one waits).
 */
#pragma once

#include "kinds/report.h"
#include "page/jobs_index.h"

#define JOBS_REPORT_PATH "/apis/mete.dev/v1/jobs"

/* For a report_maker: `arg` is the index. */
struct err *jobs_report_begin(void *arg, const struct report_question *q, report_done_fn done,
                              void *done_arg, struct report **ret) MUST_CHECK;
void jobs_report_cancel(struct report *r);
