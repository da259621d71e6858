/* test_slurm_pattern.c - names of the output files of Slurm jobs */

#include "base/mem.h"
#include "model/slurm_pattern.h"
#include "test.h"

static void expands_each_pattern(void **state)
{
    static const struct slurm_pattern_values element = {.job_id = 130,
                                                        .array_id = 123,
                                                        .array_index = 17,
                                                        .host = "n1",
                                                        .node = 2,
                                                        .task = 3,
                                                        .restarts = 1,
                                                        .user = "ann",
                                                        .name = "train"};
    static const struct slurm_pattern_values step = {
        .job_id = 7, .array_index = -1, .step = "0", .name = "/opt/x/run.sh"};
    static const struct {
        const struct slurm_pattern_values *values;
        const char *pattern;
        const char *want;
    } cases[] = {
        {&element, "slurm-%A_%a.out", "slurm-123_17.out"},
        {&element, "%j-%x-%u@%N.%b.%r", "130-train-ann@n1.7.1"},
        {&element, "%6j_%3a_%12t", "000130_017_0000000003"},
        {&element, "%J/%s/%n", "130/batch/2"},
        {&element, "100%%/%q%", "100%/%q%"},
        {&element, "\\%j-\\\\a", "%j-a"},
        {&step, "%A_%a_%J", "7_4294967294_7.0"},
        {&step, "%x.log", "run.sh.log"},
        {&step, "%u%N", ""},
        {&step, "", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *got = slurm_pattern_expand(cases[i].pattern, cases[i].values);

        assert_string_equal(got, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_each_pattern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
