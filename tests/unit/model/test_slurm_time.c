/* test_slurm_time.c - times of Slurm's commands: reading and writing */

#include "base/stamp.h"
#include "base/str.h"
#include "model/slurm_time.h"
#include "test.h"

/* An hour ahead of UTC. */
static int64_t zone_ahead(int64_t utc_ns)
{
    (void)utc_ns;
    return 3600 * NS_PER_SEC;
}

static void reads_time_limits(void **state)
{
    static const struct {
        const char *text;
        int64_t minutes; /* -2: an error */
    } cases[] = {
        {"90", 90},        {"0", 0},          {"1:30", 2},
        {"1:00", 1},       {"04:00:00", 240}, {"1-0", 1440},
        {"2-12", 3600},    {"1-2:03", 1563},  {"1-2:03:01", 1564},
        {"-1", -1},        {"UNLIMITED", -1}, {"infinite", -1},
        {"", -2},          {"x", -2},         {"1:", -2},
        {"1:2:3:4", -2},   {"1-", -2},        {"-2", -2},
        {"1-2-3", -2},     {" 1", -2},        {"99999999999", -2},
        {"9999999-0", -2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t minutes = -2;
        AUTO(err_freep) struct err *e = slurm_minutes_parse(str_of(cases[i].text), &minutes);

        if ((e != NULL) != (cases[i].minutes == -2))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (!e)
            assert_int_equal(minutes, cases[i].minutes);
    }
}

static void writes_spans(void **state)
{
    static const struct {
        int64_t seconds;
        const char *all;
        const char *brief;
    } cases[] = {
        {0, "00:00:00", "0:00"},       {303, "00:05:03", "5:03"},
        {3600, "01:00:00", "1:00:00"}, {90061, "1-01:01:01", "1-01:01:01"},
        {-1, "INVALID", "INVALID"},
    };
    char text[SLURM_TIME_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        slurm_elapsed_format(cases[i].seconds, text);
        assert_string_equal(text, cases[i].all);
        slurm_elapsed_format_short(cases[i].seconds, text);
        assert_string_equal(text, cases[i].brief);
    }
    slurm_minutes_format(SLURM_UNLIMITED, text);
    assert_string_equal(text, "UNLIMITED");
    slurm_minutes_format(1501, text);
    assert_string_equal(text, "1-01:01:00");
    slurm_cpu_time_format(12, text);
    assert_string_equal(text, "00:00.012");
    slurm_cpu_time_format(61000, text);
    assert_string_equal(text, "00:01:01");
    slurm_cpu_time_format(3600001, text);
    assert_string_equal(text, "01:00:00");
}

/* Now is Tuesday 2026-11-24 12:30:00 in the zone. */
static void reads_moments(void **state)
{
    static const struct {
        const char *text;
        const char *want; /* in the zone; NULL: an error */
        bool is_future;
    } cases[] = {
        {"now", "2026-11-24T12:30:00", false},
        {"now+1hour", "2026-11-24T13:30:00", true},
        {"now+90", "2026-11-24T12:31:30", true},
        {"now-2days", "2026-11-22T12:30:00", false},
        {"now+1weeks", "2026-12-01T12:30:00", true},
        {"now+5min", "2026-11-24T12:35:00", true},
        {"today", "2026-11-24T00:00:00", false},
        {"tomorrow", "2026-11-25T00:00:00", true},
        {"midnight", "2026-11-24T00:00:00", false},
        {"midnight", "2026-11-25T00:00:00", true},
        {"noon", "2026-11-25T12:00:00", true},
        {"teatime", "2026-11-24T16:00:00", true},
        {"16:00", "2026-11-24T16:00:00", true},
        {"11:00", "2026-11-25T11:00:00", true},
        {"11:00", "2026-11-24T11:00:00", false},
        {"4:05:06 PM", "2026-11-24T16:05:06", true},
        {"12:00AM", "2026-11-24T00:00:00", false},
        {"2026-12-24", "2026-12-24T00:00:00", true},
        {"2026-12-24T18:00", "2026-12-24T18:00:00", true},
        {"2026-12-24-18:00:01", "2026-12-24T18:00:01", true},
        {"1970-01-01", "Unknown", false},
        {"1224", "2026-12-24T00:00:00", true},
        {"122427", "2027-12-24T00:00:00", true},
        {"12/24", "2026-12-24T00:00:00", true},
        {"12/24/27-10:00", "2027-12-24T10:00:00", true},
        {"12.24.2027", "2027-12-24T00:00:00", true},
        {"0101", "2027-01-01T00:00:00", true},
        {"11/24-11:00", "2027-11-24T11:00:00", true},
        {"11/24-13:00", "2026-11-24T13:00:00", true},
        {"1123-15:00", "2027-11-23T15:00:00", true},
        {"0101", "2026-01-01T00:00:00", false},
        {"uts1795519800", "2026-11-24T12:30:00", false},
        {"nowx", NULL, true},
        {"now+", NULL, true},
        {"now+1year", NULL, true},
        {"25:00", NULL, true},
        {"13:00PM", NULL, true},
        {"2026-13-01", NULL, true},
        {"2026-12-32", NULL, true},
        {"2026-12-24Tx", NULL, true},
        {"x", NULL, true},
        {"", NULL, true},
    };
    const int64_t now = 1795519800;
    char text[SLURM_TIME_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t at = -2;
        AUTO(err_freep)
        struct err *e =
            slurm_moment_parse(str_of(cases[i].text), now, zone_ahead, cases[i].is_future, &at);

        if ((e != NULL) != (cases[i].want == NULL))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (e)
            continue;
        slurm_stamp_format(at, zone_ahead, "Unknown", text);
        if (!text_equal(text, cases[i].want))
            fail_msg("%s: %s, not %s", cases[i].text, text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_time_limits),
        cmocka_unit_test(writes_spans),
        cmocka_unit_test(reads_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
