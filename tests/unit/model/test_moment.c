/* test_moment.c - points in time as users write them */

#include "base/stamp.h"
#include "model/moment.h"
#include "test.h"

/* Two hours ahead until 2026-10-25T01:00:00Z, then one, as in the middle of Europe. */
static int64_t europe(int64_t utc_ns)
{
    return (utc_ns < INT64_C(1792890000) * NS_PER_SEC ? 7200 : 3600) * NS_PER_SEC;
}

static int64_t ns_of(const char *text)
{
    int64_t ns = 0;
    struct err *e = stamp_parse(str_of(text), &ns);

    if (e)
        fail_msg("%s", err_message(e));
    return ns;
}

static void reads_what_people_write(void **state)
{
    static const struct {
        const char *text;
        zone_fn zone;
        const char *want;
    } cases[] = {
        {"now", NULL, "2026-11-01T00:30:00Z"},
        {"today", NULL, "2026-11-01T00:00:00Z"},
        {"yesterday", NULL, "2026-10-31T00:00:00Z"},
        {"month", NULL, "2026-11-01T00:00:00Z"},
        {"2026-02-03", NULL, "2026-02-03T00:00:00Z"},
        {"2026-02", NULL, "2026-02-01T00:00:00Z"},
        {"90m", NULL, "2026-10-31T23:00:00Z"},
        {"7d", NULL, "2026-10-25T00:30:00Z"},
        {"2026-11-01T02:00:00+02:00", NULL, "2026-11-01T00:00:00Z"},
        {"today", europe, "2026-10-31T23:00:00Z"},
        {"yesterday", europe, "2026-10-30T23:00:00Z"},
        {"month", europe, "2026-10-31T23:00:00Z"},
        {"2026-10-26", europe, "2026-10-25T23:00:00Z"},
        {"2026-10-25", europe, "2026-10-24T22:00:00Z"}, /* the day that has 25 hours */
        {"2026-07", europe, "2026-06-30T22:00:00Z"},
        {"2026-11-01T02:00:00+02:00", europe, "2026-11-01T00:00:00Z"}, /* its own offset */
    };
    int64_t now_ns = ns_of("2026-11-01T00:30:00Z");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = -1;
        struct err *e = moment_parse(str_of(cases[i].text), now_ns, cases[i].zone, &ns);

        if (e)
            fail_msg("%s", err_message(e));
        if (ns != ns_of(cases[i].want))
            fail_msg("%s: %lld", cases[i].text, (long long)ns);
    }
}

static void refuses_what_is_no_moment(void **state)
{
    static const char *const cases[] = {
        "",
        "7",
        "tomorrow",
        "2026",
        "2026-13",
        "2026-11-31",
        "2026-11-1",
        "-7d",
        "7x",
        "1969-12-31",
        "0001-01-01",
        "9999-12-31",
        "2026-11-01T00:00:00",
        "1969-12-31T23:59:59Z",
        "99999d",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 42;
        AUTO(err_freep)
        struct err *e = moment_parse(str_of(cases[i]), ns_of("2026-11-01T00:30:00Z"), NULL, &ns);

        if (!e)
            fail_msg("'%s' is taken", cases[i]);
        assert_int_equal(err_http(e), 422);
        assert_int_equal(ns, 42);
    }
}

static void says_which_day_there_is_not(void **state)
{
    int64_t ns = 42;
    AUTO(err_freep) struct err *e = moment_parse(STR("2026-13"), 0, NULL, &ns);

    (void)state;
    assert_string_equal(err_message(e), "there is no day 2026-13-01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_people_write),
        cmocka_unit_test(refuses_what_is_no_moment),
        cmocka_unit_test(says_which_day_there_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
