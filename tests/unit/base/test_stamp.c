/* test_stamp.c - times against libc's calendar, RFC 3339, ages */

#include <time.h>

#include "base/stamp.h"
#include "test.h"

static void formats_in_three_precisions(void **state)
{
    int64_t ns = INT64_C(1795250580) * NS_PER_SEC + 123456789;
    char text[STAMP_TEXT_SIZE];

    (void)state;
    stamp_format(ns, text);
    assert_string_equal(text, "2026-11-21T08:43:00Z");
    stamp_format_micro(ns, text);
    assert_string_equal(text, "2026-11-21T08:43:00.123456Z");
    stamp_format_nano(ns, text);
    assert_string_equal(text, "2026-11-21T08:43:00.123456789Z");
    stamp_format_nano(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999999999Z");
    stamp_format_nano(INT64_MAX, text);
    assert_string_equal(text, "2262-04-11T23:47:16.854775807Z");
    stamp_format_nano(INT64_MIN, text);
    assert_string_equal(text, "1677-09-21T00:12:43.145224192Z");
}

/* Compares each day from 1678 to 2261 with libc's calendar, both ways. */
static void agrees_with_libc_on_every_day(void **state)
{
    (void)state;
    for (int64_t day = -106600; day < 106600; day++) {
        time_t sec = day * 86400 + 12345;
        int64_t again = 0;
        char text[STAMP_TEXT_SIZE];
        char want[STAMP_TEXT_SIZE];
        struct tm tm = {0};

        assert_non_null(gmtime_r(&sec, &tm));
        assert_true(strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
        stamp_format(sec * NS_PER_SEC, text);
        assert_string_equal(text, want);
        assert_null(stamp_parse(str_of(text), &again));
        assert_int_equal(again, sec * NS_PER_SEC);
    }
}

static void reads_fractions_and_offsets(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01T00:00:00.5Z", 500000000},
        {"1970-01-01T00:00:00.1234567899Z", 123456789},
        {"1970-01-01T02:00:00+02:00", 0},
        {"1969-12-31T16:30:00-07:30", 0},
        {"1969-12-31T23:59:59.5Z", -500000000},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800) * NS_PER_SEC},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
        {"1677-09-21T00:12:43.145224192Z", INT64_MIN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 42;

        assert_null(stamp_parse(str_of(cases[i].text), &ns));
        assert_int_equal(ns, cases[i].ns);
    }
}

static void refuses_what_is_no_time(void **state)
{
    static const char *const cases[] = {
        "",
        "2026-11-21",
        "2026-11-21T08:43:00",
        "2026-11-21 08:43:00Z",
        "2026-13-21T08:43:00Z",
        "2026-00-21T08:43:00Z",
        "2026-02-29T08:43:00Z",
        "2026-11-00T08:43:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T08:60:00Z",
        "2026-11-21T08:43:60Z",
        "2026-11-21T08:43:00.Z",
        "2026-11-21T08:43:00+0200",
        "2026-11-21T08:43:00Zx",
        "2026-11-21T08:43:00.5",
        "2262-04-11T23:47:16.854775808Z",
        "1677-09-21T00:12:43.145224191Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 42;
        AUTO(err_freep) struct err *e = stamp_parse(str_of(cases[i]), &ns);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
        assert_int_equal(ns, 42);
    }
}

static void reads_unknown_and_malformed_stamps_as_the_fallback(void **state)
{
    (void)state;
    assert_int_equal(stamp_or("1970-01-01T00:00:01Z", 42), NS_PER_SEC);
    assert_int_equal(stamp_or(NULL, 42), 42);
    assert_int_equal(stamp_or("", 42), 42);
    assert_int_equal(stamp_or("1970-01-01T00:00:01", -1), -1);
}

static void shows_ages_as_kubectl_does(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {-2, "<invalid>"},     {-1, "0s"},         {0, "0s"},        {119, "119s"},
        {120, "2m"},           {272, "4m32s"},     {599, "9m59s"},   {600, "10m"},
        {10799, "179m"},       {10800, "3h"},      {12120, "3h22m"}, {28800, "8h"},
        {172799, "47h"},       {172800, "2d"},     {187200, "2d4h"}, {691199, "7d23h"},
        {691200, "8d"},        {63071999, "729d"}, {63072000, "2y"}, {63158400, "2y1d"},
        {252287999, "7y364d"}, {252288000, "8y"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[STAMP_TEXT_SIZE];

        stamp_format_age(cases[i].seconds * NS_PER_SEC, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_in_three_precisions),
        cmocka_unit_test(agrees_with_libc_on_every_day),
        cmocka_unit_test(reads_fractions_and_offsets),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(reads_unknown_and_malformed_stamps_as_the_fallback),
        cmocka_unit_test(shows_ages_as_kubectl_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
