/* test_id_map.c - a map against a list; PROP_SEED=N replays a seed */

#include "base/id_map.h"
#include "prop.h"
#include "test.h"

enum {
    IDS = 200,
    STEPS = 2000
};

static void check(const struct id_map *m, const bool *is_there, uint64_t *ids)
{
    size_t n = 0;
    size_t at;
    const uint64_t *id;

    for (size_t i = 0; i < IDS; i++)
        assert_ptr_equal(id_map_find(m, ids[i]), is_there[i] ? &ids[i] : NULL);
    id_map_each (m, at, id) {
        assert_true(is_there[id - ids]);
        n++;
    }
    for (size_t i = 0; i < IDS; i++)
        n -= is_there[i];
    assert_int_equal(n, 0);
}

static void run(uint64_t seed)
{
    struct prop p = {seed};
    bool is_there[IDS] = {false};
    uint64_t ids[IDS];
    struct id_map m = {0};
    uint64_t range = prop_chance(&p, 50) ? IDS : UINT64_MAX / IDS;
    size_t most = 1 + prop_below(&p, IDS);

    for (size_t i = 0; i < IDS; i++)
        ids[i] = 1 + i * (range / IDS);
    for (int k = 0; k < STEPS; k++) {
        size_t i = prop_below(&p, most);

        if (is_there[i])
            id_map_remove(&m, ids[i]);
        else
            id_map_add(&m, ids[i], &ids[i]);
        is_there[i] = !is_there[i];
        if (k % 64 == 0)
            check(&m, is_there, ids);
    }
    check(&m, is_there, ids);
    id_map_done(&m);
}

static void finds_what_is_there(void **state)
{
    const struct prop_seeds seeds = prop_seeds(100);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run(seed);
}

static void nothing_is_in_an_empty_one(void **state)
{
    struct id_map m = {0};
    size_t at;
    const void *item;

    (void)state;
    assert_null(id_map_find(&m, 1));
    assert_null(id_map_find(&m, 0));
    id_map_each (&m, at, item) {
        fail();
    }
    id_map_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_there),
        cmocka_unit_test(nothing_is_in_an_empty_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
