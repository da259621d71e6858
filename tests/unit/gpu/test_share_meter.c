/* test_share_meter.c - what a share uses, from the driver's readings */

#include "base/mem.h"
#include "gpu/share_meter.h"
#include "test.h"

#define GIB (UINT64_C(1) << 30)

static void a_cgroup_belongs_to_the_pod_whose_uid_begins_its_name(void **state)
{
    static const struct {
        const char *text;
        bool is_of;
    } cases[] = {
        {"0::/mete/aa-bb-main-0\n", true},   {"0::/docker/x/mete/aa-bb-main-12/sub\n", true},
        {"0::/mete/aa-bbb-main-0\n", false}, {"0::/mete/xaa-bb-main-0\n", false},
        {"0::/mete/aa-bb\n", false},         {"", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(share_meter_is_of(cases[i].text, "aa-bb"), cases[i].is_of);
}

static void only_a_lasting_surplus_counts(void **state)
{
    struct share_limit limit = {.memory_bytes = 20 * GIB};
    struct share_surplus surplus = {0};
    struct share_reading reading = {.bytes = 5 * GIB};

    (void)state;
    for (int i = 0; i < SHARE_METER_KEEP - 1; i++) {
        share_meter_note(&limit, &surplus, &reading, 4 * GIB);
        assert_int_equal(limit.other_bytes, 0);
    }
    share_meter_note(&limit, &surplus, &reading, 4 * GIB);
    assert_int_equal(limit.other_bytes, 1 * GIB);
    reading.bytes = 15 * GIB; /* the program freed 10 GiB between the two readings */
    share_meter_note(&limit, &surplus, &reading, 4 * GIB);
    assert_int_equal(limit.other_bytes, 1 * GIB);
    reading.bytes = 3 * GIB; /* less than was counted, for a moment */
    share_meter_note(&limit, &surplus, &reading, 4 * GIB);
    assert_int_equal(limit.other_bytes, 0);
    assert_int_equal(limit.sample, 0); /* the driver said nothing of compute */
}

static void each_reading_of_compute_is_a_sample(void **state)
{
    struct share_limit limit = {.gpu_milli = 300};
    struct share_surplus surplus = {0};
    struct share_reading reading = {.sm_milli = 450, .has_sm = true};

    (void)state;
    share_meter_note(&limit, &surplus, &reading, 0);
    assert_int_equal(limit.used_milli, 450);
    assert_int_equal(limit.sample, 1);
    reading.sm_milli = 0;
    share_meter_note(&limit, &surplus, &reading, 0);
    assert_int_equal(limit.used_milli, 0);
    assert_int_equal(limit.sample, 2);
}

static void held_memory_is_that_of_taken_slots(void **state)
{
    struct share_state *s = mem_alloc(sizeof(*s));

    (void)state;
    s->n_slots = 3;
    s->slots[0] = (struct share_slot){.is_taken = 1, .bytes = {[1] = 5}};
    s->slots[1] = (struct share_slot){.is_taken = 0, .bytes = {[1] = 7}};
    s->slots[2] = (struct share_slot){.is_taken = 1, .bytes = {[1] = 9}};
    assert_int_equal(share_meter_held(s, 1), 14);
    assert_int_equal(share_meter_held(s, 0), 0);
    s->n_slots = UINT32_MAX; /* a tenant writes the file */
    assert_int_equal(share_meter_held(s, 1), 14);
    free(s);
}

static void a_share_is_over_when_all_readings_of_two_seconds_are(void **state)
{
    const struct share_limit limit = {.memory_bytes = 20 * GIB};
    struct share_reading reading = {.bytes = 22 * GIB + 1, .n_processes = 2};
    unsigned n = 0;

    (void)state;
    for (int i = 1; i < SHARE_METER_OVER; i++)
        assert_false(share_meter_is_over(&limit, &reading, &n));
    assert_true(share_meter_is_over(&limit, &reading, &n));
    assert_false(share_meter_is_over(&limit, &reading, &n)); /* told already */
    reading.bytes = 22 * GIB;                                /* two contexts fit */
    assert_false(share_meter_is_over(&limit, &reading, &n));
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cgroup_belongs_to_the_pod_whose_uid_begins_its_name),
        cmocka_unit_test(only_a_lasting_surplus_counts),
        cmocka_unit_test(each_reading_of_compute_is_a_sample),
        cmocka_unit_test(a_share_is_over_when_all_readings_of_two_seconds_are),
        cmocka_unit_test(held_memory_is_that_of_taken_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
