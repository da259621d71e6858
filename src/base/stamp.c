/*
 * stamp.c - the calendar, RFC 3339 and kubectl's ages
 *
 * The calendar is Howard Hinnant's days_from_civil and civil_from_days ("chrono-compatible
 * low-level date algorithms"): years start in March, eras have 400 years. No libc, no time zone, no
 * locale.
 */

#include "base/stamp.h"

#include <inttypes.h>
#include <stdio.h>

struct date {
    int64_t year;
    int64_t month; /* 1.. */
    int64_t day;   /* 1.. */
};

#define QUOTE(s) ((s).size < 64 ? (int)(s).size : 64), (s).at

enum {
    DAYS_OF_ERA = 146097,
    DAYS_TO_1970 = 719468,
    SEC_OF_DAY = 86400
};

static int64_t days_from_date(struct date d)
{
    int64_t year = d.year - (d.month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (d.month > 2 ? d.month - 3 : d.month + 9) + 2) / 5 + d.day - 1;

    return era * DAYS_OF_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_TO_1970;
}

static struct date date_from_days(int64_t days)
{
    int64_t shifted = days + DAYS_TO_1970;
    int64_t era = (shifted >= 0 ? shifted : shifted - DAYS_OF_ERA + 1) / DAYS_OF_ERA;
    int64_t day = shifted - era * DAYS_OF_ERA;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct date d = {.day = day_of_year - (153 * month + 2) / 5 + 1};

    d.month = month < 10 ? month + 3 : month - 9;
    d.year = year + era * 400 + (d.month <= 2);
    return d;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        return 29;
    return days[month - 1];
}

/* Formats with `digits` digits of the fraction: 0, 6 or 9. */
static void format_stamp(int64_t stamp_ns, int digits, char ret[STAMP_TEXT_SIZE])
{
    int64_t ns = stamp_ns % NS_PER_SEC;
    int64_t sec = stamp_ns / NS_PER_SEC - (ns < 0);
    int64_t sec_of_day = (sec % SEC_OF_DAY + SEC_OF_DAY) % SEC_OF_DAY;
    struct date d = date_from_days((sec - sec_of_day) / SEC_OF_DAY);
    char fraction[16] = "";

    ns += ns < 0 ? NS_PER_SEC : 0;
    if (digits == 6)
        (void)snprintf(fraction, sizeof(fraction), ".%06" PRId64, ns / 1000);
    else if (digits == 9)
        (void)snprintf(fraction, sizeof(fraction), ".%09" PRId64, ns);
    (void)snprintf(ret, STAMP_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", (int)d.year,
                   (int)d.month, (int)d.day, (int)(sec_of_day / 3600), (int)(sec_of_day / 60 % 60),
                   (int)(sec_of_day % 60), fraction);
}

void stamp_format(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE])
{
    format_stamp(stamp_ns, 0, ret);
}

void stamp_format_micro(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE])
{
    format_stamp(stamp_ns, 6, ret);
}

void stamp_format_nano(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE])
{
    format_stamp(stamp_ns, 9, ret);
}

/* Cuts exactly `digits` decimal digits with a value in [min, max] off `*rest`. */
static bool read_number(struct str *rest, size_t digits, int64_t min, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (rest->size < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (rest->at[i] < '0' || rest->at[i] > '9')
            return false;
        value = value * 10 + (rest->at[i] - '0');
    }
    *rest = (struct str){rest->at + digits, rest->size - digits};
    *ret = value;
    return value >= min && value <= max;
}

static bool read_char(struct str *rest, char want)
{
    if (rest->size == 0 || rest->at[0] != want)
        return false;
    *rest = (struct str){rest->at + 1, rest->size - 1};
    return true;
}

static bool read_date(struct str *rest, struct date *ret)
{
    return read_number(rest, 4, 0, 9999, &ret->year) && read_char(rest, '-') &&
           read_number(rest, 2, 1, 12, &ret->month) && read_char(rest, '-') &&
           read_number(rest, 2, 1, days_in_month(ret->year, ret->month), &ret->day);
}

static bool read_time(struct str *rest, int64_t *ret_sec)
{
    int64_t hour = 0;
    int64_t minute = 0;
    int64_t second = 0;

    if (!read_number(rest, 2, 0, 23, &hour) || !read_char(rest, ':') ||
        !read_number(rest, 2, 0, 59, &minute) || !read_char(rest, ':') ||
        !read_number(rest, 2, 0, 59, &second))
        return false;
    *ret_sec = hour * 3600 + minute * 60 + second;
    return true;
}

/* Reads ".25", at least one digit; digits past the ninth are dropped. Absent: 0. */
static bool read_fraction(struct str *rest, int64_t *ret_ns)
{
    int64_t weight_ns = NS_PER_SEC / 10;
    int64_t ns = 0;
    int64_t digit = 0;

    if (!read_char(rest, '.'))
        return true;
    if (!read_number(rest, 1, 0, 9, &digit))
        return false;
    do {
        ns += digit * weight_ns;
        weight_ns /= 10;
    } while (rest->size > 0 && rest->at[0] >= '0' && rest->at[0] <= '9' &&
             read_number(rest, 1, 0, 9, &digit));
    *ret_ns = ns;
    return true;
}

/* Reads "Z" or "+02:00", then the end of the text. */
static bool read_offset(struct str *rest, int64_t *ret_sec)
{
    int64_t hour = 0;
    int64_t minute = 0;
    bool is_west = rest->size > 0 && rest->at[0] == '-';

    if (read_char(rest, 'Z') || read_char(rest, 'z'))
        return rest->size == 0;
    if (!read_char(rest, is_west ? '-' : '+') || !read_number(rest, 2, 0, 23, &hour) ||
        !read_char(rest, ':') || !read_number(rest, 2, 0, 59, &minute))
        return false;
    *ret_sec = (hour * 3600 + minute * 60) * (is_west ? -1 : 1);
    return rest->size == 0;
}

struct err *stamp_parse(struct str text, int64_t *ret_ns)
{
    struct str rest = text;
    struct date d = {0};
    int64_t sec = 0;
    int64_t ns = 0;
    int64_t offset_sec = 0;
    int64_t stamp_ns = 0;

    if (!read_date(&rest, &d) || !(read_char(&rest, 'T') || read_char(&rest, 't')) ||
        !read_time(&rest, &sec) || !read_fraction(&rest, &ns) || !read_offset(&rest, &offset_sec))
        return err_new(ERR_INVALID, "time '%.*s': want RFC 3339, as in 2026-11-21T08:43:00Z",
                       QUOTE(text));
    sec += days_from_date(d) * SEC_OF_DAY - offset_sec;
    if (sec < 0 && ns > 0) { /* so that the product overflows only if the sum does */
        sec++;
        ns -= NS_PER_SEC;
    }
    if (__builtin_mul_overflow(sec, NS_PER_SEC, &stamp_ns) ||
        __builtin_add_overflow(stamp_ns, ns, &stamp_ns))
        return err_new(ERR_INVALID, "time '%.*s': want a year from 1678 to 2261", QUOTE(text));
    *ret_ns = stamp_ns;
    return NULL;
}

int64_t stamp_or(const char *text, int64_t fallback_ns)
{
    int64_t stamp_ns = fallback_ns;

    if (text)
        err_free(stamp_parse(str_of(text), &stamp_ns)); /* a failure leaves the fallback */
    return stamp_ns;
}

static void format_units(char ret[STAMP_TEXT_SIZE], int64_t big, char big_unit, int64_t small,
                         char small_unit)
{
    if (small == 0)
        (void)snprintf(ret, STAMP_TEXT_SIZE, "%" PRId64 "%c", big, big_unit);
    else
        (void)snprintf(ret, STAMP_TEXT_SIZE, "%" PRId64 "%c%" PRId64 "%c", big, big_unit, small,
                       small_unit);
}

/* Follows HumanDuration of k8s.io/apimachinery/pkg/util/duration. */
void stamp_format_age(int64_t age_ns, char ret[STAMP_TEXT_SIZE])
{
    int64_t seconds = age_ns / NS_PER_SEC;
    int64_t minutes = seconds / 60;
    int64_t hours = minutes / 60;
    int64_t days = hours / 24;

    if (seconds < -1)
        (void)snprintf(ret, STAMP_TEXT_SIZE, "<invalid>");
    else if (seconds < 120)
        format_units(ret, seconds < 0 ? 0 : seconds, 's', 0, ' ');
    else if (minutes < 10)
        format_units(ret, minutes, 'm', seconds % 60, 's');
    else if (minutes < 180)
        format_units(ret, minutes, 'm', 0, ' ');
    else if (hours < 8)
        format_units(ret, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        format_units(ret, hours, 'h', 0, ' ');
    else if (days < 8)
        format_units(ret, days, 'd', hours % 24, 'h');
    else if (days < 730)
        format_units(ret, days, 'd', 0, ' ');
    else if (days < 2920)
        format_units(ret, days / 365, 'y', days % 365, 'd');
    else
        format_units(ret, days / 365, 'y', 0, ' ');
}
