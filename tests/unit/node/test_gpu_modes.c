/* test_gpu_modes.c - tests of the modes of a node's gpus */

#include "base/mem.h"
#include "base/stamp.h"
#include "base/yaml.h"
#include "kinds/pod/pod_state.h"
#include "node/gpu_modes.h"
#include "sim_loop.h"
#include "test.h"

/* Two gpus with MIG off. */
static void make_gpus(struct gpu ret[2])
{
    for (int i = 0; i < 2; i++) {
        ret[i] = (struct gpu)GPU_UNKNOWN(i);
        (void)snprintf(ret[i].uuid, sizeof(ret[i].uuid), "GPU-%d", i);
        ret[i].mig_mode = 0;
    }
}

/* A Node with annotations; NULL: without. `'` stands for `"`. */
static json_t *node_of(const char *modes, const char *config)
{
    json_t *node = json_object();
    json_t *annotations = json_object_at(json_object_at(node, "metadata"), "annotations");
    const char *const texts[] = {modes, config};
    static const char *const keys[] = {NODE_GPU_MODES, NODE_GPU_CONFIG};

    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *text = texts[i] ? mem_strdup(texts[i]) : NULL;

        for (char *at = text; at && *at; at++)
            if (*at == '\'')
                *at = '"';
        json_put_text(annotations, keys[i], text);
    }
    return node;
}

#define PLUGIN(n)                                                                     \
    "{'plugin':{'version':'v1','sharing':{'timeSlicing':{'resources':[{'name':'gpu'," \
    "'replicas':" #n "}]}}}}"

static void the_nearest_setting_counts(void **state)
{
    static const struct sharing_config own = {.replicas = 8, .n_devices = 0};
    struct gpu_modes *m = gpu_modes_new(&(struct gpu_modes_options){.sharing = &own});
    AUTO(json_freep) json_t *set = node_of("{'GPU-1':'replicas=2'}", PLUGIN(4));
    AUTO(json_freep) json_t *configured = node_of(NULL, PLUGIN(4));
    const struct gpu *list;
    struct gpu read[2];
    size_t n = 0;

    (void)state;
    make_gpus(read);
    assert_true(gpu_modes_update(m, read, 2, NULL, 0));
    list = gpu_modes_list(m, &n);
    assert_int_equal(n, 2);
    assert_int_equal(list[0].replicas, 8);
    assert_true(gpu_modes_set_node(m, set));
    assert_false(gpu_modes_set_node(m, set));
    assert_true(gpu_modes_update(m, read, 2, NULL, 0));
    assert_false(gpu_modes_update(m, read, 2, NULL, 0));
    assert_int_equal(list[0].replicas, 4);
    assert_int_equal(list[1].replicas, 2);
    assert_true(gpu_modes_set_node(m, configured));
    (void)gpu_modes_update(m, read, 2, NULL, 0);
    assert_int_equal(list[1].replicas, 4);
    gpu_modes_free(m);
}

static void a_bad_annotation_is_named_on_the_gpus(void **state)
{
    struct gpu_modes *m = gpu_modes_new(&(struct gpu_modes_options){0});
    AUTO(json_freep) json_t *bad = node_of("{'GPU-1':'half'}", NULL);
    AUTO(json_freep) json_t *worse = node_of("[]", NULL);
    const struct gpu *list;
    struct gpu read[2];
    size_t n = 0;

    (void)state;
    make_gpus(read);
    (void)gpu_modes_set_node(m, bad);
    (void)gpu_modes_update(m, read, 2, NULL, 0);
    list = gpu_modes_list(m, &n);
    assert_string_equal(list[0].mode_problem, "");
    assert_string_equal(list[1].mode_problem,
                        "mete.dev/gpu-modes: GPU-1: mode 'half': want whole, replicas=N, mps=N, "
                        "slices=PROFILE:COUNT,... or flexible");
    (void)gpu_modes_set_node(m, worse);
    (void)gpu_modes_update(m, read, 2, NULL, 0);
    assert_string_equal(list[0].mode_problem, "mete.dev/gpu-modes: want an object: {\"GPU-...\": "
                                              "\"replicas=4\"}");
    gpu_modes_free(m);
}

static void holders_keep_the_names_of_slices(void **state)
{
    static const struct {
        enum mig_strategy wanted;
        const char *held; /* NULL: nothing */
        enum mig_strategy want;
    } cases[] = {
        {MIG_STRATEGY_UNSET, NULL, MIG_STRATEGY_MIXED},
        {MIG_STRATEGY_SINGLE, NULL, MIG_STRATEGY_SINGLE},
        {MIG_STRATEGY_SINGLE, "GPU-0/slice:1g.10gb@0", MIG_STRATEGY_MIXED},
        {MIG_STRATEGY_MIXED, "MIG-0", MIG_STRATEGY_SINGLE},
        {MIG_STRATEGY_NONE, "MIG-0", MIG_STRATEGY_NONE},
        {MIG_STRATEGY_SINGLE, "GPU-0", MIG_STRATEGY_SINGLE},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct sharing_config own = {.strategy = cases[i].wanted};
        struct gpu_modes *m = gpu_modes_new(&(struct gpu_modes_options){.sharing = &own});
        struct gpu_holding h = {.pod = "default/p"};
        struct gpu read[2];

        make_gpus(read);
        if (cases[i].held)
            assert_null(device_parse(cases[i].held, &h.device));
        (void)gpu_modes_update(m, read, 2, &h, cases[i].held ? 1 : 0);
        assert_int_equal(gpu_modes_strategy(m), cases[i].want);
        gpu_modes_free(m);
    }
}

static void says_if_the_mig_config_is_there(void **state)
{
    AUTO(json_freep) json_t *files = NULL;
    AUTO(json_freep) json_t *none = node_of(NULL, NULL);
    AUTO(json_freep) json_t *known = node_of(NULL, "{'mig':{'name':'off'}}");
    AUTO(json_freep) json_t *unknown = node_of(NULL, "{'mig':{'name':'other'}}");
    struct gpu_modes *m = NULL;
    struct gpu read[2];

    (void)state;
    make_gpus(read);
    assert_null(yaml_parse("parted.yaml",
                           STR("{version: v1, mig-configs: {'off': [{devices: all, mig-enabled: "
                               "false}]}}"),
                           &files));
    m = gpu_modes_new(&(struct gpu_modes_options){.parted = json_array_get(files, 0)});
    (void)gpu_modes_set_node(m, none);
    (void)gpu_modes_update(m, read, 2, NULL, 0);
    assert_null(gpu_modes_mig_state(m));
    (void)gpu_modes_set_node(m, known);
    (void)gpu_modes_update(m, read, 2, NULL, 0);
    assert_string_equal(gpu_modes_mig_state(m), "success");
    (void)gpu_modes_set_node(m, unknown);
    assert_true(gpu_modes_update(m, read, 2, NULL, 0));
    assert_string_equal(gpu_modes_mig_state(m), "failed");
    gpu_modes_free(m);
}

static void on_waited(void *arg)
{
    ++*(int *)arg;
}

/* Steady load: one of two pods always holds a replica. */
static void a_gpu_that_waited_takes_no_new_pods(void **state)
{
    static const int64_t limit_ns = 600 * NS_PER_SEC;
    AUTO(sim_loop_freep) struct loop *loop = sim_loop_new();
    AUTO(json_freep) json_t *node = node_of("{'GPU-0':'whole','GPU-1':'replicas=4'}", NULL);
    struct gpu_holding h = {.pod = "default/a"};
    int waited = 0;
    struct gpu_modes *m = gpu_modes_new(
        &(struct gpu_modes_options){.loop = loop, .waited = on_waited, .arg = &waited});
    const struct gpu *list;
    struct gpu read[2];
    size_t n = 0;

    (void)state;
    make_gpus(read);
    assert_null(device_parse("GPU-0/replica:2", &h.device));
    (void)gpu_modes_set_node(m, node);
    (void)gpu_modes_update(m, read, 2, &h, 1);
    list = gpu_modes_list(m, &n);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(list[0].health, GPU_HEALTHY);
        assert_int_equal(list[0].mode, GPU_MODE_REPLICAS);
        assert_string_equal(list[0].mode_problem, i % 2 == 0
                                                      ? "whole waits for the end of default/a"
                                                      : "whole waits for the end of default/b");
        assert_int_equal(waited, 0);
        sim_loop_advance(loop, limit_ns / 10);
        h.pod = i % 2 == 0 ? "default/b" : "default/a";
        if (i < 9)
            (void)gpu_modes_update(m, read, 2, &h, 1);
    }
    assert_int_equal(waited, 1);
    assert_true(gpu_modes_update(m, read, 2, &h, 1));
    assert_int_equal(list[0].health, GPU_UNHEALTHY);
    assert_string_equal(list[0].health_reason, "takes no new pods until it is whole");
    assert_int_equal(list[1].health, GPU_HEALTHY);
    assert_true(gpu_modes_update(m, read, 2, NULL, 0));
    assert_int_equal(list[0].health, GPU_HEALTHY);
    assert_int_equal(list[0].mode, GPU_MODE_WHOLE);
    (void)gpu_modes_update(m, read, 2, &h, 1); /* the ten minutes begin again */
    assert_int_equal(list[0].health, GPU_HEALTHY);
    gpu_modes_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_setting_counts),
        cmocka_unit_test(a_bad_annotation_is_named_on_the_gpus),
        cmocka_unit_test(holders_keep_the_names_of_slices),
        cmocka_unit_test(says_if_the_mig_config_is_there),
        cmocka_unit_test(a_gpu_that_waited_takes_no_new_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
