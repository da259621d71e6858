/*
 * what_if.h - a report of the workloads that would start after a change, by a trial in the engine
 *
 * GET /apis/mete.dev/v1/what-if with `changes`, as for scheduler_what_if, joined by ";".
 */
#pragma once

#include "control/report/views.h"
#include "kinds/report.h"

struct err *what_if_begin(struct views *v, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret) MUST_CHECK;
void what_if_cancel(struct report *r);
