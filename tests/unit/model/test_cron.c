/* test_cron.c - cron schedules: next times, time zones, error texts */

#include "base/stamp.h"
#include "model/civil.h"
#include "model/cron.h"
#include "test.h"

static int64_t seconds(const char *stamp)
{
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = stamp_parse(str_of(stamp), &ns);

    assert_null(e);
    return ns / NS_PER_SEC;
}

static void assert_stamp(int64_t at_s, const char *want)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(at_s * NS_PER_SEC, text);
    assert_string_equal(text, want);
}

static struct zone *load(const char *name)
{
    struct zone *z = NULL;
    AUTO(err_freep) struct err *e = name ? zone_load(name, &z) : NULL;

    if (e)
        fail_msg("%s", err_message(e));
    return z;
}

static struct cron parse(const char *text)
{
    struct cron c = {0};
    AUTO(err_freep) struct err *e = cron_parse(str_of(text), &c);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return c;
}

/* The messages are those of Kubernetes' parser. */
static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "empty spec string"},
        {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
        {"* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"},
        {"60 * * * *", "end of range (60) above maximum (59): 60"},
        {"* 24 * * *", "end of range (24) above maximum (23): 24"},
        {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
        {"* * 32 * *", "end of range (32) above maximum (31): 32"},
        {"* * * 13 *", "end of range (13) above maximum (12): 13"},
        {"* * * * 7", "end of range (7) above maximum (6): 7"},
        {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
        {"*/0 * * * *", "step of range should be a positive number: */0"},
        {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
        {"1/2/3 * * * *", "too many slashes: 1/2/3"},
        {"x * * * *", "failed to parse int from x: invalid syntax"},
        {"-1 * * * *", "failed to parse int from : invalid syntax"},
        {"* * * foo *", "failed to parse int from foo: invalid syntax"},
        {"99999999999 * * * *", "failed to parse int from 99999999999: invalid syntax"},
        {"@often", "unrecognized descriptor: @often"},
        {"@every 1h", "@every is not implemented by mete yet: @every 1h"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cron c = {.minutes = 42};
        AUTO(err_freep) struct err *e = cron_parse(str_of(cases[i].text), &c);

        if (!e)
            fail_msg("taken: %s", cases[i].text);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 422);
        assert_int_equal(c.minutes, 42);
    }
}

/* In Berlin summer time begins on 2026-03-29 at 02:00 and ends on 2026-10-25 at 03:00. */
static void tells_the_next_time(void **state)
{
    static const struct {
        const char *schedule;
        const char *zone;
        const char *after;
        const char *next;
    } cases[] = {
        {"* * * * *", NULL, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"},
        {"* * * * *", NULL, "2026-01-01T00:00:59Z", "2026-01-01T00:01:00Z"},
        {"*/15 * * * *", NULL, "2026-01-01T00:46:00Z", "2026-01-01T01:00:00Z"},
        {"5/20 * * * *", NULL, "2026-01-01T00:25:00Z", "2026-01-01T00:45:00Z"},
        {"0 0 1 JAN *", NULL, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
        {"30 4 1,15 * *", NULL, "2026-02-01T05:00:00Z", "2026-02-15T04:30:00Z"},
        {"0 0 29 2 *", NULL, "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 9 * * mon-FRI", NULL, "2026-01-02T09:00:00Z", "2026-01-05T09:00:00Z"},
        {"0 0 13 * 5", NULL, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
        {"0 0 13 * *", NULL, "2026-01-01T00:00:00Z", "2026-01-13T00:00:00Z"},
        {"0 0 ? * 0", NULL, "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
        {"0 0 */2 * 0", NULL, "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"},
        {"@hourly", NULL, "2026-01-01T23:00:00Z", "2026-01-02T00:00:00Z"},
        {"@weekly", NULL, "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
        {"@monthly", NULL, "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
        {"@annually", NULL, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
        {" 0  0\t* * * ", NULL, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
        {"0 12 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", "2026-01-01T11:00:00Z"},
        {"0 12 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-01T10:00:00Z"},
        {"0 12 * * *", "Asia/Kolkata", "2026-07-01T00:00:00Z", "2026-07-01T06:30:00Z"},
        {"0 0 * * *", "America/New_York", "2026-07-01T00:00:00Z", "2026-07-01T04:00:00Z"},
        /* skipped that night, so not due until the next one */
        {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
        {"0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
        /* twice in that night */
        {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
        /* by the rule at the end of the zone's file */
        {"0 12 * * *", "Europe/Berlin", "2090-07-01T00:00:00Z", "2090-07-01T10:00:00Z"},
        {"0 12 * * *", "America/New_York", "2090-01-01T00:00:00Z", "2090-01-01T17:00:00Z"},
        /* no midnight on the day on which it is skipped */
        {"0 0 * * *", "Africa/Cairo", "2026-04-23T00:00:00Z", "2026-04-24T21:00:00Z"},
        {"30 1 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23T22:30:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cron c = parse(cases[i].schedule);
        AUTO(zone_freep) struct zone *z = load(cases[i].zone);
        int64_t next = 0;

        print_message("# %s after %s\n", cases[i].schedule, cases[i].after);
        assert_true(cron_next(&c, z, seconds(cases[i].after), &next));
        assert_stamp(next, cases[i].next);
    }
}

static void a_day_that_never_comes_is_never_due(void **state)
{
    struct cron c = parse("0 0 31 2 *");
    int64_t at = 42;

    (void)state;
    assert_false(cron_next(&c, NULL, seconds("2026-01-01T00:00:00Z"), &at));
    assert_false(
        cron_last(&c, NULL, seconds("2026-01-01T00:00:00Z"), seconds("2026-06-01T00:00:00Z"), &at));
    assert_int_equal(at, 42);
}

static void tells_the_last_time(void **state)
{
    static const struct {
        const char *schedule;
        const char *after;
        const char *now;
        const char *last; /* NULL: none */
    } cases[] = {
        {"* * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:00Z"},
        {"0 0 1 1 *", "2020-01-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-01-01T00:00:00Z"},
        {"*/5 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:04:59Z", NULL},
        {"*/5 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z"},
        {"*/5 * * * *", "2026-01-01T00:01:00Z", "2026-01-01T00:19:00Z", "2026-01-01T00:15:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cron c = parse(cases[i].schedule);
        int64_t last = 0;
        bool is_due = cron_last(&c, NULL, seconds(cases[i].after), seconds(cases[i].now), &last);

        assert_int_equal(is_due, cases[i].last != NULL);
        if (is_due)
            assert_stamp(last, cases[i].last);
    }
}

/* The naive next time: tries each minute. */
static bool is_due_at(const struct cron *c, const struct zone *z, int64_t at_s)
{
    int64_t local = at_s + zone_offset(z, at_s);
    int64_t days = floor_div(local, 86400);
    struct civil date = civil_of(days);
    bool is_day = (c->days >> date.day & 1) != 0;
    bool is_weekday = (c->weekdays >> civil_weekday(days) & 1) != 0;

    if (c->is_any_day || c->is_any_weekday ? !(is_day && is_weekday) : !(is_day || is_weekday))
        return false;
    return (c->months >> date.month & 1) && (c->hours >> (local % 86400 / 3600) & 1) &&
           (c->minutes >> (local % 3600 / 60) & 1);
}

static void agrees_with_counting_minutes(void **state)
{
    static const char *const schedules[] = {"*/7 * * * *", "30 2 * * *", "0 0-3 * * 0",
                                            "59 23 28-31 3,10 *"};
    static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"};
    static const char *const begins[] = {"2026-03-27T00:00:00Z", "2026-04-03T00:00:00Z",
                                         "2026-10-02T00:00:00Z", "2026-10-30T00:00:00Z"};

    (void)state;
    for (size_t i = 0; i < COUNT(schedules) * COUNT(zones) * COUNT(begins); i++) {
        struct cron c = parse(schedules[i % COUNT(schedules)]);
        AUTO(zone_freep) struct zone *z = load(zones[i / COUNT(schedules) % COUNT(zones)]);
        int64_t at = seconds(begins[i / COUNT(schedules) / COUNT(zones)]);
        int64_t end = at + INT64_C(4) * 86400;
        int64_t next = 0;

        assert_true(cron_next(&c, z, at, &next));
        for (at += 60; at < end; at += 60) {
            assert_int_equal(is_due_at(&c, z, at), at == next);
            if (at == next)
                assert_true(cron_next(&c, z, at, &next));
        }
    }
}

static void a_zone_is_a_name_and_no_path(void **state)
{
    static const char *const names[] = {"Mars/Base",       "/etc/localtime", "../zoneinfo/UTC",
                                        "Europe",          "Europe//Berlin", "tzdata.zi",
                                        "Europe/Berlin\n", "posixrules.x"};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct zone *z = NULL;
        AUTO(err_freep) struct err *e = zone_load(names[i], &z);

        if (!e)
            fail_msg("taken: %s", names[i]);
        assert_int_equal(err_http(e), 422);
        assert_memory_equal(err_message(e), "unknown time zone ", 18);
        assert_null(z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(tells_the_next_time),
        cmocka_unit_test(a_day_that_never_comes_is_never_due),
        cmocka_unit_test(tells_the_last_time),
        cmocka_unit_test(agrees_with_counting_minutes),
        cmocka_unit_test(a_zone_is_a_name_and_no_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
