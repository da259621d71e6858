/* test_sim_replay.c - replays of job traces, against results worked out by hand */

#include "base/mem.h"
#include "engine/queue/sizes.h"
#include "sim/chance.h"
#include "sim/job_trace.h"
#include "sim/openb_run.h"
#include "sim/parallel.h"
#include "sim/replay.h"
#include "sim/summary.h"
#include "test.h"

enum {
    JOBS_MOST = 8
};

static struct sim_job job(int64_t submit_s, int64_t duration_s, uint32_t gpus)
{
    return (struct sim_job){.submit_s = submit_s,
                            .duration_s = duration_s,
                            .estimate_s = duration_s,
                            .milli = (int64_t)gpus * 1000,
                            .gpus = gpus};
}

static void run(enum replay_policy policy, const struct sim_job *jobs, size_t n,
                struct replay_job *ret)
{
    const struct replay_options options = {.jobs = jobs, .n = n, .nodes = 2, .gpus_per_node = 4};
    AUTO(err_freep) struct err *e = replay_run(policy, &options, ret);

    assert_null(e);
}

/* Two nodes of four gpus; the results of each policy were worked out by hand. */
static void starts_and_ends_as_worked_out_by_hand(void **state)
{
    const struct sim_job jobs[] = {
        job(0, 100, 4), /* fills one node */
        job(1, 50, 8),  /* wants both nodes */
        job(2, 10, 2),  /* would fit at once, but stands behind */
        job(3, 20, 1),
    };
    static const struct {
        enum replay_policy policy;
        int64_t starts[4];
        int64_t ends[4];
    } cases[] = {
        /* The wide job blocks the others until the first job ends. */
        {REPLAY_FIFO, {0, 100, 150, 150}, {100, 150, 160, 170}},
        /* Shorter jobs come first, and each fits when it arrives. */
        {REPLAY_SJF, {0, 100, 2, 3}, {100, 150, 12, 23}},
        /* 1 s: the wide one takes all (50 < 99 left), the first pays 30. 2 s: the third goes before
         * it (10 < 49), it pays 30, the first fills what is left. 24 s: all others have ended, the
         * wide one (79 < 107) takes all again until 103 s; then the first has 137 s left. Each ends
         * a second later. */
        {REPLAY_SRTF, {0, 1, 2, 3}, {242, 104, 13, 24}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct replay_job done[JOBS_MOST];

        run(cases[i].policy, jobs, COUNT(jobs), done);
        for (size_t k = 0; k < COUNT(jobs); k++) {
            if (done[k].start_s != cases[i].starts[k] || done[k].end_s != cases[i].ends[k])
                fail_msg("%s, job %zu: %ld to %ld", replay_policy_name(cases[i].policy), k,
                         (long)done[k].start_s, (long)done[k].end_s);
        }
    }
}

static void fills_around_what_does_not_fit(void **state)
{
    const struct sim_job jobs[] = {job(0, 100, 4), job(1, 50, 8), job(2, 10, 2)};
    struct replay_job done[JOBS_MOST];

    (void)state;
    run(REPLAY_METE, jobs, COUNT(jobs), done);
    assert_int_equal(done[0].end_s, 100);
    assert_int_equal(done[1].start_s, 100);
    assert_int_equal(done[2].start_s, 2);
}

/* The trace spans more than 292 years, the range of nanoseconds. */
static void replays_traces_longer_than_nanoseconds_reach(void **state)
{
    struct sim_job jobs[JOBS_MOST];
    struct replay_job done[JOBS_MOST];

    (void)state;
    for (size_t i = 0; i < COUNT(jobs); i++)
        jobs[i] = job((int64_t)i, JOB_TIME_MAX_S, 8);
    for (enum replay_policy policy = REPLAY_FIFO; policy <= REPLAY_CONSERVATIVE; policy++) {
        int64_t last_s = 0;

        run(policy, jobs, COUNT(jobs), done);
        for (size_t i = 0; i < COUNT(jobs); i++)
            last_s = done[i].end_s > last_s ? done[i].end_s : last_s;
        assert_true(last_s >= JOBS_MOST * JOB_TIME_MAX_S);
    }
}

/* 5000 jobs on random clusters: no job ends before it ran, no gpu is held twice, no job is lost. */
static void keeps_its_promises(void **state)
{
    enum {
        SEEDS = 60,
        JOBS = 200,
        TIMES = 2 * JOBS
    };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct chance c = chance_of(seed);
        struct sim_job jobs[JOBS];
        struct replay_job done[JOBS];
        struct replay_options options = {.jobs = jobs, .n = JOBS};
        enum replay_policy policy = (enum replay_policy)(seed % 4);
        AUTO(err_freep) struct err *e = NULL;
        int64_t now_s = 0;

        options.nodes = 1 + (uint32_t)chance_below(&c, 4);
        options.gpus_per_node = 1 + (uint32_t)chance_below(&c, 8);
        for (size_t i = 0; i < JOBS; i++) {
            now_s += (int64_t)chance_below(&c, 60);
            jobs[i] = job(
                now_s, 1 + (int64_t)chance_below(&c, 300),
                1 + (uint32_t)chance_below(&c, (uint64_t)options.nodes * options.gpus_per_node));
            jobs[i].estimate_s = 1 + (int64_t)chance_below(&c, 300);
        }
        e = replay_run(policy, &options, done);
        assert_null(e);
        for (size_t i = 0; i < JOBS; i++) {
            assert_true(done[i].start_s >= jobs[i].submit_s);
            assert_true(replay_job_wait(&jobs[i], &done[i]) >= 0);
            if (policy == REPLAY_FIFO || policy == REPLAY_SJF)
                assert_int_equal(done[i].end_s - done[i].start_s, jobs[i].duration_s);
        }
        for (size_t i = 0; i < JOBS && policy < REPLAY_SRTF; i++) {
            uint32_t held = 0;

            for (size_t k = 0; k < JOBS; k++)
                if (done[k].start_s <= done[i].start_s && done[k].end_s > done[i].start_s)
                    held += jobs[k].gpus;
            assert_true(held <= options.nodes * options.gpus_per_node);
        }
    }
}

static void a_wrong_estimate_delays_nobody_for_ever(void **state)
{
    struct sim_job jobs[] = {job(0, 1000, 8), job(1, 1000, 8), job(2, 1000, 8)};
    struct replay_job done[JOBS_MOST];
    int64_t last_s = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(jobs); i++)
        jobs[i].estimate_s = 1;
    run(REPLAY_METE, jobs, COUNT(jobs), done);
    for (size_t i = 0; i < COUNT(jobs); i++)
        last_s = done[i].end_s > last_s ? done[i].end_s : last_s;
    assert_in_range(last_s, 3000, 4000);
}

static void refuses_a_job_larger_than_the_pool(void **state)
{
    const struct sim_job jobs[] = {job(5, 1, 9)};
    const struct replay_options options = {.jobs = jobs, .n = 1, .nodes = 2, .gpus_per_node = 4};
    struct replay_job done[1];
    AUTO(err_freep) struct err *e = replay_run(REPLAY_FIFO, &options, done);

    (void)state;
    assert_non_null(e);
    assert_string_equal(err_message(e), "the job submitted at 5 s wants 9 gpus: the pool has 8");
}

static void a_summary_has_means_a_median_and_the_makespan(void **state)
{
    const struct sim_job jobs[] = {job(10, 100, 4), job(10, 50, 8)};
    const struct replay_options options = {.jobs = jobs, .n = 2, .nodes = 2, .gpus_per_node = 4};
    struct replay_job done[2];
    struct summary s;

    (void)state;
    run(REPLAY_FIFO, jobs, 2, done);
    summary_make(&options, done, &s);
    assert_true(s.mean_jct_s > 124.99 && s.mean_jct_s < 125.01); /* 100 and 150 */
    assert_true(s.mean_wait_s > 49.99 && s.mean_wait_s < 50.01);
    assert_int_equal(s.p50_wait_s, 0);
    assert_int_equal(s.max_wait_s, 100);
    assert_int_equal(s.makespan_s, 150);
    assert_true(s.utilization > 0.6666 && s.utilization < 0.6667); /* 800 of 1200 */
}

static void knows_small_from_large(void **state)
{
    AUTO_FREE struct sizes *s = mem_alloc(sizeof(*s));

    (void)state;
    sizes_add(s, 1000);
    assert_true(s->small_below <= 1000);
    for (int i = 0; i < 980; i++)
        sizes_add(s, 10);
    for (int i = 0; i < 18; i++)
        sizes_add(s, 10000);
    sizes_add(s, 1000000);
    assert_true(s->small_below > 10 && s->small_below <= 10000);
    assert_true(s->largest_from > 10000 && s->largest_from <= 1000000);
}

static void who_is_late_is_expected_to_take_a_quarter_longer(void **state)
{
    (void)state;
    assert_int_equal(sizes_estimate(1000, 999, 60), 1000);
    assert_int_equal(sizes_estimate(1000, 1000, 60), 1250);
    assert_int_equal(sizes_estimate(1000, 1500, 60), 1562);
    assert_int_equal(sizes_estimate(1, 100, 60), 121);
    assert_true(sizes_estimate(INT64_MAX / 2, INT64_MAX, 60) >= INT64_MAX / 2);
}

static void openb_counts_attempts_by_what_was_asked_for(void **state)
{
    const struct openb_run_options options = {.policy = "bestfit", .seed = 1};
    AUTO(openb_freep) struct openb *o = openb_new();
    AUTO(err_freep) struct err *e = NULL;
    struct openb_curves c = {0};

    (void)state;
    e = openb_read_nodes(o, "n",
                         STR("sn,cpu_milli,memory_mib,gpu,model\na,4000,1024,1,T4\n"
                             "b,4000,1024,1,T4\n"));
    assert_null(e);
    e = openb_read_pods(o, "p", STR("cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,1000\n"));
    assert_null(e);
    e = openb_read_arrivals(o, "a", STR("1 0 0 0\n"));
    assert_null(e);
    e = openb_read_ranks(o, "r", STR("1 1 0\n"));
    assert_null(e);
    e = openb_run(o, &options, &c);
    assert_null(e);
    assert_int_equal(c.pods, 3);
    assert_int_equal(c.dropped, 1);
    assert_int_equal(c.allocated_milli, 2000);
    assert_true(c.has[50] && c.has[100] && !c.has[99] && !c.has[0]);
    assert_true(c.at[OPENB_ALLOC_PCT][50] > 49.9 && c.at[OPENB_ALLOC_PCT][50] < 50.1);
    assert_true(c.at[OPENB_ALLOC_PCT][100] > 99.9);
}

static void square(void *arg, size_t i)
{
    ((size_t *)arg)[i] = i * i;
}

static void runs_side_by_side_what_shares_nothing(void **state)
{
    enum {
        N = 500
    };
    size_t squares[N] = {0};

    (void)state;
    for (size_t width = 1; width <= 4; width++) {
        memset(squares, 0, sizeof(squares));
        parallel_run(N, width, square, NULL, squares);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(squares[i], i * i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_and_ends_as_worked_out_by_hand),
        cmocka_unit_test(fills_around_what_does_not_fit),
        cmocka_unit_test(replays_traces_longer_than_nanoseconds_reach),
        cmocka_unit_test(keeps_its_promises),
        cmocka_unit_test(a_wrong_estimate_delays_nobody_for_ever),
        cmocka_unit_test(refuses_a_job_larger_than_the_pool),
        cmocka_unit_test(a_summary_has_means_a_median_and_the_makespan),
        cmocka_unit_test(knows_small_from_large),
        cmocka_unit_test(who_is_late_is_expected_to_take_a_quarter_longer),
        cmocka_unit_test(openb_counts_attempts_by_what_was_asked_for),
        cmocka_unit_test(runs_side_by_side_what_shares_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
