/* test_retry.c - pauses after failures: doubled, bounded, the same from a count */

#include "base/retry.h"
#include "test.h"

static void pauses_double_up_to_the_longest(void **state)
{
    static const int64_t want[] = {100, 200, 400, 800, 1000, 1000};
    int64_t pause_ns = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(retry_pause(&pause_ns, 100, 1000), want[i]);
        assert_int_equal(pause_ns, want[i]);
        assert_int_equal(retry_pause_after((int64_t)i + 1, 100, 1000), want[i]);
    }
    assert_int_equal(retry_pause_after(0, 100, 1000), 0);
    assert_int_equal(retry_pause_after(-1, 100, 1000), 0);
    assert_int_equal(retry_pause_after(INT64_MAX, 100, 1000), 1000);
}

static void the_longest_pause_does_not_overflow(void **state)
{
    int64_t pause_ns = 1;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_true(retry_pause(&pause_ns, 1, INT64_MAX) > 0);
    assert_int_equal(pause_ns, INT64_MAX);
}

static void a_failure_begins_a_pause_that_passes(void **state)
{
    struct retry r = {0};

    (void)state;
    assert_int_equal(retry_left_ns(&r, 5), 0);
    assert_int_equal(retry_failed(&r, 5), NS_PER_SEC);
    assert_int_equal(retry_left_ns(&r, 5), NS_PER_SEC);
    assert_int_equal(retry_left_ns(&r, 5 + NS_PER_SEC), 0);
    for (int i = 0; i < 10; i++)
        (void)retry_failed(&r, 0);
    assert_int_equal(retry_left_ns(&r, 0), 60 * NS_PER_SEC);
}

static void a_failure_after_a_good_while_is_the_first(void **state)
{
    struct retry r = {0};

    (void)state;
    for (int i = 0; i < 10; i++)
        (void)retry_failed(&r, 0);
    retry_went_well(&r, RETRY_WELL_NS - 1);
    assert_int_equal(retry_failed(&r, 0), 60 * NS_PER_SEC);
    retry_went_well(&r, RETRY_WELL_NS);
    assert_int_equal(retry_failed(&r, 0), NS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_longest),
        cmocka_unit_test(the_longest_pause_does_not_overflow),
        cmocka_unit_test(a_failure_begins_a_pause_that_passes),
        cmocka_unit_test(a_failure_after_a_good_while_is_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
