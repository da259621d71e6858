/* test_engine_share.c - decayed usage, and the two formulas of fair share */

#include "engine/queue/share.h"
#include "engine_build.h"
#include "test.h"

#define HOUR (INT64_C(3600) * SECOND)

static void halves_again_and_again(void **state)
{
    (void)state;
    assert_true(decay_exp2(0, 7) == EXP2_ONE);
    assert_true(decay_exp2(7, 7) == EXP2_ONE / 2);
    assert_true(decay_exp2(14, 7) == EXP2_ONE / 4);
    assert_true(decay_exp2(UINT64_C(62) * 7, 7) == 2);
    assert_true(decay_exp2(UINT64_C(63) * 7, 7) == 0);
    assert_true(decay_exp2(UINT64_MAX, 1) == 0);
    /* 2^-0.5, 2^-0.1, 2^-3.3, to nine digits */
    assert_int_equal(decay_scale(decay_exp2(1, 2), 1000000000, EXP2_ONE), 707106781);
    assert_int_equal(decay_scale(decay_exp2(1, 10), 1000000000, EXP2_ONE), 933032991);
    assert_int_equal(decay_scale(decay_exp2(33, 10), 1000000000, EXP2_ONE), 101531549);
}

static void scales_without_overflow(void **state)
{
    (void)state;
    assert_true(decay_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_true(decay_scale(UINT64_MAX, 2, 1) == UINT64_MAX);
    assert_true(decay_scale(10, 10, 3) == 33);
}

static uint64_t used_after(int64_t hours, int64_t step_ns, uint64_t from, uint64_t held)
{
    struct decay u = {.lately = from, .then = held};

    for (int64_t left_ns = hours * HOUR; left_ns > 0; left_ns -= step_ns) {
        decay_note(&u, held, step_ns);
        decay_fold(&u, step_ns, 10 * HOUR);
    }
    return u.lately;
}

static void forgets_by_half_each_half_life(void **state)
{
    (void)state;
    assert_true(used_after(10, 10 * HOUR, 1 << 20, 0) == 1 << 19);
    assert_true(used_after(20, 10 * HOUR, 1 << 20, 0) == 1 << 18);
    assert_true(used_after(10, 10 * HOUR, 0, 1 << 20) == 1 << 19);
    assert_true(used_after(10, HOUR, 0, 1 << 20) - (1 << 19) <
                16); /* many steps give the result of one */
    assert_true(used_after(1000, HOUR, 12345, 1 << 20) == (1 << 20) - 1 ||
                used_after(1000, HOUR, 12345, 1 << 20) == 1 << 20);
}

static struct mete_engine *engine;

static struct queue_user *user_of(const char *queue, const char *user)
{
    struct queue_user *u = queue_user(queue_make(engine, queue), intern_find(engine->texts, user));

    assert_non_null(u);
    return u;
}

/* Sets a user's usage in the queue and its parents. */
static void use(const char *queue, const char *user, uint64_t pct)
{
    for (struct queue *q = queue_make(engine, queue); q; q = q->parent)
        queue_user(q, intern_find(engine->texts, user))->usage.lately = pct << 20;
}

static int setup(void **state)
{
    static const char *const names[][2] = {{"a", "a1"}, {"a", "a2"}, {"b", "b1"}, {"b", "b2"}};

    (void)state;
    engine = mete_engine_new(NULL);
    (void)set_node(engine, (struct node_spec){.name = "n", .gpus = 8});
    (void)mete_queue_set(engine, &(struct mete_queue){.name = "a", .weight = 400000000});
    (void)mete_queue_set(engine, &(struct mete_queue){.name = "b", .weight = 600000000});
    for (size_t i = 0; i < COUNT(names); i++) {
        struct mete_decisions d;

        (void)add_job(
            engine,
            (struct job_spec){.id = i + 1, .gpus = 1, .queue = names[i][0], .user = names[i][1]});
        mete_cycle(engine, SECOND, 0, &d);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mete_engine_free(engine);
    return 0;
}

static void assert_factor(const char *queue, const char *user, unsigned of_million)
{
    uint64_t got = decay_scale(user_of(queue, user)->factor, 1000000, SHARE_FACTOR_ONE);

    if (got + 2 < of_million || got > of_million + 2)
        fail_msg("%s has %u of a million, not %u", user, (unsigned)got, of_million);
}

static void fair_tree_ranks_branch_by_branch(void **state)
{
    (void)state;
    (void)mete_fairness_set(engine, &(struct mete_fairness){.formula = METE_FAIR_TREE});
    use("a", "a1",
        15); /* a has 40 of 100 shares and used 20 of 100: all its users are before those of b */
    use("a", "a2", 5);
    use("b", "b1", 80);
    use("b", "b2", 0);
    share_find(engine);
    assert_factor("a", "a2", 1000000);
    assert_factor("a", "a1", 750000);
    assert_factor("b", "b2", 500000);
    assert_factor("b", "b1", 250000);
}

static void fair_tree_sorts_below_equal_branches_together(void **state)
{
    (void)state;
    (void)mete_fairness_set(engine, &(struct mete_fairness){.formula = METE_FAIR_TREE});
    use("a", "a1", 30);
    use("a", "a2", 10);
    use("b", "b1", 60);
    use("b", "b2", 0);
    share_find(engine);
    assert_factor("b", "b2", 1000000);
    assert_factor("a", "a2", 750000);
    assert_factor("a", "a1", 500000);
    assert_factor("b", "b1", 250000);
}

static void fair_tree_gives_equals_the_same_rank(void **state)
{
    (void)state;
    (void)mete_fairness_set(engine, &(struct mete_fairness){.formula = METE_FAIR_TREE});
    use("a", "a1", 10);
    use("a", "a2", 10);
    use("b", "b1", 80);
    use("b", "b2", 0);
    share_find(engine);
    assert_factor("a", "a1", 1000000);
    assert_factor("a", "a2", 1000000);
    assert_factor("b", "b2", 500000);
}

static void classic_is_two_to_the_minus_usage_by_share(void **state)
{
    (void)state;
    use("a", "a1", 15);
    use("a", "a2", 5);
    use("b", "b1", 80);
    use("b", "b2", 0);
    share_find(engine);
    assert_factor("a", "a1", 545254); /* 2^-((0.15 + (0.20 - 0.15) / 2) / 0.20) */
    assert_factor("a", "a2", 648420); /* 2^-((0.05 + (0.20 - 0.05) / 2) / 0.20) */
    assert_factor("b", "b1", 157490); /* 2^-(0.80 / 0.30) */
    assert_factor("b", "b2", 396850); /* 2^-(0.40 / 0.30) */
    assert_int_equal(share_factor(queue_make(engine, "a"), 0), SHARE_FACTOR_ONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_again_and_again),
        cmocka_unit_test(scales_without_overflow),
        cmocka_unit_test(forgets_by_half_each_half_life),
        TEST(fair_tree_ranks_branch_by_branch),
        TEST(fair_tree_sorts_below_equal_branches_together),
        TEST(fair_tree_gives_equals_the_same_rank),
        TEST(classic_is_two_to_the_minus_usage_by_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
