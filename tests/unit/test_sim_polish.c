#include <stdlib.h>

#include "sim/learn_polish.h"
#include "test.h"

enum {
    SIZE = 2 * METE_VALUES_WHOLE * METE_VALUES_LEVELS,
    START = 300000,
    PRICE = 200,
    PLAYS = 400
};

/* A cluster that uses the more, the nearer all entries and the first price are to these. */
struct target {
    int32_t idle;
    int32_t price;
    bool is_split; /* what is gained at 100 % is lost at the end */
    int plays;
};

static struct polish_used play(void *who, const struct polish_way *way, uint64_t seed)
{
    struct target *t = who;
    int64_t off = labs((long)(way->price_milli[0] - t->price)) * 1000;

    for (size_t i = 0; i < way->size; i++) {
        assert_in_range(way->idle[i], 0, 1000000);
        off += labs((long)(way->idle[i] - t->idle)) / 1000;
    }
    assert_in_range(way->price_milli[0], 0, 1000);
    t->plays++;
    off -= (int64_t)(seed % 100); /* the same for all that play these arrivals */
    return (struct polish_used){-off, t->is_split ? 2 * off : -off};
}

static int64_t used_by(struct target *t, const struct polish_way *way)
{
    return play(t, way, 0).at_100;
}

struct table {
    int32_t idle[SIZE];
    int32_t prices[LEARN_MODELS_MAX];
};

static struct polish_way way_of(struct table *t, size_t n_prices)
{
    for (size_t i = 0; i < SIZE; i++)
        t->idle[i] = START;
    t->prices[0] = PRICE;
    return (struct polish_way){t->idle, SIZE, t->prices, n_prices};
}

static void finds_what_is_better_and_the_same_each_time(void **state)
{
    static struct table tables[2];
    int64_t used[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct target t = {.idle = START + 50000, .price = PRICE + 300};
        struct polish_way way = way_of(&tables[i], 1);
        int64_t before = used_by(&t, &way);

        t.plays = 0;
        polish(&way, 7, PLAYS, play, &t);
        assert_in_range(t.plays, PLAYS, PLAYS + 12);
        used[i] = used_by(&t, &way);
        assert_true(used[i] > before / 2); /* both are under 0 */
        assert_true(way.price_milli[0] > PRICE);
    }
    assert_int_equal(used[0], used[1]);
    assert_memory_equal(&tables[0], &tables[1], sizeof(tables[0]));
}

static void leaves_what_is_best(void **state)
{
    static struct table table;
    static struct table before;
    struct target t = {.idle = START, .price = PRICE};
    struct polish_way way = way_of(&table, 1);

    (void)state;
    before = table;
    polish(&way, 7, PLAYS, play, &t);
    assert_memory_equal(&table, &before, sizeof(table));
}

static void takes_nothing_that_is_worse_at_some_time(void **state)
{
    static struct table table;
    static struct table before;
    struct target t = {.idle = START + 50000, .price = PRICE + 300, .is_split = true};
    struct polish_way way = way_of(&table, 1);

    (void)state;
    before = table;
    polish(&way, 7, PLAYS, play, &t);
    assert_memory_equal(&table, &before, sizeof(table));
}

static void stays_within_what_entries_can_be(void **state)
{
    static struct table table;
    struct target t = {.idle = 2000000, .price = -1000};
    struct polish_way way = way_of(&table, 1);

    (void)state;
    polish(&way, 7, PLAYS, play, &t); /* play looks */
    assert_true(way.price_milli[0] < PRICE);
}

static void prices_stay_where_no_pod_names_a_model(void **state)
{
    static struct table table;
    struct target t = {.idle = START + 50000, .price = PRICE + 300};
    struct polish_way way = way_of(&table, 0);

    (void)state;
    polish(&way, 7, PLAYS, play, &t);
    assert_int_equal(table.prices[0], PRICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_better_and_the_same_each_time),
        cmocka_unit_test(leaves_what_is_best),
        cmocka_unit_test(takes_nothing_that_is_worse_at_some_time),
        cmocka_unit_test(stays_within_what_entries_can_be),
        cmocka_unit_test(prices_stay_where_no_pod_names_a_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
