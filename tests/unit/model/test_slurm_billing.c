/* test_slurm_billing.c - TRESBillingWeights */

#include "base/mem.h"
#include "model/slurm_billing.h"
#include "test.h"

static void weighs_what_a_job_has(void **state)
{
    static const struct slurm_billed of = {
        .cpus = 4, .memory_mib = 6144, .nodes = 1, .gpus = 2, .model = "h100"};
    static const struct {
        const char *weights;
        int64_t sum;
        int64_t most;
    } cases[] = {
        {NULL, 4000000, 4000000},
        {"", 4000000, 4000000},
        {"CPU=1.0,Mem=0.25G,GRES/gpu=2.0", 9500000, 4000000},
        {"cpu=0,mem=1", 6144000000, 6144000000},
        {"Mem=0.5K", 3145728000000, 3145728000000},
        {"Node=7,GRES/gpu:H100=3,gres/gpu:a100=100", 13000000, 7000000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(slurm_billing_micro(cases[i].weights, &of, false), cases[i].sum);
        assert_int_equal(slurm_billing_micro(cases[i].weights, &of, true), cases[i].most);
    }
}

static void says_what_is_wrong(void **state)
{
    static const char *const bad[] = {"CPU",         "CPU=",    "CPU=x", "CPU=-1",
                                      "License/a=1", "CPU=1,,", "=1",    "Mem=G"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err *e = slurm_billing_check(bad[i]);

        if (!e)
            fail_msg("taken: %s", bad[i]);
        err_free(e);
    }
    assert_null(slurm_billing_check("CPU=1.0,Mem=0.25G,GRES/gpu=2,GRES/gpu:h100=4.5,Node=1"));
}

static void large_amounts_stay_large(void **state)
{
    static const struct slurm_billed of = {.cpus = INT64_MAX, .memory_mib = INT64_MAX, .model = ""};

    (void)state;
    assert_true(slurm_billing_micro("CPU=1000,Mem=1000K", &of, false) > INT64_MAX / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighs_what_a_job_has),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(large_amounts_stay_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
