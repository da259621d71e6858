/* test_gpu_uses.c - uses of gpus become records of this node's containers */

#include "base/mem.h"
#include "node/gpu_uses.h"
#include "node_world.h"
#include "test.h"

#define TWO                                                    \
    "{\"restartPolicy\":\"OnFailure\",\"containers\":["        \
    "{\"name\":\"m\",\"image\":\"host\",\"command\":[\"x\"]}," \
    "{\"name\":\"m-0\",\"image\":\"host\",\"command\":[\"x\"]}]}"

static void uses_belong_to_containers_and_the_rest_is_foreign(void **state)
{
    static const struct gpu_use uses[] = {
        {.device = "GPU-0", .id = "u1-m-0-3", .memory_bytes = 1, .sm_milli = 10, .n_processes = 1},
        {.device = "GPU-0", .id = "u1-m-7", .memory_bytes = 2, .sm_milli = 20, .n_processes = 2},
        {.device = "GPU-0", .id = "", .memory_bytes = 4, .sm_milli = 40, .n_processes = 4},
        {.device = "GPU-0", .id = "u2-m-0", .memory_bytes = 8, .sm_milli = -1, .n_processes = 8},
        {.device = "MIG-1", .id = "u1-m-x", .memory_bytes = 16, .sm_milli = 0, .n_processes = 1},
    };
    struct node_stats s = {0};
    AUTO(json_freep) json_t *pod = NULL;
    struct node_world w;

    (void)state;
    node_world_init(&w);
    pod = node_world_pod(TWO, "{}");
    node_world_put(&w, pod);
    gpu_uses_add(w.pods, uses, COUNT(uses), &s);
    assert_int_equal(s.container_gpus.n, 4);
    assert_string_equal(s.container_gpus.at[0].name, "m-0");
    assert_int_equal(s.container_gpus.at[0].attempt, 3);
    assert_string_equal(s.container_gpus.at[1].pod_uid, "u1");
    assert_string_equal(s.container_gpus.at[1].name, "m");
    assert_int_equal(s.container_gpus.at[1].attempt, 7);
    assert_string_equal(s.container_gpus.at[2].pod_uid, ""); /* the stranger and an unknown pod */
    assert_string_equal(s.container_gpus.at[2].device, "GPU-0");
    assert_int_equal(s.container_gpus.at[2].attempt, -1);
    assert_int_equal(s.container_gpus.at[2].memory_bytes, 12);
    assert_int_equal(s.container_gpus.at[2].sm_milli, -1);
    assert_int_equal(s.container_gpus.at[2].n_processes, 12);
    assert_string_equal(s.container_gpus.at[3].pod_uid, ""); /* no attempt of ours */
    assert_string_equal(s.container_gpus.at[3].device, "MIG-1");
    node_stats_done(&s);
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_belong_to_containers_and_the_rest_is_foreign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
