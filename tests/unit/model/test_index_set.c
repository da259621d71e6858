/* test_index_set.c - sets of completion indexes: reading and writing */

#include "base/mem.h"
#include "model/index_set.h"
#include "prop.h"
#include "test.h"

static void says_what_is_wrong_and_leaves_the_set_alone(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {",", "indexes: want a number before and after each ',' and '-'"},
        {"1,", "indexes: want a number before and after each ',' and '-'"},
        {"1-", "indexes: want a number before and after each ',' and '-'"},
        {"-1", "indexes: want a number before and after each ',' and '-'"},
        {"3-1", "indexes: range 3-1 does not ascend"},
        {"1-1", "indexes: range 1-1 does not ascend"},
        {"2,1", "indexes: 1 after 2: want numbers in ascending order"},
        {"0-3,3", "indexes: 3 after 3: want numbers in ascending order"},
        {"10", ""}, /* num.h writes the messages about numbers */
        {"1-2-3", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct index_set set = {.count = 42};
        AUTO(err_freep) struct err *e = index_set_parse(str_of(cases[i].text), 10, &set);

        if (!e)
            fail_msg("taken: %s", cases[i].text);
        if (*cases[i].message)
            assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 422);
        assert_int_equal(set.count, 42);
    }
}

static void reads_back_what_it_writes(void **state)
{
    struct prop_seeds seeds = prop_seeds(500);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        struct index_set set = {0};
        struct index_set back = {0};
        size_t end = 1 + prop_below(&p, 300);
        AUTO_FREE char *text = NULL;
        AUTO_FREE char *again = NULL;
        AUTO(err_freep) struct err *e = NULL;

        for (size_t i = 0; i < end; i++)
            if (prop_chance(&p, 60))
                assert_true(index_set_add(&set, i));
        for (size_t i = 0; i < end; i++)
            if (prop_chance(&p, 10))
                index_set_remove(&set, i);
        text = index_set_format(&set);
        e = index_set_parse(str_of(text), end, &back);
        assert_null(e);
        again = index_set_format(&back);
        assert_string_equal(again, text);
        assert_int_equal(back.count, set.count);
        assert_int_equal(index_set_count_common(&back, &set), set.count);
        assert_int_equal(index_set_count_below(&set, end), set.count);
        index_set_done(&set);
        index_set_done(&back);
    }
}

static void writes_as_kubernetes_does(void **state)
{
    static const size_t members[] = {0, 2, 3, 5, 6, 7, 63, 64, 65, 1000};
    struct index_set set = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(members); i++)
        (void)index_set_add(&set, members[i]);
    assert_false(index_set_add(&set, 5));
    text = index_set_format(&set);
    assert_string_equal(text, "0,2,3,5-7,63-65,1000");
    assert_int_equal(index_set_count_below(&set, 7), 5);
    index_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong_and_leaves_the_set_alone),
        cmocka_unit_test(reads_back_what_it_writes),
        cmocka_unit_test(writes_as_kubernetes_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
