/* test_slurm_share.c - fair shares and priorities with the digits that Slurm 22.05 printed */

#include <math.h>

#include "base/mem.h"
#include "model/slurm_priority.h"
#include "model/slurm_share.h"
#include "test.h"

enum {
    N = 16
};
#define OF_PARENT SLURM_SHARES_OF_PARENT

/* root: root; a1: u7, b1: u1, u2; b2 with the parent's shares: u3; a2: u4 likewise, u5; a3: u6;
 * acc: root */
static void make_tree(struct slurm_share at[N])
{
    static const struct slurm_share all[N] = {
        {.parent = -1, .shares = 1},
        {.parent = 0, .is_user = true, .shares = 1},
        {.parent = 0, .shares = 1},
        {.parent = 2, .is_user = true, .shares = 1, .usage = 5},
        {.parent = 2, .shares = 2},
        {.parent = 4, .is_user = true, .shares = 3, .usage = 1000.5L},
        {.parent = 4, .is_user = true, .shares = 3, .usage = 300},
        {.parent = 2, .shares = OF_PARENT},
        {.parent = 7, .is_user = true, .shares = 1, .usage = 77},
        {.parent = 0, .shares = 2},
        {.parent = 9, .is_user = true, .shares = OF_PARENT, .usage = 500},
        {.parent = 9, .is_user = true, .shares = 1, .usage = 20},
        {.parent = 0, .shares = 3},
        {.parent = 12, .is_user = true, .shares = 1},
        {.parent = 0, .shares = 1},
        {.parent = 14, .is_user = true, .shares = 1},
    };

    memcpy(at, all, sizeof(all));
}

static char *numbers_of(const struct slurm_share *s)
{
    return mem_format("%f %d %Lf %Lf %f", s->shares_norm, (int)s->usage, s->usage_norm,
                      s->usage_effective, s->factor);
}

static void assert_numbers(const struct slurm_share at[N], const char *const want[N])
{
    for (size_t i = 0; i < N; i++) {
        AUTO_FREE char *found = numbers_of(&at[i]);

        if (want[i])
            assert_string_equal(found, want[i]);
    }
}

static void ranks_users_by_fair_tree(void **state)
{
    static const char *const want[N] = {
        NULL,
        "0.125000 0 0.000000 0.000000 1.000000",
        "0.125000 1382 0.726675 0.726675 0.000000",
        "0.250000 5 0.002628 0.003617 0.444444",
        "0.500000 1300 0.683574 0.940687 0.000000",
        "0.500000 1000 0.525887 0.769319 0.111111",
        "0.500000 300 0.157687 0.230681 0.222222",
        "0.125000 77 0.040473 0.055696 0.000000",
        "0.250000 77 0.040473 0.055696 0.333333",
        "0.250000 520 0.273325 0.273325 0.000000",
        "0.250000 500 0.262812 0.961538 0.666667",
        "1.000000 20 0.010512 0.038462 0.555556",
        "0.375000 0 0.000000 0.000000 0.000000",
        "1.000000 0 0.000000 0.000000 1.000000",
        "0.125000 0 0.000000 0.000000 0.000000",
        "1.000000 0 0.000000 0.000000 1.000000",
    };
    struct slurm_share at[N];

    (void)state;
    make_tree(at);
    slurm_share_find(at, N, SLURM_SHARE_TREE, 1);
    assert_numbers(at, want);
    assert_true(isinf((double)at[1].level));
    assert_int_equal((int)(at[2].level * 1000000), 172016);
    assert_int_equal((int)(at[8].level * 1000000), 4488636);
}

static void computes_the_classic_factor(void **state)
{
    static const char *const want[N] = {
        "1.000000 1902 1.000000 1.000000 0.500000", "0.125000 0 0.000000 0.000000 1.000000",
        "0.125000 1382 0.726675 0.726675 0.017782", "0.031250 5 0.002628 0.183640 0.017022",
        "0.062500 1300 0.683574 0.705125 0.000402", "0.031250 1000 0.525887 0.615506 0.000001",
        "0.031250 300 0.157687 0.431406 0.000070",  "0.125000 77 0.040473 0.726675 0.017782",
        "0.031250 77 0.040473 0.212024 0.009070",   "0.250000 520 0.273325 0.273325 0.468689",
        "0.250000 500 0.262812 0.273325 0.468689",  "0.250000 20 0.010512 0.273325 0.468689",
        "0.375000 0 0.000000 0.000000 1.000000",    "0.375000 0 0.000000 0.000000 1.000000",
        "0.125000 0 0.000000 0.000000 1.000000",    "0.125000 0 0.000000 0.000000 1.000000",
    };
    struct slurm_share at[N];

    (void)state;
    make_tree(at);
    slurm_share_find(at, N, SLURM_SHARE_CLASSIC, 1);
    assert_numbers(at, want);
}

static void halves_usage_each_half_life(void **state)
{
    (void)state;
    assert_int_equal((int)(slurm_share_decay(7200, 3600) * 1000), 250);
    assert_int_equal((int)slurm_share_decay(7200, 0), 1);
}

/* The jobs 5 and 6 that sprio listed: 64 of 64 cpus; 3 cpus and a nice value of 77. */
static void adds_the_factors(void **state)
{
    static const char *const parameters[][2] = {
        {"PriorityWeightAge", "1000"},      {"PriorityWeightFairshare", "10000"},
        {"PriorityWeightJobSize", "500"},   {"PriorityWeightQOS", "2000"},
        {"PriorityWeightPartition", "100"}, {"PriorityMaxAge", "1-0"},
        {"priorityflags", "NO_FAIR_TREE"},  {"SchedulerType", "sched/backfill"},
    };
    struct slurm_priority_job job = {.fairshare = 1,
                                     .partition = 1,
                                     .cpus = 64,
                                     .nodes = 1,
                                     .cluster_cpus = 64,
                                     .cluster_nodes = 1};
    struct slurm_priority_policy p;

    (void)state;
    slurm_priority_policy_default(&p);
    assert_false(slurm_priority_is_on(&p));
    for (size_t i = 0; i < COUNT(parameters); i++)
        assert_null(slurm_priority_policy_set(&p, parameters[i][0], parameters[i][1]));
    assert_true(slurm_priority_is_on(&p));
    assert_true(p.is_classic);
    assert_int_equal(slurm_priority_find(&p, &job).priority, 10600);
    job.cpus = 3;
    job.nice = 77;
    assert_int_equal(slurm_priority_find(&p, &job).priority, 10284);
    job.waited_s = 43200;
    job.qos = 0.5;
    assert_int_equal(slurm_priority_find(&p, &job).priority, 10284 + 500 + 1000);
    job.waited_s = 1000000;
    assert_int_equal(slurm_priority_find(&p, &job).priority, 10284 + 1000 + 1000);
    job.nice = 1000000;
    assert_int_equal(slurm_priority_find(&p, &job).priority, 1);
    slurm_priority_policy_done(&p);
}

static void counts_resources_and_refuses_what_is_malformed(void **state)
{
    static const char *const wrong[][2] = {{"PriorityWeightAge", "-1"},
                                           {"PriorityWeightTRES", "cpu"},
                                           {"PriorityCalcPeriod", "x"},
                                           {"FairShareDampeningFactor", "0"}};
    struct slurm_tres asked = {0};
    struct slurm_tres cluster = {0};
    struct slurm_priority_job job = {.asked = &asked, .cluster = &cluster};
    struct slurm_priority_policy p;

    (void)state;
    slurm_priority_policy_default(&p);
    assert_null(slurm_priority_policy_set(&p, "PriorityWeightTRES", "CPU=1000,GRES/gpu=3000"));
    assert_null(slurm_priority_policy_set(&p, "PriorityCalcPeriod", "00:00:05"));
    assert_int_equal(p.calc_period_s, 5);
    slurm_tres_set(&asked, "cpu", 16);
    slurm_tres_set(&asked, "gres/gpu", 1);
    slurm_tres_set(&cluster, "cpu", 64);
    slurm_tres_set(&cluster, "gres/gpu", 4);
    assert_int_equal(slurm_priority_find(&p, &job).priority, 250 + 750);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        AUTO(err_freep)
        struct err *e = slurm_priority_policy_set(&p, wrong[i][0], wrong[i][1]);

        assert_non_null(e);
    }
    slurm_tres_done(&asked);
    slurm_tres_done(&cluster);
    slurm_priority_policy_done(&p);
}

static void reads_and_writes_resources(void **state)
{
    static const struct {
        const char *text;
        const char *want; /* NULL: an error */
    } cases[] = {
        {"cpu=4,mem=16384,gres/gpu=2", "cpu=4,mem=16G,gres/gpu=2"},
        {"GRES/GPU:H100=2,node=1,CPU=3", "cpu=3,node=1,gres/gpu:h100=2"},
        {"mem=1500M", "mem=1500M"},
        {"cpu=2K", "cpu=2048"},
        {"cpu=1,cpu=2", "cpu=2"},
        {"cpu=-1", ""},
        {"", ""},
        {"cpu", NULL},
        {"cpu=", NULL},
        {"cpu=x", NULL},
        {"cpu=-2", NULL},
        {"beer=1", NULL},
        {"cpu=9223372036854775807K", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slurm_tres t = {0};
        AUTO(err_freep) struct err *e = slurm_tres_parse(str_of(cases[i].text), &t);
        AUTO_FREE char *text = slurm_tres_format(&t);

        if ((e != NULL) != !cases[i].want)
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (!e)
            assert_string_equal(text_or_empty(text), cases[i].want);
        slurm_tres_done(&t);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_users_by_fair_tree),
        cmocka_unit_test(computes_the_classic_factor),
        cmocka_unit_test(halves_usage_each_half_life),
        cmocka_unit_test(adds_the_factors),
        cmocka_unit_test(counts_resources_and_refuses_what_is_malformed),
        cmocka_unit_test(reads_and_writes_resources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
