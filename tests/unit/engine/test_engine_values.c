/* test_engine_values.c - placing by a learned table */

#include <stdlib.h>

#include "base/mem.h"
#include "engine_build.h"
#include "test.h"

enum {
    SIZE = METE_VALUES_SIZE(1),
    ROW = METE_VALUES_LEVELS
};

static const int64_t cpu_steps[] = {4000};
static const struct mete_price prices[] = {{"h100", 900}};

/* A table: below 4 cpus for each idle gpu all compute stays idle, above none, but half of a gpu
 * always. */
static int32_t *new_idle(void)
{
    int32_t *idle = mem_alloc(SIZE * sizeof(*idle));

    for (int i = 0; i < SIZE; i++) {
        int level = i % ROW;

        idle[i] = i < SIZE / 2 || level == 50 ? level * 10000 : 0;
    }
    return idle;
}

static struct mete_values values_of(const int32_t *idle)
{
    return (struct mete_values){
        .id = "one", .cpu_steps = cpu_steps, .n_cpu_steps = 1, .idle = idle};
}

static const char *node_of_job(struct mete_engine *e, struct job_spec job)
{
    struct mete_decisions d = {0};

    assert_int_equal(add_job(e, job), METE_OK);
    mete_cycle(e, 0, 0, &d);
    return d.n_placements == 1 ? d.placements[0].pods[0].node : "none";
}

static struct mete_engine *new_engine(const char *policy)
{
    const struct mete_options options = {.policy = policy};
    struct mete_engine *e = mete_engine_new(&options);

    assert_non_null(e);
    return e;
}

static void refuses_a_table_that_cannot_be(void **state)
{
    static const int64_t backwards[] = {4000, 4000};
    static const struct mete_price dear[] = {{"h100", 1001}};
    static const struct mete_price nameless[] = {{"", 1}};
    AUTO_FREE int32_t *good = new_idle();
    AUTO_FREE int32_t *large = new_idle();
    AUTO_FREE int32_t *less = new_idle();
    AUTO_FREE int32_t *two = mem_alloc(METE_VALUES_SIZE(2) * sizeof(*two));
    const struct {
        struct mete_values values;
        const char *message;
    } cases[] = {
        {{.id = "", .cpu_steps = cpu_steps, .n_cpu_steps = 1, .idle = good},
         "a value table needs an id of 1 to 64 bytes"},
        {{.id = "x", .cpu_steps = backwards, .n_cpu_steps = 2, .idle = two},
         "cpu step 1 of a value table: they must ascend from 0"},
        {{.id = "x", .cpu_steps = cpu_steps, .n_cpu_steps = 65, .idle = good},
         "a value table has 65 cpu steps and 0 prices: at most 64 and 256"},
        {{.id = "x", .cpu_steps = cpu_steps, .n_cpu_steps = 1, .idle = large},
         "entry 7 of a value table is 1000001: want 0 to 1000000, a gpu"},
        {{.id = "x", .cpu_steps = cpu_steps, .n_cpu_steps = 1, .idle = less},
         "entry 1817 of a value table is -1: want 0 to 1000000, a gpu"},
        {{.id = "x",
          .cpu_steps = cpu_steps,
          .n_cpu_steps = 1,
          .idle = good,
          .prices = dear,
          .n_prices = 1},
         "price 0 of a value table: want a model and 0 to 1000"},
        {{.id = "x",
          .cpu_steps = cpu_steps,
          .n_cpu_steps = 1,
          .idle = good,
          .prices = nameless,
          .n_prices = 1},
         "price 0 of a value table: want a model and 0 to 1000"},
        {{.id = "x",
          .cpu_steps = cpu_steps,
          .n_cpu_steps = 1,
          .idle = good,
          .fragment_milli = 1001},
         "a value table counts 1001/1000 of the fragment: want at most all of it"},
    };
    struct mete_engine *e = new_engine("mete");
    const struct mete_values known = values_of(good);

    (void)state;
    large[7] = 1000001;
    less[SIZE - 1] = -1;
    assert_null(mete_values_id(e));
    assert_int_equal(mete_values_set(e, &known), METE_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(mete_values_set(e, &cases[i].values), METE_INVALID);
        assert_string_equal(mete_last_error(e), cases[i].message);
        assert_string_equal(mete_values_id(e), "one"); /* the old table stays */
    }
    assert_int_equal(mete_values_set(e, NULL), METE_OK);
    assert_null(mete_values_id(e));
    mete_engine_free(e);
}

/* Node a has cpu to spare; on b the pod leaves its gpus without cpu. */
static void goes_where_least_will_stay_idle(void **state)
{
    static const struct node_spec spare = {.name = "b", .gpus = 2, .cpu = 32000};
    static const struct node_spec tight = {.name = "a", .gpus = 2, .cpu = 8000};
    AUTO_FREE int32_t *idle = new_idle();
    const struct mete_values v = values_of(idle);
    struct mete_engine *e = new_engine("mete");

    (void)state;
    assert_int_equal(set_node(e, spare), METE_OK);
    assert_int_equal(set_node(e, tight), METE_OK);
    assert_int_equal(mete_values_set(e, &v), METE_OK);
    assert_string_equal(node_of_job(e, (struct job_spec){.id = 1, .cpu = 2000}), "b");
    /* 8 cpus for 2 gpus are enough while both gpus are idle */
    assert_string_equal(node_of_job(e, (struct job_spec){.id = 2, .gpus = 1, .cpu = 6000}), "b");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

/* By the table half of a gpu stays idle: the second quarter goes to the other gpu. */
static void takes_the_gpu_that_the_table_says(void **state)
{
    static const struct node_spec node = {.name = "a", .gpus = 2, .cpu = 64000};
    static const char *const uuids[] = {"a-0", "a-1"};
    AUTO_FREE int32_t *idle = new_idle();
    const struct mete_values v = values_of(idle);
    struct mete_engine *e = new_engine("mete");

    (void)state;
    assert_int_equal(set_node(e, node), METE_OK);
    assert_int_equal(mete_values_set(e, &v), METE_OK);
    for (uint64_t id = 1; id <= 2; id++) {
        struct mete_decisions d = {0};

        assert_int_equal(
            add_job(e, (struct job_spec){.id = id, .gpus = 1, .milli = 250, .cpu = 100}), METE_OK);
        mete_cycle(e, 0, 0, &d);
        assert_int_equal(d.n_placements, 1);
        assert_string_equal(d.placements[0].pods[0].gpus[0], uuids[id - 1]);
    }
    mete_engine_free(e);
}

static void keeps_off_models_that_have_a_price(void **state)
{
    static const struct node_spec dear = {.name = "a", .gpus = 1};
    static const struct node_spec cheap = {.name = "b", .gpus = 1, .model = "l4"};
    AUTO_FREE int32_t *idle = new_idle();
    struct mete_values v = values_of(idle);
    struct mete_engine *e = new_engine("mete");

    (void)state;
    assert_int_equal(set_node(e, dear), METE_OK);
    assert_int_equal(set_node(e, cheap), METE_OK);
    assert_int_equal(mete_values_set(e, &v), METE_OK);
    assert_string_equal(node_of_job(e, (struct job_spec){.id = 1, .gpus = 1}), "a");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    v.prices = prices;
    v.n_prices = 1;
    assert_int_equal(mete_values_set(e, &v), METE_OK);
    assert_string_equal(node_of_job(e, (struct job_spec){.id = 2, .gpus = 1}), "b");
    assert_string_equal(node_of_job(e, (struct job_spec){.id = 3, .gpus = 1}), "a");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

static void places_as_fgd_does_without_a_table(void **state)
{
    static const char *const policies[] = {"fgd", "mete"};
    const char *nodes[2][12];
    char names[2][12][16];

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        struct mete_engine *e = new_engine(policies[p]);
        struct mete_pod_set half = {.name = "half", .count = 1, .gpus = 1, .gpu_milli = 500};
        struct mete_pod_set whole = {.name = "whole", .count = 1, .gpus = 1};
        const struct mete_demand demand[] = {{&half, 3}, {&whole, 2}};

        assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 2}), METE_OK);
        assert_int_equal(set_node(e, (struct node_spec){.name = "b", .gpus = 4}), METE_OK);
        assert_int_equal(mete_demand_set(e, demand, 2, 0), METE_OK);
        for (uint64_t i = 0; i < 12; i++) {
            nodes[p][i] = node_of_job(
                e, (struct job_spec){.id = i + 1, .gpus = 1, .milli = i % 3 == 0 ? 0 : 300});
            (void)snprintf(names[p][i], sizeof(names[p][i]), "%s", nodes[p][i]);
        }
        mete_engine_free(e);
    }
    for (size_t i = 0; i < 12; i++)
        assert_string_equal(names[0][i], names[1][i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_a_table_that_cannot_be),
        cmocka_unit_test(goes_where_least_will_stay_idle),
        cmocka_unit_test(takes_the_gpu_that_the_table_says),
        cmocka_unit_test(keeps_off_models_that_have_a_price),
        cmocka_unit_test(places_as_fgd_does_without_a_table),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
