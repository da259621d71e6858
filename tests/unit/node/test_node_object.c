/* test_node_object.c - tests of the Node object */

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "node/node_object.h"
#include "test.h"

static const struct host_info host = {.hostname = "Box.example",
                                      .arch = "amd64",
                                      .machine = "PowerEdge XE9680",
                                      .address = "192.0.2.7",
                                      .cpus = 16,
                                      .memory_bytes = INT64_C(64) << 30,
                                      .disk_bytes = 1 << 20};

static const struct gpu gpus[] = {
    {.uuid = "GPU-0",
     .product = "NVIDIA H100 80GB HBM3",
     .model = "h100",
     .memory_bytes = INT64_C(80) << 30},
    {.uuid = "GPU-1", .product = "NVIDIA H100 80GB HBM3", .health = GPU_LOST},
};

static struct node_facts facts_of(size_t n_gpus)
{
    return (struct node_facts){.name = "box",
                               .host = &host,
                               .runtime_version = "crun://1",
                               .version = "v1",
                               .gpus_known = true,
                               .gpus = gpus,
                               .n_gpus = n_gpus,
                               .began_ns = INT64_C(1767225600) * 1000000000,
                               .now_ns = INT64_C(1767225610) * 1000000000};
}

static void names_its_gpus(void **state)
{
    const struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *object = node_object_make(&f, true);
    AUTO_FREE char *labels = json_format(json_at(object, "metadata", "labels", NULL));
    AUTO(json_freep) json_t *list = NULL;
    AUTO(err_freep)
    struct err *e = json_parse(
        str_of(json_text_at(object, "metadata", "annotations", "mete.dev/gpus", NULL)), &list);

    (void)state;
    assert_null(e);
    assert_string_equal(labels,
                        "{\"kubernetes.io/hostname\":\"box\",\"kubernetes.io/os\":\"linux\","
                        "\"kubernetes.io/arch\":\"amd64\",\"nvidia.com/gpu.present\":\"true\","
                        "\"nvidia.com/gpu.product\":\"NVIDIA-H100-80GB-HBM3\","
                        "\"nvidia.com/gpu.count\":\"2\",\"nvidia.com/gpu.memory\":\"81920\","
                        "\"nvidia.com/gpu.replicas\":\"1\","
                        "\"nvidia.com/gpu.sharing-strategy\":\"none\","
                        "\"nvidia.com/gpu.machine\":\"PowerEdge-XE9680\","
                        "\"nvidia.com/gpu.mode\":\"unknown\","
                        "\"mete.dev/gpu.model\":\"h100\",\"mete.dev/gpu.emulated\":\"false\","
                        "\"nvidia.com/mig.capable\":\"true\",\"nvidia.com/mps.capable\":\"false\","
                        "\"nvidia.com/mig.strategy\":\"mixed\","
                        "\"nvidia.com/gfd.timestamp\":\"1767225600\"}");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_text(json_array_get(list, 1), "health"), "lost");
    assert_null(json_object_get(json_array_get(list, 0), "sample")); /* stats.h sends samples */
}

static void only_healthy_gpus_can_be_given(void **state)
{
    const struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *object = node_status_make(&f);

    (void)state;
    assert_string_equal(json_text_at(object, "status", "capacity", "nvidia.com/gpu", NULL), "2");
    assert_string_equal(json_text_at(object, "status", "allocatable", "nvidia.com/gpu", NULL), "1");
    assert_string_equal(json_text_at(object, "status", "capacity", "memory", NULL), "67108864Ki");
}

static void the_worst_gpu_gives_the_condition_its_reason(void **state)
{
    struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *bad = node_status_make(&f);
    AUTO(json_freep) json_t *good = NULL;
    const json_t *c = object_condition(bad, "GPUProblem");

    (void)state;
    assert_string_equal(json_text(c, "status"), "True");
    assert_string_equal(json_text(c, "reason"), "GpuLost");
    f.n_gpus = 1;
    f.driver_problem = "nvml: init: Driver Not Loaded (9)";
    f.node = bad;
    f.now_ns += 1000000000;
    good = node_status_make(&f);
    c = object_condition(good, "GPUProblem");
    assert_string_equal(json_text(c, "status"), "False");
    assert_string_equal(json_text(c, "lastTransitionTime"), "2026-01-01T00:00:11Z");
    c = object_condition(good, "GPUDriverProblem");
    assert_string_equal(json_text(c, "reason"), "DriverNotWorking");
    assert_string_equal(json_text(c, "message"), "nvml: init: Driver Not Loaded (9)");
}

/* After a restart, the gpus of running jobs must not appear lost. */
static void says_nothing_of_gpus_that_are_not_known_yet(void **state)
{
    struct node_facts f = facts_of(0);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *status = NULL;

    (void)state;
    f.gpus_known = false;
    object = node_object_make(&f, false);
    status = node_status_make(&f);
    assert_null(json_at(object, "metadata", "annotations", "mete.dev/gpus", NULL));
    assert_null(json_at(object, "metadata", "labels", "nvidia.com/gpu.count", NULL));
    assert_null(json_at(status, "status", "capacity", "nvidia.com/gpu", NULL));
}

static void a_node_without_gpus_takes_old_labels_away(void **state)
{
    const struct node_facts f = facts_of(0);
    AUTO(json_freep) json_t *patch = node_object_make(&f, false);
    AUTO(json_freep) json_t *whole = node_object_make(&f, true);

    (void)state;
    assert_true(json_is_null(json_at(patch, "metadata", "labels", "nvidia.com/gpu.count", NULL)));
    assert_null(json_at(whole, "metadata", "labels", "nvidia.com/gpu.count", NULL));
}

static const char *amount(const json_t *object, const char *list, const char *resource)
{
    return json_text_at(object, "status", list, resource, NULL);
}

static void counts_replicas_and_slices_by_their_names(void **state)
{
    static const struct gpu mixed[] = {
        {.uuid = "GPU-0", .mode = GPU_MODE_REPLICAS, .replicas = 4},
        {.uuid = "GPU-1", .mode = GPU_MODE_REPLICAS, .replicas = 3, .is_renamed = true},
        {.uuid = "GPU-2",
         .mode = GPU_MODE_SLICES,
         .n_slices = 3,
         .slices = {{.profile = "1g.10gb+me"}, {.profile = "2g.20gb"}, {.profile = "2g.20gb"}}},
        {.uuid = "GPU-3",
         .health = GPU_LOST,
         .mode = GPU_MODE_SLICES,
         .n_slices = 1,
         .slices = {{.profile = "2g.20gb"}}},
        {.uuid = "GPU-4"},
    };
    struct node_facts f = facts_of(5);
    AUTO(json_freep) json_t *object = NULL;

    (void)state;
    f.gpus = mixed;
    object = node_status_make(&f);
    assert_string_equal(amount(object, "capacity", "nvidia.com/gpu"), "5");
    assert_string_equal(amount(object, "capacity", "nvidia.com/gpu.shared"), "3");
    assert_string_equal(amount(object, "capacity", "nvidia.com/mig-1g.10gb.me"), "1");
    assert_string_equal(amount(object, "capacity", "nvidia.com/mig-2g.20gb"), "3");
    assert_string_equal(amount(object, "allocatable", "nvidia.com/mig-2g.20gb"), "2");
}

static const char *label(const json_t *object, const char *key)
{
    return json_text_at(object, "metadata", "labels", key, NULL);
}

static void labels_replicas_slices_and_versions(void **state)
{
    static const struct gpu divided[] = {
        {.uuid = "GPU-0",
         .product = "NVIDIA A100-SXM4-40GB",
         .mode = GPU_MODE_SLICES,
         .n_slices = 2,
         .slices = {{.profile = "1g.5gb+me", .memory_bytes = INT64_C(4864) << 20, .gpu_slices = 1},
                    {.profile = "1g.5gb+me"}}},
        {.uuid = "GPU-1",
         .product = "NVIDIA A100-SXM4-40GB",
         .compute_major = 8,
         .mode = GPU_MODE_REPLICAS,
         .replicas = 4},
    };
    static const struct gpu_driver_info driver = {.driver_version = "570.124.06",
                                                  .cuda_version = "12.8"};
    AUTO(json_freep)
    json_t *present = json_pack("{s:{s:{s:s, s:s, s:s}}, s:{s:{s:s, s:s}}}", "metadata", "labels",
                                "nvidia.com/mig-2g.10gb.count", "1", "nvidia.com/mig.config",
                                "all-1g.5gb", "rack", "r1", "status", "capacity",
                                "nvidia.com/mig-2g.10gb", "1", "example.com/fpga", "1");
    AUTO(json_freep) json_t *status = NULL;
    struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *object = NULL;

    (void)state;
    f.gpus = divided;
    f.driver = &driver;
    f.node = present;
    object = node_object_make(&f, false);
    assert_string_equal(label(object, "nvidia.com/gpu.product"), "NVIDIA-A100-SXM4-40GB-SHARED");
    assert_string_equal(label(object, "nvidia.com/gpu.replicas"), "4");
    assert_string_equal(label(object, "nvidia.com/gpu.sharing-strategy"), "time-slicing");
    assert_string_equal(label(object, "nvidia.com/gpu.family"), "ampere");
    assert_string_equal(label(object, "nvidia.com/cuda.driver.rev"), "06");
    assert_string_equal(label(object, "nvidia.com/cuda.driver-version.full"), "570.124.06");
    assert_string_equal(label(object, "nvidia.com/cuda.runtime-version.minor"), "8");
    assert_string_equal(label(object, "nvidia.com/mig-1g.5gb.me.count"), "2");
    assert_string_equal(label(object, "nvidia.com/mig-1g.5gb.me.memory"), "4864");
    assert_string_equal(label(object, "nvidia.com/mig-1g.5gb.me.slices.gi"), "1");
    assert_string_equal(label(object, "nvidia.com/mig-1g.5gb.me.product"),
                        "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me");
    /* An old profile goes; labels of users stay. */
    assert_true(
        json_is_null(json_at(object, "metadata", "labels", "nvidia.com/mig-2g.10gb.count", NULL)));
    assert_null(json_at(object, "metadata", "labels", "nvidia.com/mig.config", NULL));
    assert_null(json_at(object, "metadata", "labels", "rack", NULL));
    status = node_status_make(&f);
    assert_true(
        json_is_null(json_at(status, "status", "capacity", "nvidia.com/mig-2g.10gb", NULL)));
    assert_null(json_at(status, "status", "capacity", "example.com/fpga", NULL));
}

#define SLICED(number, one, two)                                                    \
    {                                                                               \
        .uuid = "GPU-" number, .product = "NVIDIA H100 80GB HBM3", .model = "h100", \
        .mode = GPU_MODE_SLICES, .mig_mode = 1, .n_slices = 2,                      \
        .slices = {{.profile = (one),                                               \
                    .uuid = "MIG-" number "a",                                      \
                    .memory_bytes = INT64_C(9984) << 20,                            \
                    .multiprocessors = 16},                                         \
                   {.profile = (two), .start = 1, .uuid = "MIG-" number "b"}},      \
    }

static void the_strategy_single_offers_slices_as_gpus(void **state)
{
    static const struct gpu equal[] = {SLICED("0", "1g.10gb", "1g.10gb")};
    struct node_facts f = facts_of(1);
    AUTO(json_freep) json_t *status = NULL;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *list = NULL;

    (void)state;
    f.mig_strategy = MIG_STRATEGY_SINGLE;
    f.gpus = equal;
    status = node_status_make(&f);
    assert_string_equal(amount(status, "allocatable", "nvidia.com/gpu"), "2");
    assert_null(amount(status, "allocatable", "nvidia.com/mig-1g.10gb"));
    object = node_object_make(&f, false);
    assert_string_equal(label(object, "nvidia.com/gpu.product"),
                        "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
    assert_string_equal(label(object, "nvidia.com/gpu.count"), "2");
    assert_string_equal(label(object, "nvidia.com/gpu.memory"), "9984");
    assert_string_equal(label(object, "nvidia.com/gpu.multiprocessors"), "16");
    assert_string_equal(label(object, "nvidia.com/mig.strategy"), "single");
    assert_null(json_parse(
        str_of(json_text_at(object, "metadata", "annotations", "mete.dev/gpus", NULL)), &list));
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, 0), "slices")), 0);
    assert_string_equal(json_text(json_array_get(list, 2), "uuid"), "MIG-0b");
    assert_null(json_text(json_array_get(list, 2), "mode"));
}

static void the_strategy_single_wants_one_profile(void **state)
{
    static const struct gpu unequal[] = {SLICED("0", "1g.10gb", "2g.20gb")};
    struct node_facts f = facts_of(1);
    AUTO(json_freep) json_t *status = NULL;
    AUTO(json_freep) json_t *object = NULL;

    (void)state;
    f.mig_strategy = MIG_STRATEGY_SINGLE;
    f.gpus = unequal;
    status = node_status_make(&f);
    assert_string_equal(amount(status, "allocatable", "nvidia.com/gpu"), "0");
    object = node_object_make(&f, false);
    assert_string_equal(label(object, "nvidia.com/gpu.product"),
                        "NVIDIA-H100-80GB-HBM3-MIG-INVALID");
    assert_string_equal(label(object, "nvidia.com/gpu.count"), "0");
    assert_string_equal(label(object, "nvidia.com/gpu.sharing-strategy"), "");
}

static void gpus_of_one_nvlink_domain_have_its_label(void **state)
{
#define CLIQUE "7e8f1a9c-0000-1111-2222-333344445555"
    static const struct gpu one[] = {{.uuid = "GPU-0", .clique = CLIQUE ".1"},
                                     {.uuid = "GPU-1", .clique = CLIQUE ".1"}};
    static const struct gpu two[] = {{.uuid = "GPU-0", .clique = CLIQUE ".1"},
                                     {.uuid = "GPU-1", .clique = CLIQUE ".2"}};
    struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *same = NULL;
    AUTO(json_freep) json_t *different = NULL;

    (void)state;
    f.gpus = one;
    same = node_object_make(&f, true);
    assert_string_equal(label(same, "nvidia.com/gpu.clique"), CLIQUE ".1");
    f.gpus = two;
    different = node_object_make(&f, true);
    assert_null(label(different, "nvidia.com/gpu.clique"));
#undef CLIQUE
}

static void the_strategy_none_offers_no_slices(void **state)
{
    static const struct gpu sliced[] = {SLICED("0", "1g.10gb", "1g.10gb")};
    struct node_facts f = facts_of(1);
    AUTO(json_freep) json_t *status = NULL;
    AUTO(json_freep) json_t *object = NULL;

    (void)state;
    f.mig_strategy = MIG_STRATEGY_NONE;
    f.gpus = sliced;
    status = node_status_make(&f);
    object = node_object_make(&f, true);
    assert_string_equal(amount(status, "capacity", "nvidia.com/gpu"), "0");
    assert_null(amount(status, "capacity", "nvidia.com/mig-1g.10gb"));
    assert_null(label(object, "nvidia.com/mig.strategy"));
    assert_null(label(object, "nvidia.com/mig-1g.10gb.count"));
}

static void names_products_and_modes_as_feature_discovery_does(void **state)
{
    static const struct host_info odd = {
        .hostname = "h", .arch = "amd64", .machine = " Box  (R) 9 "};
    static const struct gpu unlike[] = {
        {.uuid = "GPU-0", .product = "Quadro RTX 6000/8000 ", .pci_class = 0x030000},
        {.uuid = "GPU-1", .product = "NVIDIA H100", .pci_class = 0x030200}};
    struct node_facts f = facts_of(1);
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *two = NULL;

    (void)state;
    f.host = &odd;
    f.gpus = unlike;
    one = node_object_make(&f, false);
    assert_string_equal(label(one, "nvidia.com/gpu.product"), "Quadro-RTX-60008000");
    assert_string_equal(label(one, "nvidia.com/gpu.machine"), "Box-R-9");
    assert_string_equal(label(one, "nvidia.com/gpu.mode"), "graphics");
    f.n_gpus = 2;
    two = node_object_make(&f, false);
    assert_string_equal(label(two, "nvidia.com/gpu.mode"), "unknown");
    assert_string_equal(label(two, "nvidia.com/gpu.count"), "1"); /* of this product */
}

/* The server stores the patch, and adds to it. */
static void a_report_is_due_when_anything_but_its_time_differs(void **state)
{
    struct node_facts f = facts_of(2);
    AUTO(json_freep) json_t *stored = node_object_make(&f, true);
    AUTO(json_freep) json_t *status = node_status_make(&f);
    AUTO(json_freep) json_t *told = json_deep_copy(status);
    AUTO(json_freep) json_t *object = node_object_make(&f, false);
    AUTO(json_freep) json_t *later = NULL;
    AUTO(json_freep) json_t *lost = NULL;

    (void)state;
    assert_true(node_object_has(stored, object));
    assert_false(node_object_has(stored, status));
    assert_false(node_object_has(NULL, object));
    assert_int_equal(json_object_update(stored, told), 0);
    (void)json_object_set_new(json_at(stored, "metadata", "labels", NULL), "mine",
                              json_string("x"));
    f.now_ns += 1000000000;
    f.node = stored; /* conditions keep the time of their change */
    later = node_status_make(&f);
    assert_true(node_object_has(stored, later)); /* only lastHeartbeatTime differs */
    assert_true(node_object_has(stored, object));
    f.began_ns += 1000000000;
    json_decref(later);
    later = node_status_make(&f);
    assert_false(node_object_has(stored, later));
    f = facts_of(1);
    lost = node_object_make(&f, false);
    assert_false(node_object_has(stored, lost));
    (void)json_object_set_new(json_array_get(json_at(stored, "status", "conditions", NULL), 3),
                              "status", json_string("Unknown"));
    assert_false(node_object_has(stored, status)); /* the server lost sight of the node */
}

static void an_empty_list_may_be_absent(void **state)
{
    AUTO(json_freep) json_t *patch = json_pack("{s:[], s:n}", "images", "gone");
    AUTO(json_freep) json_t *empty = json_object();
    AUTO(json_freep) json_t *full = json_pack("{s:[s]}", "images", "x");

    (void)state;
    assert_true(node_object_has(empty, patch));
    assert_false(node_object_has(full, patch));
}

static void labels_gpus_of_other_vendors_as_their_labellers_do(void **state)
{
    static const struct gpu others[] = {
        {.uuid = "GPU-0",
         .vendor = GPU_AMD,
         .product = "AMD Radeon (TM) Pro W7900",
         .pci_device = 0x74481002,
         .memory_bytes = INT64_C(48301604864),
         .driver_version = "6.8.5",
         .amd = {.gfx = "gfx1100", .compute_units = 96, .simds = 192}},
        {.uuid = "GPU-1", .vendor = GPU_AMD, .pci_device = 0x74a11002, .health = GPU_LOST},
        {.uuid = "GPU-2",
         .vendor = GPU_INTEL_I915,
         .pci_device = 0x0bd58086,
         .pci_class = 0x038000},
        {.uuid = "GPU-3",
         .vendor = GPU_INTEL_I915,
         .pci_device = 0x0bd58086,
         .pci_class = 0x038000},
    };
    static const char *const want[][2] = {
        {"amd.com/gpu.device-id", NULL}, /* two are there: counted */
        {"amd.com/gpu.device-id.7448", "1"},
        {"beta.amd.com/gpu.device-id.74a1", "1"},
        {"amd.com/gpu.product-name", "AMD_Radeon_TM_Pro_W7900"},
        {"beta.amd.com/gpu.product-name", "AMD_Radeon_TM_Pro_W7900"},
        {"beta.amd.com/gpu.product-name.AMD_Radeon_TM_Pro_W7900", "1"},
        {"amd.com/gpu.vram", "45G"},
        {"amd.com/gpu.cu-count", "96"},
        {"amd.com/gpu.simd-count", "192"},
        {"amd.com/gpu.family", "GC_11_0_0"},
        {"amd.com/gpu.driver-version", "6.8.5"},
        {"amd.com/gpu.compute-memory-partition", NULL},
        {"amd.com/gpu.compute-partitioning-supported", "false"},
        {"gpu.intel.com/device-id.0380-0bd5.present", "true"},
        {"gpu.intel.com/device-id.0380-0bd5.count", "2"},
        {"gpu.intel.com/device.count", "2"},
        {"gpu.intel.com/family", "Max_Series"},
        {"gpu.intel.com/product", "Max_1550"},
        {"nvidia.com/gpu.present", NULL},
    };
    AUTO(json_freep)
    json_t *present = json_pack(
        "{s:{s:{s:s, s:s, s:s}}, s:{s:{s:s}}}", "metadata", "labels",
        "gpu.intel.com/device-id.0380-56c0.present", "true", "amd.com/gpu.compute-memory-partition",
        "spx_nps1", "amd.com/gpu.owner", "me", "status", "allocatable", "gpu.intel.com/xe", "1");
    struct node_facts f = facts_of(4);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *status = NULL;

    (void)state;
    f.gpus = others;
    f.node = present;
    object = node_object_make(&f, false);
    for (size_t i = 0; i < COUNT(want); i++) {
        if (want[i][1])
            assert_string_equal(label(object, want[i][0]), want[i][1]);
        else
            assert_null(label(object, want[i][0]));
    }
    assert_true(json_is_null(
        json_at(object, "metadata", "labels", "gpu.intel.com/device-id.0380-56c0.present", NULL)));
    assert_null(json_at(object, "metadata", "labels", "amd.com/gpu.owner", NULL));
    status = node_status_make(&f);
    assert_string_equal(amount(status, "capacity", "amd.com/gpu"), "2");
    assert_string_equal(amount(status, "allocatable", "amd.com/gpu"), "1");
    assert_string_equal(amount(status, "allocatable", "gpu.intel.com/i915"), "2");
    assert_string_equal(amount(status, "allocatable", "nvidia.com/gpu"), "0");
    assert_true(json_is_null(json_at(status, "status", "allocatable", "gpu.intel.com/xe", NULL)));
}

static void reports_with_the_time(void **state)
{
    const struct node_facts f = facts_of(0);
    AUTO(json_freep) json_t *object = node_status_make(&f);
    const json_t *ready = json_array_get(json_at(object, "status", "conditions", NULL), 3);

    (void)state;
    assert_string_equal(json_text(ready, "type"), "Ready");
    assert_string_equal(json_text(ready, "status"), "True");
    assert_string_equal(json_text(ready, "lastHeartbeatTime"), "2026-01-01T00:00:10Z");
    assert_string_equal(json_text(ready, "lastTransitionTime"), "2026-01-01T00:00:00Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_its_gpus),
        cmocka_unit_test(only_healthy_gpus_can_be_given),
        cmocka_unit_test(the_worst_gpu_gives_the_condition_its_reason),
        cmocka_unit_test(says_nothing_of_gpus_that_are_not_known_yet),
        cmocka_unit_test(a_node_without_gpus_takes_old_labels_away),
        cmocka_unit_test(counts_replicas_and_slices_by_their_names),
        cmocka_unit_test(labels_replicas_slices_and_versions),
        cmocka_unit_test(the_strategy_single_offers_slices_as_gpus),
        cmocka_unit_test(the_strategy_single_wants_one_profile),
        cmocka_unit_test(gpus_of_one_nvlink_domain_have_its_label),
        cmocka_unit_test(the_strategy_none_offers_no_slices),
        cmocka_unit_test(labels_gpus_of_other_vendors_as_their_labellers_do),
        cmocka_unit_test(reports_with_the_time),
        cmocka_unit_test(names_products_and_modes_as_feature_discovery_does),
        cmocka_unit_test(a_report_is_due_when_anything_but_its_time_differs),
        cmocka_unit_test(an_empty_list_may_be_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
