/* moment.c - points in time as users write them */

#include "model/moment.h"

#include <stdio.h>

#include "base/num.h"
#include "base/stamp.h"

#define DAY_NS (INT64_C(86400) * NS_PER_SEC)

static int64_t offset_at(zone_fn zone, int64_t utc_ns)
{
    return zone ? zone(utc_ns) : 0;
}

/* The beginning of a day like "2026-11-01" in the zone. */
static struct err *day_begins(struct str day, zone_fn zone, int64_t *ret_ns)
{
    char text[STAMP_TEXT_SIZE];
    int64_t utc_ns = 0;
    int64_t first_ns;
    struct err *e;

    (void)snprintf(text, sizeof(text), STR_FMT "T00:00:00Z", STR_ARG(day));
    e = stamp_parse(str_of(text), &utc_ns);
    if (e) {
        err_free(e);
        return err_new(ERR_INVALID, "there is no day " STR_FMT, STR_ARG(day));
    }
    if (utc_ns < DAY_NS)
        return err_new(ERR_INVALID, "day " STR_FMT ": want one after 1970", STR_ARG(day));
    /* The offset depends on the time that it gives: the second look has the right one. */
    first_ns = utc_ns - offset_at(zone, utc_ns);
    *ret_ns = utc_ns - offset_at(zone, first_ns);
    return NULL;
}

/* The beginning of the day of `ns`, or of the day `back_days` before. */
static struct err *day_of(int64_t ns, int back_days, zone_fn zone, int64_t *ret_ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(ns + offset_at(zone, ns) - back_days * DAY_NS, text);
    return day_begins((struct str){text, 10}, zone, ret_ns);
}

static struct err *month_of(int64_t ns, zone_fn zone, int64_t *ret_ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(ns + offset_at(zone, ns), text);
    text[8] = '0';
    text[9] = '1';
    return day_begins((struct str){text, 10}, zone, ret_ns);
}

/* Has the text a digit for each '0' of `form`, and the same characters elsewhere? */
static bool has_form(struct str text, const char *form)
{
    if (text.size != strlen(form))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        bool is_digit = text.at[i] >= '0' && text.at[i] <= '9';

        if (form[i] == '0' ? !is_digit : text.at[i] != form[i])
            return false;
    }
    return true;
}

static struct err *malformed(struct str text)
{
    return err_new(
        ERR_INVALID,
        "time '%.*s': want now, today, yesterday, month, a day as 2026-11-01, a month as "
        "2026-11, so long ago as 7d, or RFC 3339 as 2026-11-21T08:43:00Z",
        (int)(text.size > 64 ? 64 : text.size), text.at);
}

static struct err *before_now(struct str text, int64_t now_ns, int64_t *ret_ns)
{
    int64_t ago_ns = 0;
    struct err *e = num_parse_duration(text, &ago_ns);

    if (e || ago_ns > now_ns) {
        err_free(e);
        return malformed(text);
    }
    *ret_ns = now_ns - ago_ns;
    return NULL;
}

struct err *moment_parse(struct str text, int64_t now_ns, zone_fn zone, int64_t *ret_ns)
{
    struct err *e;
    int64_t ns = 0;

    if (str_equal(text, STR("now"))) {
        *ret_ns = now_ns;
        return NULL;
    }
    if (str_equal(text, STR("today")))
        return day_of(now_ns, 0, zone, ret_ns);
    if (str_equal(text, STR("yesterday")))
        return day_of(now_ns, 1, zone, ret_ns);
    if (str_equal(text, STR("month")))
        return month_of(now_ns, zone, ret_ns);
    if (has_form(text, "0000-00-00"))
        return day_begins(text, zone, ret_ns);
    if (has_form(text, "0000-00")) {
        char day[16];

        (void)snprintf(day, sizeof(day), STR_FMT "-01", STR_ARG(text));
        return day_begins(str_of(day), zone, ret_ns);
    }
    if (!memchr(text.at, 'T', text.size) && !memchr(text.at, 't', text.size))
        return before_now(text, now_ns, ret_ns);
    e = stamp_parse(text, &ns);
    if (e || ns < 0) {
        err_free(e);
        return malformed(text);
    }
    *ret_ns = ns;
    return NULL;
}
