/* test_num.c - integers, durations, sorting, scattering */

#include "base/num.h"
#include "test.h"

static void reads_integers_within_their_range(void **state)
{
    static const struct {
        const char *text;
        int64_t min;
        int64_t max;
        int64_t value;
    } cases[] = {
        {"0", 0, 0, 0},
        {"-0", 0, 0, 0},
        {"007", 0, 9, 7},
        {"-5", -5, 5, -5},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 42;

        assert_null(num_parse_int64(str_of(cases[i].text), cases[i].min, cases[i].max, &value));
        assert_int_equal(value, cases[i].value);
    }
}

static void refuses_what_is_not_all_a_number_in_range(void **state)
{
    static const char *const cases[] = {
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "1x",
        "0x1",
        "1.0",
        "--1",
        "11",
        "-6",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 42;
        AUTO(err_freep) struct err *e = num_parse_int64(str_of(cases[i]), -5, 10, &value);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
        assert_int_equal(value, 42);
    }
}

static void says_what_was_found_and_what_would_be_right(void **state)
{
    int64_t value = 0;
    uint64_t natural = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(STR("12x"), -5, 10, &value);
    AUTO(err_freep) struct err *f = num_parse_uint64(STR("11"), 10, &natural);

    (void)state;
    assert_string_equal(err_message(e), "number '12x': want an integer from -5 to 10");
    assert_string_equal(err_message(f), "number '11': want an integer from 0 to 10");
}

static void reads_naturals_up_to_the_last(void **state)
{
    uint64_t value = 0;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    assert_null(num_parse_uint64(STR("18446744073709551615"), UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    e = num_parse_uint64(STR("18446744073709551616"), UINT64_MAX, &value);
    assert_non_null(e);
}

static void reads_hexadecimal_digits_of_either_case(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"f", 15},
        {"0000000000004000", 0x4000},
        {"0123456789abcdef", UINT64_C(0x0123456789abcdef)},
        {"FeDcBa9876543210", UINT64_C(0xfedcba9876543210)},
        {"ffffffffffffffff", UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 42;

        assert_null(num_parse_hex(str_of(cases[i].text), &value));
        assert_true(value == cases[i].value);
    }
}

static void refuses_what_is_not_all_hexadecimal_digits(void **state)
{
    /* Includes the neighbours of '0', '9', 'A', 'F', 'a' and 'f', and characters that differ by one
     * bit. */
    static const char *const cases[] = {
        "",
        "0x1",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "/",
        ":",
        "@",
        "G",
        "`",
        "g",
        "\x10",
        "\x19",
        "\xe1",
        "\xb0",
        "00000000000000000",
        "1ffffffffffffffff",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 42;
        AUTO(err_freep) struct err *e = num_parse_hex(str_of(cases[i]), &value);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
        assert_int_equal(value, 42);
    }
}

static void says_what_was_found_instead_of_hexadecimal_digits(void **state)
{
    uint64_t value = 0;
    AUTO(err_freep) struct err *e = num_parse_hex(STR("12x"), &value);

    (void)state;
    assert_string_equal(err_message(e), "number '12x': want 1 to 16 hexadecimal digits");
}

static void reads_durations_of_each_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"300ms", 300000000},
        {"10s", 10000000000},
        {"5m", 300000000000},
        {"1h30m", 5400000000000},
        {"2d", 172800000000000},
        {"0s", 0},
        {"1us", 1000},
        {"7ns", 7},
        {"1d1h1m1s1ms", 90061001000000},
        {"1m1m", 120000000000},
        {"9223372036s", 9223372036000000000},
        {"1.5h", 5400000000000},
        {"1m1.25s", 61250000000},
        {"0.1234567891s", 123456789},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = -1;

        assert_null(num_parse_duration(str_of(cases[i].text), &ns));
        assert_int_equal(ns, cases[i].ns);
    }
}

static void refuses_durations_without_units_or_past_the_end(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "duration '': want numbers with units, as in 1h30m"},
        {"0", "duration '0': want numbers with units, as in 1h30m"},
        {"5", "duration '5': want numbers with units, as in 1h30m"},
        {"1h30", "duration '1h30': want numbers with units, as in 1h30m"},
        {"-1s", "duration '-1s': want numbers with units, as in 1h30m"},
        {"s", "duration 's': want numbers with units, as in 1h30m"},
        {"1.h", "duration '1.h': want numbers with units, as in 1h30m"},
        {".5h", "duration '.5h': want numbers with units, as in 1h30m"},
        {"1.5.5h", "duration '1.5.5h': want numbers with units, as in 1h30m"},
        {"9223372036.9s", "duration '9223372036.9s': over 292 years"},
        {"1y", "duration '1y': want numbers with units, as in 1h30m"},
        {"9223372037s", "duration '9223372037s': over 292 years"},
        {"99999999999999999999ns", "duration '99999999999999999999ns': over 292 years"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 42;
        AUTO(err_freep) struct err *e = num_parse_duration(str_of(cases[i].text), &ns);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(ns, 42);
    }
}

static void sorts_and_keeps_each_once(void **state)
{
    int64_t at[] = {3, INT64_MIN, 3, 0, INT64_MAX, 0};

    (void)state;
    assert_int_equal(num_sort_unique(at, 6), 4);
    assert_true(at[0] == INT64_MIN && at[1] == 0 && at[2] == 3 && at[3] == INT64_MAX);
    assert_int_equal(num_sort_unique(at, 0), 0);
}

static void scatters_as_published(void **state)
{
    (void)state;
    /* the first numbers of splitmix64 from seed 1234567 */
    assert_true(num_scatter(1234567 + NUM_SCATTER_STEP) == UINT64_C(6457827717110365317));
    assert_true(num_scatter(1234567 + 2 * NUM_SCATTER_STEP) == UINT64_C(3203168211198807973));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_integers_within_their_range),
        cmocka_unit_test(refuses_what_is_not_all_a_number_in_range),
        cmocka_unit_test(says_what_was_found_and_what_would_be_right),
        cmocka_unit_test(reads_naturals_up_to_the_last),
        cmocka_unit_test(reads_hexadecimal_digits_of_either_case),
        cmocka_unit_test(refuses_what_is_not_all_hexadecimal_digits),
        cmocka_unit_test(says_what_was_found_instead_of_hexadecimal_digits),
        cmocka_unit_test(reads_durations_of_each_unit),
        cmocka_unit_test(refuses_durations_without_units_or_past_the_end),
        cmocka_unit_test(sorts_and_keeps_each_once),
        cmocka_unit_test(scatters_as_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
