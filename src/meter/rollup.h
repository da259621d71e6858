/*
 * rollup.h - hourly sums of accounting, so that a report over a year reads days, not attempts
 *
 * Each five minutes the sums of the attempts that ended are added to the hours that they ran in,
 * and the sizes of the nodes at a sample count for the time since the sample before. A day (UTC) is
 * an internal object, kept for ROLLUP_KEPT_DAYS:
 *
 *   accountingdays//DAY     {"groups":[{"account","user","namespace","hours":{"13":[...]}}],
 *                            "capacity":{"13":[...]}}: numbers in the order of enum rollup_sum, in
 *                           ms; of the capacity, then those that were down, then the time known
 *   accountingdays//cursor  {"after"}: the key of the last row that the days have
 *
 * One transaction writes days and cursor. A report adds the attempts that ended since, and those
 * that run.
 */
#pragma once

#include "kinds/report.h"

#define ROLLUP_REPORT_PATH "/apis/mete.dev/v1/rollup"

enum {
    ROLLUP_KEPT_DAYS = 1200
};

struct meter;
struct rollup;

struct rollup *rollup_new(struct meter *m); /* borrowed, outlives this */
void rollup_free(struct rollup *r);         /* accepts NULL */

/*
 * For struct report_maker; meter_cancel cancels. Parameters from, to: both are cut to the hour, and
 * a period has at least one. The answer has fromS, toS, rows: {"account", "user", "namespace",
 * "cpuMs", "memoryMibMs", "nodeMs", "gpuMs", "energyMicrojoules"}, and capacity with the first
 * four, the same of what was down ("cpuDownMs"...), and knownMs: the time of the period in which
 * Mete sampled the nodes.
 */
struct err *meter_rollup(void *meter, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret) MUST_CHECK;
