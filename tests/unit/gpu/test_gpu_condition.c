/* test_gpu_condition.c - the health of gpus from samples and XIDs */

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/gpu_condition.h"
#include "test.h"

static void add_xid(struct gpu_conditions *all, const char *uuid, int64_t xid)
{
    struct gpu_xid x = {.xid = xid, .instance = -1, .kernel_seq = -1};

    (void)snprintf(x.uuid, sizeof(x.uuid), "%s", uuid);
    gpu_conditions_add_xid(all, &x);
}

static const struct gpu healthy = {.health = GPU_HEALTHY};

static struct gpu judge(const struct gpu_condition *c, const struct gpu *listed)
{
    struct gpu g = {0};

    gpu_condition_apply(c, listed, &g);
    return g;
}

static void samples_that_fail_count_while_they_fail(void **state)
{
    AUTO_FREE struct gpu_conditions *all = mem_alloc(sizeof(*all));
    struct gpu_condition *c = gpu_condition_of(all, "GPU-a");
    const struct gpu_sample good = {.value = {[GPU_FIELD_UTILIZATION_PCT] = 7}};

    (void)state;
    gpu_condition_failed(c, false, "nvml: uuid: Unknown Error (999)");
    assert_int_equal(judge(c, &healthy).health, GPU_HEALTHY); /* one failure does not count */
    gpu_condition_failed(c, false, "nvml: uuid: Unknown Error (999)");
    assert_int_equal(judge(c, &healthy).health, GPU_UNHEALTHY);
    assert_string_equal(judge(c, &healthy).health_reason, "nvml: uuid: Unknown Error (999)");
    gpu_condition_sampled(c, &good, 1);
    gpu_condition_sampled(c, &good, 2);
    gpu_condition_failed(c, false, "again");
    assert_int_equal(judge(c, &healthy).health, GPU_UNHEALTHY); /* the gpu flaps */
    for (int i = 0; i < SAMPLES_GOOD_AGAIN; i++)
        gpu_condition_sampled(c, &good, 3 + i);
    assert_int_equal(judge(c, &healthy).health, GPU_HEALTHY);
    assert_string_equal(judge(c, &healthy).health_reason, "");
    assert_int_equal(c->sample.value[GPU_FIELD_UTILIZATION_PCT], 7);
    assert_string_equal(c->sample.uuid, "GPU-a");
}

static void a_lost_gpu_is_lost_at_once(void **state)
{
    AUTO_FREE struct gpu_conditions *all = mem_alloc(sizeof(*all));
    struct gpu_condition *c = gpu_condition_of(all, "GPU-a");

    (void)state;
    gpu_condition_failed(c, true, "GPU is lost");
    assert_int_equal(judge(c, &healthy).health, GPU_LOST);
}

static void an_xid_outlives_samples_and_belongs_to_its_gpu(void **state)
{
    AUTO_FREE struct gpu_conditions *all = mem_alloc(sizeof(*all));
    const struct gpu_sample good = GPU_SAMPLE_UNKNOWN;
    struct gpu_condition *c = NULL;

    (void)state;
    add_xid(all, "GPU-b", 48); /* before the gpu was listed */
    add_xid(all, "GPU-b", 13);
    c = gpu_condition_of(all, "GPU-b");
    gpu_condition_sampled(c, &good, 1);
    assert_int_equal(c->sample.value[GPU_FIELD_XID_LAST], 13);
    assert_int_equal(judge(c, &healthy).health, GPU_HEALTHY); /* gpu_incident.h decides */
}

static void the_queue_keeps_the_order_and_counts_what_it_drops(void **state)
{
    AUTO_FREE struct gpu_conditions *all = mem_alloc(sizeof(*all));
    struct gpu_xid x = {0};

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < XID_QUEUE_MAX + 5; i++)
            add_xid(all, i % 2 ? "GPU-a" : "GPU-b", i);
        assert_int_equal(all->n_dropped, 5 * (round + 1));
        for (int i = 0; i < XID_QUEUE_MAX; i++) {
            assert_true(gpu_conditions_next_xid(all, &x));
            assert_int_equal(x.xid, i);
            assert_string_equal(x.uuid, i % 2 ? "GPU-a" : "GPU-b");
        }
        assert_false(gpu_conditions_next_xid(all, &x));
    }
}

static void what_has_no_name_or_no_place_is_not_kept(void **state)
{
    AUTO_FREE struct gpu_conditions *all = mem_alloc(sizeof(*all));
    struct gpu_xid x = {0};
    char uuid[32];

    (void)state;
    assert_null(gpu_condition_of(all, ""));
    for (int i = 0; i < CONDITIONS_MAX; i++) {
        (void)snprintf(uuid, sizeof(uuid), "GPU-%d", i);
        assert_non_null(gpu_condition_of(all, uuid));
    }
    assert_null(gpu_condition_of(all, "GPU-more"));
    add_xid(all, "GPU-more", 79); /* reported nevertheless */
    assert_true(gpu_conditions_next_xid(all, &x));
    assert_string_equal(x.uuid, "GPU-more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_fail_count_while_they_fail),
        cmocka_unit_test(a_lost_gpu_is_lost_at_once),
        cmocka_unit_test(an_xid_outlives_samples_and_belongs_to_its_gpu),
        cmocka_unit_test(the_queue_keeps_the_order_and_counts_what_it_drops),
        cmocka_unit_test(what_has_no_name_or_no_place_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
