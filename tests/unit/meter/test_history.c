/* test_history.c - bands of rows, and the history of gpus and pods with its bound */

#include <stdio.h>

#include "base/mem.h"
#include "meter/history/history.h"
#include "prop.h"
#include "test.h"

/* ---- bands ---- */

static void add_one(struct band *b, struct band_budget *budget, int64_t at_s, int64_t value)
{
    band_add(b, budget, at_s, &value);
}

static void a_row_is_the_mean_of_its_step(void **state)
{
    struct band_budget budget = {.max_bytes = 1 << 20};
    struct band b = {.step_s = 10, .rows_max = 4, .n_fields = 1};

    (void)state;
    add_one(&b, &budget, 1000, 4);
    add_one(&b, &budget, 1009, 8);
    add_one(&b, &budget, 1003, 6); /* the clock was set back */
    add_one(&b, &budget, 1010, -1);
    add_one(&b, &budget, 1035, INT64_MAX);
    assert_int_equal(band_count(&b), 3);
    assert_int_equal(band_row(&b, 0).at_s, 1000);
    assert_int_equal(band_row(&b, 0).value[0], 6);
    assert_int_equal(band_row(&b, 1).value[0], BAND_UNKNOWN);
    assert_int_equal(band_row(&b, 2).at_s, 1030);
    assert_int_equal(band_row(&b, 2).value[0], INT32_MAX);
    band_done(&b, &budget);
    assert_int_equal(budget.used_bytes, 0);
}

/* Adds the second as value, and compares with what the whole life was. */
static void check_life(uint64_t seed, bool thins)
{
    struct prop p = {seed};
    struct band_budget budget = {.max_bytes = prop_chance(&p, 20) ? 400 : 1 << 20};
    struct band b = {.step_s = 1,
                     .rows_max = 8 + 2 * (uint32_t)prop_below(&p, 40),
                     .n_fields = 1,
                     .thins = thins};
    int64_t first_s = (int64_t)prop_below(&p, 100000);
    int64_t at_s = first_s;
    size_t n = 1 + prop_below(&p, 2000);
    int64_t last_s = -1;

    for (size_t i = 0; i < n; i++) {
        add_one(&b, &budget, at_s, at_s);
        at_s += 1 + (int64_t)prop_below(&p, 3);
    }
    if (band_count(&b) == 0 || band_count(&b) > b.rows_max + 1 ||
        budget.used_bytes > budget.max_bytes)
        fail_msg("seed %llu: %u rows", (unsigned long long)seed, band_count(&b));
    if (thins && band_row(&b, 0).at_s > first_s)
        fail_msg("seed %llu: the beginning of the life is lost", (unsigned long long)seed);
    for (uint32_t i = 0; i < band_count(&b); i++) {
        struct band_row row = band_row(&b, i);

        if (row.at_s <= last_s || row.value[0] < row.at_s || row.value[0] >= row.at_s + b.step_s)
            fail_msg("seed %llu: row %u at %lld is %d, step %u", (unsigned long long)seed, i,
                     (long long)row.at_s, row.value[0], b.step_s);
        last_s = row.at_s;
    }
    band_done(&b, &budget);
    assert_int_equal(budget.used_bytes, 0);
}

static void rows_stay_in_order_and_in_bounds(void **state)
{
    const struct prop_seeds seeds = prop_seeds(500);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        check_life(seed, true);
        check_life(seed, false);
    }
}

/* ---- history ---- */

static bool find_any(void *arg, const char *uid, char **ret_ns, char **ret_name)
{
    unsigned *n_asked = arg;

    ++*n_asked;
    if (text_starts_with(uid, "lost"))
        return false;
    *ret_ns = mem_strdup("team");
    *ret_name = mem_format("pod-%s", uid);
    return true;
}

static void take_second(struct use_history *h, int64_t at_s, const char *uid, int64_t milli)
{
    struct node_stats s = {.at_ns = 1, .parts = STATS_GPUS};
    struct gpu_sample gpu = GPU_SAMPLE_UNKNOWN;
    struct container_gpu c = {.memory_bytes = 2048, .sm_milli = milli, .n_processes = 1};
    struct container_gpu other = {.pod_uid = "other", .sm_milli = 100, .memory_bytes = -1};

    (void)snprintf(gpu.uuid, sizeof(gpu.uuid), "GPU-0");
    gpu.value[GPU_FIELD_POWER_MW] = 400000;
    gpu.value[GPU_FIELD_UTILIZATION_PCT] = 40;
    (void)snprintf(c.pod_uid, sizeof(c.pod_uid), "%s", uid);
    (void)snprintf(c.device, sizeof(c.device), "GPU-0");
    (void)snprintf(other.device, sizeof(other.device), "GPU-0");
    vec_add(&s.gpus, gpu);
    vec_add(&s.container_gpus, c);
    vec_add(&s.container_gpus, other);
    use_history_take(h, &s, at_s);
    node_stats_done(&s);
}

static void a_pod_has_its_part_of_the_power(void **state)
{
    unsigned n_asked = 0;
    struct use_history h = {
        .budget.max_bytes = HISTORY_BYTES, .find_pod = find_any, .arg = &n_asked};
    const struct use_history_span all = {.from_s = 0, .to_s = 10000, .step_s = 5};
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *want = NULL;
    const struct pod_history *p;

    (void)state;
    for (int64_t s = 1000; s < 1010; s++)
        take_second(&h, s, "a", 300);
    assert_int_equal(n_asked, 2);
    p = use_history_pod(&h, "a");
    assert_non_null(p);
    assert_ptr_equal(use_history_pod_named(&h, "team", "pod-a"), p);
    rows = use_history_rows(&p->band, all);
    assert_int_equal(json_array_size(rows), 2);
    /* 300 of the 400 thousandths that both use, of 400 W; cpu and memory are unknown */
    want = json_pack("[i, i, i, i, n, n]", 1005, 300, 2, 300000);
    assert_true(json_equal(json_array_get(rows, 1), want));
    use_history_done(&h);
}

static void ended_pods_make_room(void **state)
{
    unsigned n_asked = 0;
    struct use_history h = {.budget.max_bytes = 64 << 10, .find_pod = find_any, .arg = &n_asked};

    (void)state;
    for (int64_t life = 0; life < 200; life++) {
        AUTO_FREE char *uid = mem_format("uid-%d", (int)life);

        for (int64_t s = 0; s < 50; s++)
            take_second(&h, 1000 + life * 50 + s, uid, 1);
        assert_true(h.budget.used_bytes <= h.budget.max_bytes + 8192);
        assert_non_null(use_history_pod(&h, uid));
    }
    assert_null(use_history_pod(&h, "uid-0"));
    assert_non_null(use_history_pod(&h, "uid-198"));
    assert_non_null(use_history_device(&h, "GPU-0"));
    use_history_done(&h);
    assert_int_equal(h.budget.used_bytes, 0);
}

static void unknown_pods_are_asked_for_now_and_then(void **state)
{
    unsigned n_asked = 0;
    struct use_history h = {
        .budget.max_bytes = HISTORY_BYTES, .find_pod = find_any, .arg = &n_asked};

    (void)state;
    for (int64_t s = 1000; s < 1010; s++)
        take_second(&h, s, "lost", 300);
    assert_true(n_asked >= 3 && n_asked <= 4); /* once for the other pod */
    assert_null(use_history_pod(&h, "lost"));
    use_history_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_the_mean_of_its_step),
        cmocka_unit_test(rows_stay_in_order_and_in_bounds),
        cmocka_unit_test(a_pod_has_its_part_of_the_power),
        cmocka_unit_test(ended_pods_make_room),
        cmocka_unit_test(unknown_pods_are_asked_for_now_and_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
