/* zone.c - time zones: TZif files and the POSIX rule at their end */

#include "model/zone.h"

#include <assert.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/civil.h"

enum {
    FILE_MAX = 1 << 20,
    NAME_MAX_BYTES = 255,
    HEADER_SIZE = 44,
    DAY_S = 86400
};

struct transition {
    int64_t at_s;
    int32_t offset_s; /* from then on */
};

/* An end of summer time in a rule: Jn, n or Mm.w.d, and the time of day. */
struct change_day {
    char form; /* 'J', 'N' or 'M' */
    int month;
    int week;
    int day; /* of the week, or of the year */
    int32_t time_s;
};

/* The rule for times after the table, at the end of the file (POSIX TZ). */
struct rule {
    int32_t standard_s;
    int32_t summer_s;
    bool has_summer;
    struct change_day begin;
    struct change_day end;
};

struct zone {
    struct transition *transitions; /* by time */
    size_t n;
    int32_t first_s; /* offset before the first transition */
    struct rule rule;
    bool has_rule;
};

void zone_free(struct zone *z)
{
    if (!z)
        return;
    free(z->transitions);
    free(z);
}

static struct err *damaged(const char *what)
{
    return err_new(ERR_INVALID, "time zone file: %s", what);
}

static int64_t read_be(const char *at, size_t size)
{
    uint64_t value = (unsigned char)at[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < size; i++)
        value = value << 8 | (unsigned char)at[i];
    return (int64_t)value;
}

/* Counts of a header, in the order of the file. */
struct counts {
    size_t isut, isstd, leap, time, type, character;
};

static struct err *read_header(struct str file, struct counts *ret)
{
    size_t counts[6];

    if (file.size < HEADER_SIZE || memcmp(file.at, "TZif", 4) != 0)
        return damaged("does not begin with TZif");
    for (size_t i = 0; i < 6; i++) {
        int64_t n = read_be(file.at + 20 + i * 4, 4);

        if (n < 0 || n > FILE_MAX)
            return damaged("counts out of range");
        counts[i] = (size_t)n;
    }
    *ret = (struct counts){counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
    return NULL;
}

static size_t block_size(const struct counts *c, size_t time_size)
{
    return c->time * (time_size + 1) + c->type * 6 + c->character + c->leap * (time_size + 4) +
           c->isstd + c->isut;
}

static struct err *read_block(struct str block, const struct counts *c, size_t time_size,
                              struct zone *z)
{
    const char *times = block.at;
    const char *indexes = times + c->time * time_size;
    const char *types = indexes + c->time;

    if (c->type == 0)
        return damaged("no local time");
    z->first_s = (int32_t)read_be(types, 4);
    z->transitions = mem_alloc((c->time + 1) * sizeof(*z->transitions));
    for (size_t i = 0; i < c->time; i++) {
        size_t type = (unsigned char)indexes[i];
        struct transition t = {.at_s = read_be(times + i * time_size, time_size)};

        if (type >= c->type)
            return damaged("an index without its local time");
        t.offset_s = (int32_t)read_be(types + type * 6, 4);
        if (t.offset_s < -2 * DAY_S || t.offset_s > 2 * DAY_S)
            return damaged("an offset of more than two days");
        if (i > 0 && t.at_s <= z->transitions[i - 1].at_s)
            return damaged("times do not ascend");
        z->transitions[z->n++] = t;
    }
    if (z->first_s < -2 * DAY_S || z->first_s > 2 * DAY_S)
        return damaged("an offset of more than two days");
    return NULL;
}

/* The functions below read parts of the rule at `*at` and move it. False: malformed. */
static bool read_name(const char **at)
{
    const char *from = *at;

    if (**at == '<') {
        while (**at && **at != '>')
            (*at)++;
        if (**at != '>')
            return false;
        (*at)++;
        return true;
    }
    while ((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z'))
        (*at)++;
    return *at - from >= 3;
}

static bool read_digits(const char **at, int max, int *ret)
{
    int value = 0;
    int n = 0;

    while (**at >= '0' && **at <= '9' && n < 4) {
        value = value * 10 + (*(*at)++ - '0');
        n++;
    }
    *ret = value;
    return n > 0 && value <= max;
}

/* [+-]hh[:mm[:ss]] */
static bool read_clock(const char **at, int32_t *ret)
{
    int parts[3] = {0};
    int sign = **at == '-' ? -1 : 1;

    if (**at == '-' || **at == '+')
        (*at)++;
    if (!read_digits(at, 167, &parts[0]))
        return false;
    for (int i = 1; i < 3 && **at == ':'; i++) {
        (*at)++;
        if (!read_digits(at, 59, &parts[i]))
            return false;
    }
    *ret = sign * (parts[0] * 3600 + parts[1] * 60 + parts[2]);
    return true;
}

static bool char_skip(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static bool read_change(const char **at, struct change_day *ret)
{
    struct change_day d = {.form = 'N', .time_s = 2 * 3600};
    bool is_read;

    if (char_skip(at, 'M')) {
        d.form = 'M';
        is_read = read_digits(at, 12, &d.month) && char_skip(at, '.') &&
                  read_digits(at, 5, &d.week) && char_skip(at, '.') && read_digits(at, 6, &d.day) &&
                  d.month >= 1 && d.week >= 1;
    } else if (char_skip(at, 'J')) {
        d.form = 'J';
        is_read = read_digits(at, 365, &d.day) && d.day >= 1;
    } else {
        is_read = read_digits(at, 365, &d.day);
    }
    if (is_read && char_skip(at, '/'))
        is_read = read_clock(at, &d.time_s);
    *ret = d;
    return is_read;
}

static bool read_rule(const char *at, struct rule *ret)
{
    struct rule r = {0};

    if (!read_name(&at) || !read_clock(&at, &r.standard_s))
        return false;
    r.standard_s = -r.standard_s; /* POSIX counts west as positive */
    if (*at) {
        r.has_summer = true;
        r.summer_s = r.standard_s + 3600;
        if (!read_name(&at))
            return false;
        if (*at && *at != ',') {
            if (!read_clock(&at, &r.summer_s))
                return false;
            r.summer_s = -r.summer_s;
        }
        if (!char_skip(&at, ',') || !read_change(&at, &r.begin) || !char_skip(&at, ',') ||
            !read_change(&at, &r.end) || *at)
            return false;
    }
    *ret = r;
    return true;
}

/* "\nTEXT\n" */
static struct err *read_footer(struct str rest, struct zone *z)
{
    AUTO_FREE char *text = NULL;

    if (rest.size < 2 || rest.at[0] != '\n' || rest.at[rest.size - 1] != '\n')
        return damaged("no rule at its end");
    text = mem_strndup(rest.at + 1, rest.size - 2);
    if (!*text)
        return NULL;
    if (!read_rule(text, &z->rule))
        return damaged("a rule that cannot be read");
    z->has_rule = true;
    return NULL;
}

static struct err *file_parse(struct str file, struct zone *z)
{
    struct counts c = {0};
    size_t size;
    bool is_old;

    TRY(read_header(file, &c));
    is_old = file.at[4] == '\0';
    size = block_size(&c, 4);
    if (size > file.size - HEADER_SIZE)
        return damaged("ends too early");
    if (is_old)
        return read_block((struct str){file.at + HEADER_SIZE, size}, &c, 4, z);
    file = (struct str){file.at + HEADER_SIZE + size, file.size - HEADER_SIZE - size};
    TRY(read_header(file, &c));
    size = block_size(&c, 8);
    if (size > file.size - HEADER_SIZE)
        return damaged("ends too early");
    TRY(read_block((struct str){file.at + HEADER_SIZE, size}, &c, 8, z));
    return read_footer((struct str){file.at + HEADER_SIZE + size, file.size - HEADER_SIZE - size},
                       z);
}

struct err *zone_parse(struct str file, struct zone **ret)
{
    AUTO(zone_freep) struct zone *z = mem_alloc(sizeof(*z));

    if (file.size > FILE_MAX)
        return damaged("too large");
    TRY(file_parse(file, z));
    *ret = TAKE(z);
    return NULL;
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-_/";
    size_t size = strlen(name);

    return size > 0 && size <= NAME_MAX_BYTES && strspn(name, allowed) == size && *name != '/' &&
           *name != '-' && !strstr(name, "//");
}

struct err *zone_load(const char *name, struct zone **ret)
{
    AUTO_FREE char *path = mem_format("/usr/share/zoneinfo/%s", name);
    AUTO(buf_done) struct buf file = {.cap = FILE_MAX};
    struct err *e;

    if (text_equal(name, "UTC")) {
        *ret = mem_alloc(sizeof(**ret));
        return NULL;
    }
    if (text_equal(name, "Local"))
        return err_new(ERR_INVALID, "timeZone must be an explicit time zone as defined in "
                                    "https://www.iana.org/time-zones");
    if (!is_name(name))
        return err_new(ERR_INVALID, "unknown time zone %.64s", name);
    e = file_read(path, FILE_MAX, &file);
    if (!e)
        e = zone_parse((struct str){file.at, file.size}, ret);
    if (e) {
        err_free(e); /* a directory or another file: no zone */
        return err_new(ERR_INVALID, "unknown time zone %.64s", name);
    }
    return NULL;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The day of the change in the year, in days since 1970. */
static int64_t change_in(const struct change_day *d, int64_t year)
{
    int64_t first;
    int64_t day;

    if (d->form == 'N')
        return civil_days(year, 1, 1) + d->day;
    if (d->form == 'J')
        return civil_days(year, 1, 1) + d->day - 1 + (is_leap(year) && d->day >= 60);
    first = civil_days(year, d->month, 1);
    day = first + (d->day - civil_weekday(first) + 7) % 7 + (int64_t)7 * (d->week - 1);
    while (civil_of(day).month != d->month)
        day -= 7;
    return day;
}

static int32_t rule_offset(const struct rule *r, int64_t at_s)
{
    int64_t year = civil_of(floor_div(at_s + r->standard_s, DAY_S)).year;
    int64_t begin;
    int64_t end;
    bool is_summer;

    if (!r->has_summer)
        return r->standard_s;
    begin = change_in(&r->begin, year) * DAY_S + r->begin.time_s - r->standard_s;
    end = change_in(&r->end, year) * DAY_S + r->end.time_s - r->summer_s;
    is_summer = begin < end ? at_s >= begin && at_s < end : at_s >= begin || at_s < end;
    return is_summer ? r->summer_s : r->standard_s;
}

int64_t zone_offset(const struct zone *z, int64_t at_s)
{
    size_t low = 0;
    size_t high = z ? z->n : 0;

    if (!z)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (z->transitions[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == z->n && z->has_rule)
        return rule_offset(&z->rule, at_s);
    return low == 0 ? z->first_s : z->transitions[low - 1].offset_s;
}
