/*
 * cron.h - cron schedules: five fields (minute, hour, day, month, weekday) or @hourly ...
 *
 * The language and the errors are those of Kubernetes (robfig/cron's standard parser): names of
 * months and weekdays, lists, ranges, steps, '?'; day and weekday are alternatives if both are
 * restricted. When summer time skips a time, the schedule is not due that day; when a time comes
 * twice, the schedule is due twice. @every is not supported.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/zone.h"

/* A value: a bit for each allowed minute and so on. */
struct cron {
    uint64_t minutes;
    uint32_t hours;
    uint32_t days;
    uint16_t months;
    uint8_t weekdays; /* bit 0: Sunday */
    bool is_any_day;  /* "*" or "?" */
    bool is_any_weekday;
};

struct err *cron_parse(struct str text, struct cron *ret) MUST_CHECK;

/*
 * The first time after `after_s` (seconds since 1970) at which the schedule is due. False: none
 * within five years ("30 2 31 2 *").
 */
bool cron_next(const struct cron *c, const struct zone *z, int64_t after_s, int64_t *ret_s);

/* The last time in (after_s, now_s] at which the schedule was due. False: none. */
bool cron_last(const struct cron *c, const struct zone *z, int64_t after_s, int64_t now_s,
               int64_t *ret_s);
