/* test_slurm_dependency.c - dependencies of Slurm jobs: reading and writing */

#include "base/mem.h"
#include "model/slurm_dependency.h"
#include "test.h"

static void reads_all_forms(void **state)
{
    static const struct {
        const char *text;
        const char *again; /* NULL: the same */
        size_t n;
    } cases[] = {
        {"", NULL, 0},
        {"0", "", 0},
        {"12", "afterany:12", 1},
        {"afterok:12", NULL, 1},
        {"AfterOK:12", "afterok:12", 1},
        {"afterok:12:13_4", NULL, 2},
        {"afterok:12_*", "afterok:12", 1},
        {"after:15+10:16", "after:15+10:16+10", 2},
        {"after:15:16+10", NULL, 2},
        {"after:1+5:2+3:3,after:4", "after:1+5:2+3:3+3:4", 4},
        {"after:1+5:1,after:1", "after:1+5", 1},
        {"afterok:12,afterany:13,singleton", NULL, 3},
        {"afterok:12?afternotok:13", NULL, 2},
        {"aftercorr:9", NULL, 1},
        {"afterburstbuffer:9,singleton", NULL, 2},
        {"afterok:1,afterok:2", "afterok:1:2", 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slurm_dependency d = {0};
        AUTO(err_freep) struct err *e = slurm_dependency_parse(str_of(cases[i].text), &d);
        AUTO_FREE char *again = NULL;

        if (e)
            fail_msg("%s: %s", cases[i].text, err_message(e));
        again = slurm_dependency_format(&d);
        assert_string_equal(again, cases[i].again ? cases[i].again : cases[i].text);
        assert_int_equal(d.items.n, cases[i].n);
        slurm_dependency_done(&d);
    }
}

static void keeps_the_parts_of_an_item(void **state)
{
    struct slurm_dependency d = {0};
    AUTO(err_freep) struct err *e = slurm_dependency_parse(STR("after:15_3+10?singleton"), &d);

    (void)state;
    assert_null(e);
    assert_true(d.is_any);
    assert_int_equal(d.items.at[0].type, SLURM_AFTER);
    assert_int_equal(d.items.at[0].id, 15);
    assert_int_equal(d.items.at[0].index, 3);
    assert_int_equal(d.items.at[0].minutes, 10);
    assert_int_equal(d.items.at[1].type, SLURM_SINGLETON);
    assert_int_equal(d.items.at[1].index, -1);
    slurm_dependency_done(&d);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message; /* "": num.h writes it */
    } cases[] = {
        {"afterok:1,afterok:2?afterok:3", "dependency: ',' (all) and '?' (any) cannot be mixed"},
        {"afterok", "dependency: 'afterok': want TYPE:ID[:ID...]"},
        {"afterok:1+5", "dependency: '1+5': minutes follow ids of 'after' only"},
        {"after:1+0", ""},
        {"singleton:4", "dependency: singleton has no ids"},
        {"later:1", "dependency: 'later' is not one of after, afterany, afterok, afternotok, "
                    "aftercorr, afterburstbuffer, singleton"},
        {"afterok:", ""},
        {"afterok:0", ""},
        {"afterok:-1", ""},
        {"afterok:1:", ""},
        {"afterok:1_x", ""},
        {"afterok:1,", ""},
        {"afterok:99999999999", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slurm_dependency d = {.is_any = true};
        AUTO(err_freep) struct err *e = slurm_dependency_parse(str_of(cases[i].text), &d);

        if (!e)
            fail_msg("taken: %s", cases[i].text);
        if (*cases[i].message)
            assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 422);
        assert_true(d.is_any && d.items.n == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_forms),
        cmocka_unit_test(keeps_the_parts_of_an_item),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
