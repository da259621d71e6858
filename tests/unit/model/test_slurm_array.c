/* test_slurm_array.c - indexes of Slurm's job arrays, and names of jobs */

#include "base/mem.h"
#include "model/slurm_array.h"
#include "test.h"

static void reads_all_forms(void **state)
{
    static const struct {
        const char *text;
        const char *indexes;
        int64_t limit;
    } cases[] = {
        {"0-15%4", "0-15", 4},   {"1,3,5,7", "1,3,5,7", 0},
        {"1-13:2", "1-13:2", 0}, {"7,1-2,2-3", "1-3,7", 0},
        {"5", "5", 0},           {"0-10:5,3%1", "0,3,5,10", 1},
        {"1-2", "1-2", 0},       {"0-4:4", "0,4", 0},
        {"0-4:2", "0,2,4", 0},   {"0-12:3", "0,3,6,9,12", 0},
        {"0-15:3", "0-15:3", 0}, {"0-11:2", "0,2,4,6,8,10", 0},
        {"0-10:20", "0", 0},     {"0-12:2,13", "0,2,4,6,8,10,12-13", 0},
        {"1-3%0", "1-3", 0},     {"[1-3%2]", "1-3", 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_array_done) struct slurm_array a = {0};
        AUTO(err_freep) struct err *e = slurm_array_parse(str_of(cases[i].text), 1000, &a);
        AUTO_FREE char *text = NULL;

        if (e)
            fail_msg("%s: %s", cases[i].text, err_message(e));
        text = slurm_array_format_indexes(&a.indexes, 0);
        assert_string_equal(text, cases[i].indexes);
        assert_int_equal(a.limit, cases[i].limit);
    }
}

/* The texts are those of Slurm 22.05 with SLURM_BITSTR_LEN. */
static void cuts_long_lists(void **state)
{
    static const char list[] =
        "100,102,104,106,108,110,112,114,116,118,120,122,124,126,128,131,133";
    static const struct {
        size_t size_max;
        const char *text;
    } cases[] = {
        {64, "100,102,104,106,108,110,112,114,116,118,120,122,124,126,128,..."},
        {62, "100,102,104,106,108,110,112,114,116,118,120,122,124,126,12..."},
        {10, "100,10..."},
        {4, "..."},
        {3, ".."},
        {2, "."},
        {1, ""},
        {sizeof(list) + 1, "100,102,104,106,108,110,112,114,116,118,120,122,124,126,128,131,1..."},
        {sizeof(list) + 2, list},
        {4096, list},
        {0, list},
    };
    AUTO(slurm_array_done) struct slurm_array a = {0};
    AUTO(err_freep) struct err *e = slurm_array_parse(str_of(list), 1000, &a);

    (void)state;
    assert_null(e);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = slurm_array_format_indexes(&a.indexes, cases[i].size_max);

        assert_string_equal(text, cases[i].text);
    }
}

static void tells_the_largest_step(void **state)
{
    static const struct {
        const char *text;
        int64_t step;
    } cases[] = {{"1-3", 1}, {"0-10:20", 20}, {"0-10:5,1-9:2", 5}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_array_done) struct slurm_array a = {0};
        AUTO(err_freep) struct err *e = slurm_array_parse(str_of(cases[i].text), 1000, &a);

        assert_null(e);
        assert_int_equal(a.step, cases[i].step);
    }
}

static void says_what_is_wrong(void **state)
{
    static const char *const cases[] = {"",    ",",     "1-",     "-1",   "3-1",
                                        "1:2", "1-9:0", "1-9:",   "x",    "1%",
                                        "1%x", "1000",  "1-5%-1", "1,,2", "1-1000000000"};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slurm_array a = {.limit = 42};
        AUTO(err_freep) struct err *e = slurm_array_parse(str_of(cases[i]), 1000, &a);

        if (!e)
            fail_msg("taken: %s", cases[i]);
        assert_true(text_starts_with(err_message(e), "array: "));
        assert_int_equal(a.limit, 42);
    }
}

static void reads_names_of_jobs(void **state)
{
    static const struct {
        const char *text;
        int64_t id; /* 0: an error */
        const char *indexes;
        const char *step;
        int64_t component; /* 0: none, else one more */
    } cases[] = {
        {"12", 12, "", NULL, 0},
        {"12_3", 12, "3", NULL, 0},
        {"12_[1-3,8]", 12, "1-3,8", NULL, 0},
        {"12_[0-5,7%3]", 12, "0-5,7", NULL, 0},
        {"12.0", 12, "", "0", 0},
        {"12_3.batch", 12, "3", "batch", 0},
        {"12_*", 12, "", NULL, 0},
        {"12+0", 12, "", NULL, 1},
        {"12+1.batch", 12, "", "batch", 2},
        {"12+", 0, NULL, NULL, 0},
        {"12+x", 0, NULL, NULL, 0},
        {"12+1_3", 0, NULL, NULL, 0},
        {"12+128", 0, NULL, NULL, 0},
        {"0", 0, NULL, NULL, 0},
        {"x", 0, NULL, NULL, 0},
        {"12_", 0, NULL, NULL, 0},
        {"12_[3-", 0, NULL, NULL, 0},
        {"12.", 0, NULL, NULL, 0},
        {"-1", 0, NULL, NULL, 0},
        {"", 0, NULL, NULL, 0},
        {"99999999999", 0, NULL, NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_job_name_done) struct slurm_job_name n = {0};
        AUTO(err_freep) struct err *e = slurm_job_name_parse(str_of(cases[i].text), &n);
        AUTO_FREE char *text = NULL;

        if ((e != NULL) != (cases[i].id == 0))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (e)
            continue;
        text = index_set_format(&n.indexes);
        assert_int_equal(n.id, cases[i].id);
        assert_string_equal(text, cases[i].indexes);
        assert_true(text_equal(n.step, cases[i].step));
        assert_int_equal(n.component, cases[i].component - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_forms),        cmocka_unit_test(cuts_long_lists),
        cmocka_unit_test(tells_the_largest_step), cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(reads_names_of_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
