/* cron.c - schedules: fields as bits, and the search for the next time */

#include "model/cron.h"

#include "base/mem.h"
#include "model/civil.h"

enum {
    FIELDS = 5,
    TEXT_MAX = 1024,
    YEARS_MAX = 5,
    MINUTE_S = 60,
    HOUR_S = 3600,
    DAY_S = 86400
};

struct bounds {
    unsigned min;
    unsigned max;
    const char *const *names; /* of min, min + 1, ... */
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct bounds bounds[FIELDS] = {
    {0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, months}, {0, 6, weekdays},
};

static bool cron_is_word(struct str text, const char *word)
{
    if (text.size != strlen(word))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != word[i])
            return false;
    }
    return true;
}

static struct err *cron_read_number(struct str text, const struct bounds *b, unsigned *ret)
{
    unsigned value = 0;

    for (unsigned i = 0; b->names && b->names[i]; i++) {
        if (cron_is_word(text, b->names[i])) {
            *ret = b->min + i;
            return NULL;
        }
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || i > 5)
            return err_new(ERR_INVALID, "failed to parse int from " STR_FMT ": invalid syntax",
                           STR_ARG(text));
        value = value * 10 + (unsigned)(text.at[i] - '0');
    }
    if (text.size == 0)
        return err_new(ERR_INVALID, "failed to parse int from : invalid syntax");
    *ret = value;
    return NULL;
}

struct range {
    unsigned first;
    unsigned last;
    unsigned step;
    bool is_any;
};

/* Reads "*", "5" or "1-5". With `has_step`, a single number is the start of a range. */
static struct err *read_ends(struct str text, const struct bounds *b, bool has_step,
                             struct range *ret)
{
    struct str last = text;
    struct str first = str_cut(&last, '-');

    if (str_equal(first, STR("*")) || str_equal(first, STR("?"))) {
        if (last.at)
            return err_new(ERR_INVALID, "too many hyphens: " STR_FMT, STR_ARG(text));
        *ret = (struct range){.first = b->min, .last = b->max, .is_any = true};
        return NULL;
    }
    TRY(cron_read_number(first, b, &ret->first));
    ret->last = has_step ? b->max : ret->first;
    if (!last.at)
        return NULL;
    if (memchr(last.at, '-', last.size))
        return err_new(ERR_INVALID, "too many hyphens: " STR_FMT, STR_ARG(text));
    return cron_read_number(last, b, &ret->last);
}

static struct err *check_range(struct str text, const struct bounds *b, const struct range *r)
{
    if (r->first < b->min)
        return err_new(ERR_INVALID, "beginning of range (%u) below minimum (%u): " STR_FMT,
                       r->first, b->min, STR_ARG(text));
    if (r->last > b->max)
        return err_new(ERR_INVALID, "end of range (%u) above maximum (%u): " STR_FMT, r->last,
                       b->max, STR_ARG(text));
    if (r->first > r->last)
        return err_new(ERR_INVALID, "beginning of range (%u) beyond end of range (%u): " STR_FMT,
                       r->first, r->last, STR_ARG(text));
    if (r->step == 0)
        return err_new(ERR_INVALID, "step of range should be a positive number: " STR_FMT,
                       STR_ARG(text));
    return NULL;
}

static struct err *cron_read_range(struct str text, const struct bounds *b, uint64_t *bits,
                                   bool *is_any)
{
    struct str step = text;
    struct str ends = str_cut(&step, '/');
    struct range r = {0};

    if (step.at && memchr(step.at, '/', step.size))
        return err_new(ERR_INVALID, "too many slashes: " STR_FMT, STR_ARG(text));
    TRY(read_ends(ends, b, step.at != NULL, &r));
    r.step = 1;
    if (step.at)
        TRY(cron_read_number(step, &(const struct bounds){0}, &r.step));
    TRY(check_range(text, b, &r));
    for (unsigned i = r.first; i <= r.last; i += r.step)
        *bits |= UINT64_C(1) << i;
    *is_any = *is_any || (r.is_any && r.step == 1);
    return NULL;
}

static struct err *read_field(struct str text, const struct bounds *b, uint64_t *ret, bool *is_any)
{
    struct str rest = text;

    while (rest.at) {
        struct str part = str_cut(&rest, ',');

        if (part.size > 0) /* Kubernetes accepts "1,,2" */
            TRY(cron_read_range(part, b, ret, is_any));
    }
    return NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Splits at blanks. Returns the number of words, of which at most FIELDS are in `words`. */
static size_t fields_split(struct str text, struct str words[FIELDS])
{
    size_t n = 0;

    for (size_t i = 0; i < text.size;) {
        size_t from;

        while (i < text.size && is_space(text.at[i]))
            i++;
        from = i;
        while (i < text.size && !is_space(text.at[i]))
            i++;
        if (i > from && n++ < FIELDS)
            words[n - 1] = (struct str){text.at + from, i - from};
    }
    return n;
}

static const char *macro_expand(struct str text)
{
    static const struct {
        const char *word;
        const char *schedule;
    } known[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_equal(text, str_of(known[i].word)))
            return known[i].schedule;
    return NULL;
}

static struct err *parse_fields(struct str text, struct cron *ret)
{
    struct str words[FIELDS] = {{0}};
    uint64_t bits[FIELDS] = {0};
    bool is_any[FIELDS] = {false};
    size_t n = fields_split(text, words);

    if (n != FIELDS)
        return err_new(ERR_INVALID, "expected exactly 5 fields, found %zu: [" STR_FMT "]", n,
                       STR_ARG(text));
    for (size_t i = 0; i < FIELDS; i++)
        TRY(read_field(words[i], &bounds[i], &bits[i], &is_any[i]));
    *ret = (struct cron){.minutes = bits[0],
                         .hours = (uint32_t)bits[1],
                         .days = (uint32_t)bits[2],
                         .months = (uint16_t)bits[3],
                         .weekdays = (uint8_t)bits[4],
                         .is_any_day = is_any[2],
                         .is_any_weekday = is_any[4]};
    return NULL;
}

struct err *cron_parse(struct str text, struct cron *ret)
{
    const char *schedule;

    if (text.size == 0)
        return err_new(ERR_INVALID, "empty spec string");
    if (text.size > TEXT_MAX)
        return err_new(ERR_INVALID, "a schedule of more than %d bytes", (int)TEXT_MAX);
    if (*text.at != '@')
        return parse_fields(text, ret);
    schedule = macro_expand(text);
    if (str_starts_with(text, STR("@every")))
        return err_new(ERR_INVALID, "@every is not implemented by mete yet: " STR_FMT,
                       STR_ARG(text));
    if (!schedule)
        return err_new(ERR_INVALID, "unrecognized descriptor: " STR_FMT, STR_ARG(text));
    return parse_fields(str_of(schedule), ret);
}

static bool is_day(const struct cron *c, int64_t days, const struct civil *date)
{
    bool is_of_month = (c->days >> date->day & 1) != 0;
    bool is_of_week = (c->weekdays >> civil_weekday(days) & 1) != 0;

    if (c->is_any_day || c->is_any_weekday)
        return is_of_month && is_of_week;
    return is_of_month || is_of_week;
}

/* The first moment of a day: midnight, or the first time after a skipped midnight. */
static int64_t day_begin(const struct zone *z, int64_t days)
{
    int64_t local = days * DAY_S;
    int64_t before = local - zone_offset(z, local - DAY_S);
    int64_t after = local - zone_offset(z, local + DAY_S);
    bool is_before = before + zone_offset(z, before) == local;
    bool is_after = after + zone_offset(z, after) == local;

    if (is_before && is_after)
        return before < after ? before : after;
    return is_after ? after : before;
}

/* Moves `*days` to the first day from there on that the schedule allows. False: past `end`. */
static bool find_day(const struct cron *c, int64_t *days, int64_t end)
{
    while (*days < end) {
        struct civil date = civil_of(*days);

        if (!(c->months >> date.month & 1))
            *days = date.month == 12 ? civil_days(date.year + 1, 1, 1)
                                     : civil_days(date.year, date.month + 1, 1);
        else if (is_day(c, *days, &date))
            return true;
        else
            (*days)++;
    }
    return false;
}

bool cron_next(const struct cron *c, const struct zone *z, int64_t after_s, int64_t *ret_s)
{
    int64_t at = (floor_div(after_s > 0 ? after_s : 0, MINUTE_S) + 1) * MINUTE_S;
    int64_t end = floor_div(at, DAY_S) + (int64_t)366 * YEARS_MAX;
    int64_t days = floor_div(at + zone_offset(z, at), DAY_S);

    while (find_day(c, &days, end)) {
        int64_t begin = day_begin(z, days);

        for (at = at > begin ? at : begin;; at += MINUTE_S) {
            int64_t local = at + zone_offset(z, at);
            int64_t hour;

            if (floor_div(local, DAY_S) > days)
                break;
            hour = local % DAY_S / HOUR_S;
            if (!(c->hours >> hour & 1)) {
                at += HOUR_S - MINUTE_S - local % HOUR_S / MINUTE_S * MINUTE_S;
                continue;
            }
            if (c->minutes >> (local % HOUR_S / MINUTE_S) & 1) {
                *ret_s = at;
                return true;
            }
        }
        days++;
    }
    return false;
}

bool cron_last(const struct cron *c, const struct zone *z, int64_t after_s, int64_t now_s,
               int64_t *ret_s)
{
    int64_t span = INT64_C(2) * MINUTE_S;
    int64_t from;
    int64_t at = 0;

    /* Doubles the span until it has a due time, so that few times are left to step through. */
    do {
        from = now_s - span > after_s ? now_s - span : after_s;
        span *= 2;
        if (cron_next(c, z, from, &at) && at <= now_s)
            break;
        if (from == after_s)
            return false;
    } while (true);
    do {
        *ret_s = at;
    } while (cron_next(c, z, at, &at) && at <= now_s);
    return true;
}
