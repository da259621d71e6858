/* test_sim_groups.c - shares, Jain's index and figures by group, worked out by hand */

#include <math.h>

#include "base/mem.h"
#include "sim/groups.h"
#include "test.h"

/* Ann's two jobs and bob's job want 4 gpus each; at first ann's jobs fit, then all. */
static const struct sim_job jobs[] = {
    {.submit_s = 0, .duration_s = 100, .milli = 4000, .gpus = 4, .user = 0},
    {.submit_s = 0, .duration_s = 50, .milli = 4000, .gpus = 4, .user = 0},
    {.submit_s = 20, .duration_s = 50, .milli = 4000, .gpus = 4, .user = 1},
};

static void play(struct replay_moves *moves)
{
    replay_note(moves, 0, 0, true);
    replay_note(moves, 0, 1, true);
    replay_note(moves, 50, 1, false);
    replay_note(moves, 50, 2, true);
    replay_note(moves, 100, 0, false);
    replay_note(moves, 100, 2, false);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void finds_shares_and_their_index(void **state)
{
    struct replay_moves moves = {0};
    struct share_curves curves = {.n_users = 8, .n_bins = 10};
    struct fairness_options o = {
        .jobs = jobs, .n = 3, .n_users = 3, .moves = &moves, .curves = &curves};
    double shares[3];
    double jain;

    (void)state;
    play(&moves);
    jain = fairness_find(&o, shares);
    /* Two users ask from 20 s on: 30 s with shares 1 and 0, then 50 s with 1 and 1. */
    assert_true(is_near(jain, (30 * 0.5 + 50 * 1.0) / 80));
    assert_true(is_near(shares[0], 1));
    assert_true(is_near(shares[1], 50.0 / 80));
    assert_true(isnan(shares[2])); /* asks for nothing */
    /* Ann has the most gpu time; a bin is 11 s, so that the last bin has the last moment. */
    assert_int_equal(curves.n_users, 3);
    assert_int_equal(curves.users[0], 0);
    assert_int_equal(curves.users[1], 1);
    assert_int_equal(curves.bin_s, 11);
    assert_true(is_near(curves.held[0], 8));
    assert_true(is_near(curves.held[4], (6 * 8.0 + 5 * 4.0) / 11)); /* 44 to 55 s */
    assert_true(is_near(curves.held[10 + 4], 5 * 4.0 / 11));
    assert_true(is_near(curves.held[10 + 9], 1 * 4.0 / 11)); /* ends at 100 s */
    share_curves_done(&curves);
    vec_done(&moves.all);
}

/* The demand of a job that is preempted and started again stays until its last end. */
static void counts_a_preempted_job_as_asking(void **state)
{
    static const struct sim_job two[] = {
        {.submit_s = 0, .duration_s = 20, .milli = 1000, .gpus = 1, .user = 0},
        {.submit_s = 0, .duration_s = 10, .milli = 1000, .gpus = 1, .user = 1},
    };
    struct replay_moves moves = {0};
    const struct fairness_options o = {.jobs = two, .n = 2, .n_users = 2, .moves = &moves};
    double shares[2];

    (void)state;
    replay_note(&moves, 0, 0, true);
    replay_note(&moves, 10, 0, false);
    replay_note(&moves, 10, 1, true);
    replay_note(&moves, 20, 1, false);
    replay_note(&moves, 20, 0, true);
    replay_note(&moves, 30, 0, false);
    assert_true(is_near(fairness_find(&o, shares), 0.5));
    assert_true(is_near(shares[0], 20.0 / 30));
    assert_true(is_near(shares[1], 10.0 / 20));
    vec_done(&moves.all);
}

static void sums_up_groups(void **state)
{
    static const uint32_t of[] = {0, 1, 0};
    const struct replay_options o = {.jobs = jobs, .n = 3, .nodes = 1, .gpus_per_node = 8};
    const struct replay_job done[] = {
        {.start_s = 0, .end_s = 100},
        {.start_s = 0, .end_s = 50},
        {.start_s = 50, .end_s = 107, .lost_s = 7, .preemptions = 1},
    };
    struct summary s;

    (void)state;
    summary_of_group(&o, done, of, 0, &s);
    assert_int_equal(s.jobs, 2);
    assert_true(is_near(s.mean_wait_s, (0 + 30) / 2.0));
    assert_true(is_near(s.gpu_s, 4 * 150));
    assert_true(is_near(s.lost_s, 4 * 7));
    assert_int_equal(s.preemptions, 1);
    assert_int_equal(s.p99_jct_s, 87);
    summary_of_group(&o, done, of, 2, &s);
    assert_int_equal(s.jobs, 0);
}

static void a_size_has_its_class(void **state)
{
    static const struct {
        int64_t milli;
        const char *name;
    } cases[] = {{1, "<1"},     {999, "<1"},    {1000, "1"},      {1500, "2-4"}, {4000, "2-4"},
                 {8000, "5-8"}, {9000, "9-16"}, {64000, "17-64"}, {65000, "65+"}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(size_class_name(size_class_of(cases[i].milli)), cases[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_shares_and_their_index),
        cmocka_unit_test(counts_a_preempted_job_as_asking),
        cmocka_unit_test(sums_up_groups),
        cmocka_unit_test(a_size_has_its_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
