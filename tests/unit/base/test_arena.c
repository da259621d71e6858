/* test_arena.c - arenas and growing arrays */

#include "base/arena.h"
#include "base/vec.h"
#include "test.h"

static void gives_zeroed_aligned_memory_of_any_size(void **state)
{
    AUTO(arena_freep) struct arena *a = arena_new();

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 20000; size = size * 2 + 1) {
            unsigned char *at = arena_alloc(a, size);

            assert_int_equal((uintptr_t)at % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(at[i], 0);
            for (size_t i = 0; i < size; i++)
                at[i] = 0xff;
        }
        arena_reset(a);
    }
}

static void copies_text_into_the_arena(void **state)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    const char *first = arena_strdup(a, "abc");
    const char *second = arena_strndup(a, "abcdef", 2);
    const char *third = arena_format(a, "%s-%06d", "x", 7);

    (void)state;
    assert_string_equal(first, "abc");
    assert_string_equal(second, "ab");
    assert_string_equal(third, "x-000007");
}

static void a_reset_before_use_is_fine(void **state)
{
    AUTO(arena_freep) struct arena *a = arena_new();

    (void)state;
    arena_reset(a);
    assert_non_null(arena_alloc(a, 0));
    arena_free(NULL);
}

static void a_fitted_vector_keeps_its_elements_and_grows_again(void **state)
{
    VEC(int) v = {0};

    (void)state;
    vec_fit(&v);
    assert_null(v.at);
    for (int i = 0; i < 9; i++)
        vec_add(&v, i);
    vec_fit(&v);
    assert_int_equal(v.room, 9);
    vec_add(&v, 9);
    for (int i = 0; i < 10; i++)
        assert_int_equal(v.at[i], i);
    vec_clear(&v);
    vec_fit(&v);
    assert_null(v.at);
    assert_int_equal(v.room, 0);
}

static void a_vector_keeps_order_when_it_loses_elements(void **state)
{
    VEC(int) v = {0};
    int sum = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        vec_add(&v, i);
    vec_remove(&v, 0);
    vec_remove(&v, 98);
    assert_int_equal(v.n, 98);
    assert_int_equal(v.at[0], 1);
    assert_int_equal(v.at[97], 98);
    VEC_EACH (&v, i)
        sum += *i;
    assert_int_equal(sum, 98 * 99 / 2);
    vec_clear(&v);
    VEC_EACH (&v, i)
        sum += *i;
    assert_int_equal(sum, 98 * 99 / 2);
    vec_done(&v);
    assert_null(v.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_aligned_memory_of_any_size),
        cmocka_unit_test(copies_text_into_the_arena),
        cmocka_unit_test(a_reset_before_use_is_fine),
        cmocka_unit_test(a_vector_keeps_order_when_it_loses_elements),
        cmocka_unit_test(a_fitted_vector_keeps_its_elements_and_grows_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
