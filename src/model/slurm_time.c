/* slurm_time.c - reading and writing times of Slurm's commands */

#include "model/slurm_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/num.h"
#include "base/stamp.h"
#include "model/civil.h"

enum {
    MINUTE_S = 60,
    HOUR_S = 3600,
    DAY_S = 86400,
    WEEK_S = 7 * DAY_S,
    PARTS_MAX = 3
};

#define PART_LARGEST INT64_C(2000000000)

static bool str_is(struct str s, const char *word)
{
    return s.size == strlen(word) && strncasecmp(s.at, word, s.size) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- time limits ---- */

static struct err *limit_error(struct str text)
{
    return err_new(ERR_INVALID,
                   "time limit '" STR_FMT "': want M, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED",
                   STR_ARG(text));
}

/* Reads "A[:B[:C]]". */
static bool read_colons(struct str text, int64_t parts[PARTS_MAX], size_t *ret_n)
{
    size_t n = 0;

    while (text.at) {
        struct str part = str_cut(&text, ':');
        AUTO(err_freep) struct err *e = NULL;

        if (n == PARTS_MAX || part.size == 0 || !is_digit(*part.at))
            return false;
        e = num_parse_int64(part, 0, PART_LARGEST, &parts[n++]);
        if (e)
            return false;
    }
    *ret_n = n;
    return n > 0;
}

struct err *slurm_seconds_parse(struct str text, int64_t *ret_seconds)
{
    int64_t parts[PARTS_MAX] = {0};
    int64_t days = 0;
    int64_t seconds;
    size_t n = 0;
    struct str rest = text;
    struct str before = str_cut(&rest, '-');
    AUTO(err_freep) struct err *e = NULL;

    if (str_is(text, "-1") || str_is(text, "INFINITE") || str_is(text, "UNLIMITED")) {
        *ret_seconds = SLURM_UNLIMITED;
        return NULL;
    }
    if (rest.at) {
        if (before.size == 0 || !is_digit(*before.at))
            return limit_error(text);
        e = num_parse_int64(before, 0, PART_LARGEST / DAY_S, &days);
    }
    if (e || !read_colons(rest.at ? rest : before, parts, &n))
        return limit_error(text);
    if (rest.at || n == PARTS_MAX)
        seconds = parts[0] * HOUR_S + parts[1] * MINUTE_S + parts[2];
    else
        seconds = parts[0] * MINUTE_S + parts[1];
    *ret_seconds = days * DAY_S + seconds;
    return NULL;
}

struct err *slurm_minutes_parse(struct str text, int64_t *ret_minutes)
{
    int64_t seconds = 0;
    int64_t minutes;

    TRY(slurm_seconds_parse(text, &seconds));
    minutes = (seconds + MINUTE_S - 1) / MINUTE_S;
    if (minutes > INT32_MAX)
        return limit_error(text);
    *ret_minutes = seconds < 0 ? SLURM_UNLIMITED : minutes;
    return NULL;
}

void slurm_minutes_format(int64_t minutes, char ret[SLURM_TIME_TEXT_SIZE])
{
    if (minutes < 0)
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "UNLIMITED");
    else
        slurm_elapsed_format(minutes * MINUTE_S, ret);
}

void slurm_elapsed_format(int64_t seconds, char ret[SLURM_TIME_TEXT_SIZE])
{
    int64_t days = seconds / DAY_S;
    int64_t rest = seconds % DAY_S;
    int at = 0;

    if (seconds < 0) {
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "INVALID");
        return;
    }
    if (days > 0)
        at = snprintf(ret, SLURM_TIME_TEXT_SIZE, "%" PRId64 "-", days);
    (void)snprintf(ret + at, SLURM_TIME_TEXT_SIZE - (size_t)at,
                   "%02" PRId64 ":%02" PRId64 ":%02" PRId64, rest / HOUR_S,
                   rest % HOUR_S / MINUTE_S, rest % MINUTE_S);
}

void slurm_elapsed_format_short(int64_t seconds, char ret[SLURM_TIME_TEXT_SIZE])
{
    if (seconds >= DAY_S || seconds < 0)
        slurm_elapsed_format(seconds, ret);
    else if (seconds >= HOUR_S)
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "%" PRId64 ":%02" PRId64 ":%02" PRId64,
                       seconds / HOUR_S, seconds % HOUR_S / MINUTE_S, seconds % MINUTE_S);
    else
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "%" PRId64 ":%02" PRId64, seconds / MINUTE_S,
                       seconds % MINUTE_S);
}

void slurm_cpu_time_format(int64_t milliseconds, char ret[SLURM_TIME_TEXT_SIZE])
{
    int64_t seconds = milliseconds / 1000;

    if (seconds >= HOUR_S || milliseconds % 1000 == 0)
        slurm_elapsed_format(seconds, ret);
    else
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "%02" PRId64 ":%02" PRId64 ".%03" PRId64,
                       seconds / MINUTE_S, seconds % MINUTE_S, milliseconds % 1000);
}

/* ---- points in time ---- */

/* The seconds that the zone is ahead of UTC at `utc_s`. */
static int64_t zone_seconds(zone_fn zone, int64_t utc_s)
{
    return zone ? zone(utc_s * NS_PER_SEC) / NS_PER_SEC : 0;
}

/* The time of a wall clock of the zone. */
static int64_t utc_of(int64_t local_s, zone_fn zone)
{
    int64_t guess = local_s - zone_seconds(zone, local_s);

    return local_s - zone_seconds(zone, guess);
}

void slurm_stamp_format(int64_t seconds, zone_fn zone, const char *absent,
                        char ret[SLURM_TIME_TEXT_SIZE])
{
    int64_t local = seconds + zone_seconds(zone, seconds);
    struct civil day = civil_of(floor_div(local, DAY_S));
    int64_t of_day = local - floor_div(local, DAY_S) * DAY_S;

    if (seconds <= 0)
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "%s", absent);
    else
        (void)snprintf(ret, SLURM_TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)day.year,
                       day.month, day.day, (int)(of_day / HOUR_S),
                       (int)(of_day % HOUR_S / MINUTE_S), (int)(of_day % MINUTE_S));
}

/* A moment as it is read: the wall clock of the zone. */
struct moment_reader {
    struct civil today;
    int64_t year; /* 0: not given */
    int month;    /* 0: no day was given */
    int day;
    int64_t of_day; /* seconds; -1: not given */
};

static struct err *moment_error(struct str text)
{
    return err_new(ERR_INVALID, "invalid time specification: " STR_FMT, STR_ARG(text));
}

/* Reads `digits` digits at `*at`; -1: there are others. */
static int read_digits(struct str *at, size_t digits)
{
    int value = 0;

    if (at->size < digits)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(at->at[i]))
            return -1;
        value = value * 10 + (at->at[i] - '0');
    }
    at->at += digits;
    at->size -= digits;
    return value;
}

/* Reads one or two digits. */
static int read_one_or_two(struct str *at)
{
    bool has_two = at->size > 1 && is_digit(at->at[1]);

    return read_digits(at, has_two ? 2 : 1);
}

static bool skip_char(struct str *at, char c)
{
    if (at->size == 0 || *at->at != c)
        return false;
    at->at++;
    at->size--;
    return true;
}

/* The time of day of a word; -1: another word. */
static int64_t of_day_word(struct str word)
{
    static const struct {
        const char *word;
        int64_t of_day;
    } words[] = {{"midnight", 0},
                 {"elevenses", INT64_C(11) * HOUR_S},
                 {"noon", INT64_C(12) * HOUR_S},
                 {"fika", INT64_C(15) * HOUR_S},
                 {"teatime", INT64_C(16) * HOUR_S}};

    for (size_t i = 0; i < COUNT(words); i++)
        if (str_is(word, words[i].word))
            return words[i].of_day;
    return -1;
}

/* Reads "HH:MM[:SS][ ][AM|PM]" to the end. */
static bool moment_read_of_day(struct moment_reader *r, struct str text)
{
    struct str at = text;
    int hour = read_one_or_two(&at);
    int minute = -1;
    int second = 0;

    if (hour < 0 || !skip_char(&at, ':'))
        return false;
    minute = read_one_or_two(&at);
    if (minute < 0 || minute > 59)
        return false;
    if (skip_char(&at, ':'))
        second = read_one_or_two(&at);
    if (second < 0 || second > 59)
        return false;
    (void)skip_char(&at, ' ');
    if (str_is(at, "AM") || str_is(at, "PM")) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (str_is(at, "PM") ? 12 : 0);
    } else if (at.size > 0) {
        return false;
    }
    if (hour > 23)
        return false;
    r->of_day = (int64_t)hour * HOUR_S + (int64_t)minute * MINUTE_S + second;
    return true;
}

/* Reads "YYYY-MM-DD". */
static bool moment_read_iso(struct moment_reader *r, struct str *at)
{
    struct str text = *at;
    int year = read_digits(&text, 4);

    if (year < 1970 || !skip_char(&text, '-'))
        return false;
    r->month = read_one_or_two(&text);
    if (!skip_char(&text, '-'))
        return false;
    r->day = read_one_or_two(&text);
    r->year = year;
    *at = text;
    return true;
}

/* Reads "MM/DD[/YY]", "MM.DD[.YY]" or "MMDD[YY]"; years have two or four digits. */
static bool moment_read_american(struct moment_reader *r, struct str *at)
{
    struct str text = *at;
    char separator = 0;
    int year = 0;

    r->month = read_one_or_two(&text);
    if (skip_char(&text, '/'))
        separator = '/';
    else if (skip_char(&text, '.'))
        separator = '.';
    r->day = separator ? read_one_or_two(&text) : read_digits(&text, 2);
    if (separator ? skip_char(&text, separator) : text.size > 0 && is_digit(*text.at)) {
        bool has_four = text.size > 3 && is_digit(text.at[2]) && is_digit(text.at[3]);

        year = read_digits(&text, has_four ? 4 : 2);
        if (year < 0)
            return false;
        r->year = has_four ? year : 2000 + year;
    }
    *at = text;
    return true;
}

static bool moment_has_day(const struct moment_reader *r)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return r->month >= 1 && r->month <= 12 && r->day >= 1 && r->day <= days[r->month - 1];
}

/* Reads a day, and behind it "-HH:MM[:SS]", "THH:MM[:SS]", a blank and a time, or nothing. */
static bool moment_read_day(struct moment_reader *r, struct str text)
{
    struct str at = text;

    if (!moment_read_iso(r, &at) && !moment_read_american(r, &at))
        return false;
    if (!moment_has_day(r))
        return false;
    if (at.size == 0)
        return true;
    if (!skip_char(&at, 'T') && !skip_char(&at, '-') && !skip_char(&at, ' '))
        return false;
    r->of_day = of_day_word(at);
    return r->of_day >= 0 || moment_read_of_day(r, at);
}

/* Reads "now[+N[unit]]" or "now-N[unit]". */
static bool moment_read_now(struct str text, int64_t now_s, int64_t *ret_s)
{
    static const struct {
        const char *word;
        int64_t seconds;
    } units[] = {
        {"second", 1}, {"minute", MINUTE_S}, {"hour", HOUR_S}, {"day", DAY_S}, {"week", WEEK_S}};
    struct str at = {text.at + 3, text.size - 3};
    int64_t sign = skip_char(&at, '+') ? 1 : skip_char(&at, '-') ? -1 : 0;
    int64_t amount = 0;
    size_t digits = 0;
    AUTO(err_freep) struct err *e = NULL;

    *ret_s = now_s;
    if (sign == 0)
        return at.size == 0;
    while (digits < at.size && is_digit(at.at[digits]))
        digits++;
    e = num_parse_int64((struct str){at.at, digits}, 0, PART_LARGEST, &amount);
    if (e)
        return false;
    at = (struct str){at.at + digits, at.size - digits};
    if (at.size == 0) {
        *ret_s = now_s + sign * amount;
        return true;
    }
    if (at.size > 1 && (at.at[at.size - 1] == 's' || at.at[at.size - 1] == 'S'))
        at.size--;
    for (size_t i = 0; i < COUNT(units); i++)
        if (at.size <= strlen(units[i].word) && strncasecmp(at.at, units[i].word, at.size) == 0) {
            *ret_s = now_s + sign * amount * units[i].seconds;
            return true;
        }
    return false;
}

/* The wall clock of what was read. */
static int64_t moment_local(const struct moment_reader *r, int64_t local_now, bool is_future)
{
    int64_t today = floor_div(local_now, DAY_S);
    int64_t of_day = r->of_day >= 0 ? r->of_day : 0;
    int64_t year = r->year > 0 ? r->year : r->today.year;
    int64_t at;

    if (r->month == 0) {
        at = today * DAY_S + of_day;
        return is_future && at < local_now ? at + DAY_S : at;
    }
    at = civil_days(year, r->month, r->day) * DAY_S + of_day;
    if (is_future && r->year == 0 && at <= local_now) /* as Slurm, also of today */
        at = civil_days(year + 1, r->month, r->day) * DAY_S + of_day;
    return at;
}

struct err *slurm_moment_parse(struct str text, int64_t now_s, zone_fn zone, bool is_future,
                               int64_t *ret_s)
{
    int64_t local_now = now_s + zone_seconds(zone, now_s);
    int64_t today = floor_div(local_now, DAY_S);
    struct moment_reader r = {.today = civil_of(today), .of_day = -1};

    if (text.size >= 3 && strncasecmp(text.at, "now", 3) == 0)
        return moment_read_now(text, now_s, ret_s) ? NULL : moment_error(text);
    if (text.size > 3 && strncasecmp(text.at, "uts", 3) == 0)
        return num_parse_int64((struct str){text.at + 3, text.size - 3}, 0, INT64_MAX / NS_PER_SEC,
                               ret_s);
    if (str_is(text, "today") || str_is(text, "tomorrow")) {
        *ret_s = utc_of((today + (str_is(text, "tomorrow") ? 1 : 0)) * DAY_S, zone);
        return NULL;
    }
    r.of_day = of_day_word(text);
    if (r.of_day < 0 && !moment_read_of_day(&r, text)) {
        r.of_day = -1;
        if (!moment_read_day(&r, text))
            return moment_error(text);
    }
    *ret_s = utc_of(moment_local(&r, local_now, is_future), zone);
    return NULL;
}
