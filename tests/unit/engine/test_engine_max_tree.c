/* test_engine_max_tree.c - max trees and ladders against naive searches */

#include "base/attr.h"
#include "base/err.h"
#include "engine/ladder.h"
#include "engine/max_tree.h"
#include "prop.h"
#include "test.h"

enum {
    NUMBERS_MAX = 5000,
    CHANGES = 300
};

/* Printed when a test fails. */
static uint64_t failing_seed;

static int print_seed(void **state)
{
    (void)state;
    if (failing_seed > 0)
        print_error("seed %llu\n", (unsigned long long)failing_seed);
    failing_seed = 0;
    return 0;
}

static size_t naive_best(const uint32_t *numbers, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (numbers[i] > numbers[best])
            best = i;
    return best;
}

static void check(const struct max_tree *w, const uint32_t *numbers, size_t n)
{
    size_t want = naive_best(numbers, n);
    size_t at = SIZE_MAX;

    assert_int_equal(max_tree_best(w, &at), numbers[want]);
    assert_int_equal(at, want);
}

/* Uses few different numbers, so that many are equal. */
static void run_max_tree(uint64_t seed)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 255, 256, 257, 4096, 4097, NUMBERS_MAX};
    static uint32_t numbers[NUMBERS_MAX];
    struct prop p = {seed};
    size_t n = sizes[prop_below(&p, COUNT(sizes))];
    struct max_tree *w = max_tree_new(n);

    for (size_t i = 0; i < n; i++)
        numbers[i] = 0;
    check(w, numbers, n);
    for (int k = 0; k < CHANGES; k++) {
        size_t i = prop_chance(&p, 30) ? naive_best(numbers, n) : prop_below(&p, n);

        numbers[i] = prop_chance(&p, 30) ? 0 : (uint32_t)prop_below(&p, 8);
        max_tree_set(w, i, numbers[i]);
        assert_int_equal(max_tree_get(w, i), numbers[i]);
        check(w, numbers, n);
    }
    max_tree_clear(w);
    for (size_t i = 0; i < n; i++)
        numbers[i] = 0;
    check(w, numbers, n);
    max_tree_free(w);
}

static void finds_the_first_of_the_largest(void **state)
{
    const struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        failing_seed = seed;
        run_max_tree(seed);
    }
    failing_seed = 0;
}

/* A random number, with all numbers of bits equally likely. */
static int64_t any_size(struct prop *p)
{
    return (int64_t)(prop_next(p) >> (1 + prop_below(p, 63)));
}

static void run_ladder(uint64_t seed)
{
    int64_t steps[LADDER_STEPS_MAX];
    struct prop p = {seed};
    struct ladder l;
    size_t room = prop_below(&p, LADDER_STEPS_MAX + 1);
    size_t n = 0;
    int64_t last = -1;

    while (n < room) {
        int64_t step = last + 1 + (prop_chance(&p, 50) ? 0 : any_size(&p) / 1024);

        if (step < last)
            break;
        steps[n++] = last = step;
    }
    ladder_init(&l, steps, n);
    for (int k = 0; k < CHANGES; k++) {
        int64_t affinity = n > 0 ? steps[prop_below(&p, n)] - 1 + (int64_t)prop_below(&p, 3) : 0;
        int64_t x = prop_chance(&p, 50) ? affinity : any_size(&p);
        size_t want = 0;

        while (want < n && steps[want] <= x)
            want++;
        assert_int_equal(ladder_count(&l, x), want);
    }
}

static void counts_the_steps_below(void **state)
{
    const struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        failing_seed = seed;
        run_ladder(seed);
    }
    failing_seed = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(finds_the_first_of_the_largest, print_seed),
        cmocka_unit_test_teardown(counts_the_steps_below, print_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
