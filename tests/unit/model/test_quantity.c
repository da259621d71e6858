/* test_quantity.c - Kubernetes quantities: reading, rounding, canonical text */

#include <inttypes.h>

#include "base/mem.h"
#include "model/quantity.h"
#include "test.h"

static void reads_every_form_and_writes_it_as_kubernetes_does(void **state)
{
    static const struct {
        const char *text;
        int64_t milli;
        const char *canonical;
    } cases[] = {
        {"0", 0, "0"},
        {"0Gi", 0, "0"},
        {"-0", 0, "0"},
        {"1", 1000, "1"},
        {"+1", 1000, "1"},
        {"-1", -1000, "-1"},
        {"500m", 500, "500m"},
        {"0.5", 500, "500m"},
        {".5", 500, "500m"},
        {"5.", 5000, "5"},
        {"1000m", 1000, "1"},
        {"1500m", 1500, "1500m"},
        {"1000", 1000000, "1k"},
        {"1500", 1500000, "1500"},
        {"1k", 1000000, "1k"},
        {"1.5M", INT64_C(1500000000), "1500k"},
        {"2G", INT64_C(2000000000000), "2G"},
        {"1T", INT64_C(1000000000000000), "1T"},
        {"1P", INT64_C(1000000000000000000), "1P"},
        {"0.001E", INT64_C(1000000000000000000), "1P"},
        {"1Ki", 1024000, "1Ki"},
        {"1024Mi", INT64_C(1073741824000), "1Gi"},
        {"1.5Gi", INT64_C(1610612736000), "1536Mi"},
        {"0.5Ki", 512000, "512"},
        {"812.5Ki", 832000000, "832k"},
        {"1048577", 1048577000, "1048577"},
        {"1.5Pi", INT64_C(1688849860263936000), "1536Ti"},
        {"0.0000001Ei", INT64_C(115292150460685), "115292150460685m"},
        {"2e3", 2000000, "2e3"},
        {"2E3", 2000000, "2e3"},
        {"1e4", 10000000, "10e3"},
        {"1.5e3", 1500000, "1500"},
        {"5e-1", 500, "500e-3"},
        {"100u", 1, "1m"},
        {"1n", 1, "1m"},
        {"-1n", -1, "-1m"},
        {"1.0001", 1001, "1001m"},
        {"0.00000000000000000000000001", 1, "1m"},
        {"1e-999999999999", 1, "1e-3"},
        {"9223372036854775.807", INT64_MAX, "9223372036854775807m"},
        {"0000000000000000000000000000001", 1000, "1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[QUANTITY_TEXT_SIZE];
        struct quantity q = {0};
        AUTO(err_freep) struct err *e = quantity_parse(str_of(cases[i].text), &q);

        if (e)
            fail_msg("%s: %s", cases[i].text, err_message(e));
        assert_true(q.milli == cases[i].milli);
        quantity_format(q, text);
        assert_string_equal(text, cases[i].canonical);
    }
}

static void refuses_what_is_no_quantity_and_leaves_the_result_alone(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "want a number"},
        {"-", "want a number"},
        {".", "want a number"},
        {"1.2.3", "want a number"},
        {"1 ", "want a number"},
        {" 1", "want a number"},
        {"eight", "want a number"},
        {"1x", "want a number"},
        {"1ki", "want a number"},
        {"1K", "want a number"},
        {"1e", "want a number"},
        {"1e+", "want a number"},
        {"1e5k", "want a number"},
        {"0x10", "want a number"},
        {"NaN", "want a number"},
        {"9223372036854775.808", "want at most 9223372036854775"},
        {"18446744073709551615", "want at most"},
        {"99999999999999999999999999999999999999999999", "want at most"},
        {"1E", "want at most"},
        {"8Ei", "want at most"},
        {"1e400", "want at most"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct quantity q = {.milli = 42};
        AUTO(err_freep) struct err *e = quantity_parse(str_of(cases[i].text), &q);

        if (!e)
            fail_msg("'%s' was accepted", cases[i].text);
        assert_int_equal(err_http(e), 422);
        assert_non_null(strstr(err_message(e), cases[i].part));
        assert_int_equal(q.milli, 42);
    }
}

static void rounds_units_up(void **state)
{
    (void)state;
    assert_int_equal(quantity_units((struct quantity){.milli = 1001}), 2);
    assert_int_equal(quantity_units((struct quantity){.milli = 1000}), 1);
    assert_int_equal(quantity_units((struct quantity){.milli = 1}), 1);
    assert_int_equal(quantity_units((struct quantity){.milli = -1500}), -1);
}

/* Any value in any form is read back as the same value. */
static void reads_back_what_it_writes(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        char text[QUANTITY_TEXT_SIZE];
        struct quantity again = {0};
        struct quantity q = {0};
        struct err *e;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        q.milli = (int64_t)(seed >> (seed % 60));
        q.form = i % 3 == 0 ? QUANTITY_DECIMAL : i % 3 == 1 ? QUANTITY_BINARY : QUANTITY_EXPONENT;
        if (q.milli < 0)
            continue;
        quantity_format(q, text);
        e = quantity_parse(str_of(text), &again);
        if (e || again.milli != q.milli)
            fail_msg("%" PRId64 " was written as %s", q.milli, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form_and_writes_it_as_kubernetes_does),
        cmocka_unit_test(refuses_what_is_no_quantity_and_leaves_the_result_alone),
        cmocka_unit_test(rounds_units_up),
        cmocka_unit_test(reads_back_what_it_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
