/* test_gpu_readers.c - tests of AMD's and Intel's gpus in directories like /sys */

#include "gpu/gpu_readers.h"
#include "made_sysfs.h"

#define GIB (INT64_C(1) << 30)

static const struct made_amd mi300x = {.card = 1,
                                       .render = 128,
                                       .node = 2,
                                       .bus = 5,
                                       .device = 0x74a1,
                                       .unique_id = UINT64_C(16404946649897475633),
                                       .hive = UINT64_C(15188982192727901047),
                                       .memory_bytes = 192 * GIB,
                                       .simds = 1216,
                                       .gfx = 90402,
                                       .product = "AMD Instinct MI300X OAM",
                                       .partition = "SPX",
                                       .partitions = 1};

static const struct made_amd mi210 = {.card = 0,
                                      .render = 128,
                                      .node = 2,
                                      .bus = 0x63,
                                      .device = 0x740f,
                                      .unique_id = UINT64_C(1801979520617338022),
                                      .memory_bytes = 64 * GIB,
                                      .simds = 416,
                                      .gfx = 90010,
                                      .partitions = 1};

struct world {
    struct made_tree tree;
    struct gpu_readers readers;
    unsigned n;
};

static int set_up(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));

    tree_init(&w->tree);
    gpu_readers_add(&w->readers, &gpu_reader_amd,
                    amd_reader_new(w->tree.dir, getenv("METE_TEST_VENDOR_STUB")));
    gpu_readers_add(&w->readers, &gpu_reader_intel,
                    intel_reader_new(w->tree.dir, getenv("METE_TEST_VENDOR_STUB")));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    gpu_readers_done(&w->readers);
    tree_done(&w->tree);
    free(w);
    return 0;
}

static unsigned count(struct world *w)
{
    assert_null(gpu_readers_count(&w->readers, &w->n));
    return w->n;
}

static struct gpu read_gpu(struct world *w, unsigned index)
{
    struct gpu g = GPU_UNKNOWN(0);

    assert_null(gpu_readers_read(&w->readers, index, &g));
    assert_int_equal(g.index, index);
    return g;
}

static void put_eight(struct world *w)
{
    sys_cpus(&w->tree);
    for (unsigned i = 0; i < 8; i++) {
        struct made_amd b = mi300x;

        b.card += i * 8;
        b.render += i * 8;
        b.node += i;
        b.bus += i * 16;
        b.unique_id += i;
        sys_amd(&w->tree, &b);
    }
}

static void reads_eight_boards(void **state)
{
    struct world *w = *state;
    struct gpu g;

    put_eight(w);
    assert_int_equal(count(w), 8);
    g = read_gpu(w, 7);
    assert_int_equal(g.vendor, GPU_AMD);
    assert_string_equal(g.uuid, "GPU-e3aa140f9a5f9e38");
    assert_string_equal(g.product, "AMD Instinct MI300X OAM");
    assert_string_equal(g.model, "mi300x");
    assert_string_equal(g.pci, "0000:75:00.0");
    assert_string_equal(g.serial, "692251001124");
    assert_string_equal(g.driver_version, "6.8.5");
    assert_string_equal(g.cpu_affinity, "48-95,144-191");
    assert_int_equal(g.memory_bytes, 192 * GIB);
    assert_int_equal(g.numa_node, 1);
    assert_int_equal(g.pci_device, 0x74a11002);
    assert_int_equal(g.power_limit_mw, 750000);
    assert_int_equal(g.sm_clock_max_mhz, 2100);
    assert_int_equal(g.memory_clock_max_mhz, 1300);
    assert_string_equal(g.amd.gfx, "gfx942");
    assert_string_equal(g.amd.compute_partition, "SPX");
    assert_string_equal(g.amd.memory_partition, "NPS1");
    assert_int_equal(g.amd.partition, -1);
    assert_int_equal(g.amd.compute_units, 304);
    assert_int_equal(g.n_nodes, 3);
    assert_string_equal(g.nodes[0].path, "/dev/kfd");
    assert_int_equal(g.nodes[0].major, 510);
    assert_string_equal(g.nodes[1].path, "/dev/dri/card57");
    assert_string_equal(g.nodes[2].path, "/dev/dri/renderD184");
    assert_int_equal(g.nodes[2].major, 226);
    assert_int_equal(g.nodes[2].minor, 184);
    assert_true(gpu_readers_are_linked(&w->readers, 0, 7));
}

static void samples_sensors_and_use(void **state)
{
    struct world *w = *state;
    struct gpu_reading s = {0};

    put_eight(w);
    assert_int_equal(count(w), 8);
    assert_null(gpu_readers_sample(&w->readers, 3, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_USED_BYTES], 2907979776);
    assert_int_equal(s.gpu.value[GPU_FIELD_UTILIZATION_PCT], 7);
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_UTILIZATION_PCT], 3);
    assert_int_equal(s.gpu.value[GPU_FIELD_TEMPERATURE_C], 41);
    assert_int_equal(s.gpu.value[GPU_FIELD_POWER_MW], 133000);
    assert_int_equal(s.gpu.value[GPU_FIELD_ENERGY_MJ], -1);
    assert_int_equal(s.gpu.value[GPU_FIELD_SM_CLOCK_MHZ], 132);
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_TEMPERATURE_C], 34);
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_CLOCK_MHZ], 900);
    assert_int_equal(s.gpu.value[GPU_FIELD_PCIE_REPLAYS], 2);
    assert_int_equal(s.gpu.value[GPU_FIELD_ECC_CORRECTED], 7);
    assert_int_equal(s.gpu.value[GPU_FIELD_ECC_UNCORRECTED], 1);
    assert_int_equal(s.gpu.value[GPU_FIELD_PROCESSES], -1);
    assert_true(s.gpu.at_ns > 0);
}

static void lists_the_processes_that_compute(void **state)
{
    struct world *w = *state;
    struct gpu_reading s = {0};

    put_eight(w);
    sys_put(&w->tree, "class/kfd/kfd/proc/812", "vram_24002", "4096");
    sys_put(&w->tree, "class/kfd/kfd/proc/812", "vram_24003", "1048576");
    sys_put(&w->tree, "class/kfd/kfd/proc/99", "vram_24003", "0");
    sys_put(&w->tree, "class/kfd/kfd/proc/813", "vram_24003", "garbage");
    sys_put(&w->tree, "class/kfd/kfd/proc/self", "vram_24003", "8192");
    assert_int_equal(count(w), 8);
    assert_null(gpu_readers_sample(&w->readers, 1, &s));
    assert_int_equal(s.n_processes, 1);
    assert_int_equal(s.gpu.value[GPU_FIELD_PROCESSES], 1);
    assert_int_equal(s.processes[0].pid, 812);
    assert_int_equal(s.processes[0].memory_bytes, 1048576);
    assert_int_equal(s.processes[0].slice, -1);
    assert_null(gpu_readers_sample(&w->readers, 5, &s));
    assert_int_equal(s.n_processes, 0);
    assert_int_equal(s.gpu.value[GPU_FIELD_PROCESSES], 0);
}

static void asks_the_vendors_libraries_for_the_rest(void **state)
{
    struct world *w = *state;
    struct gpu_reading s = {0};

    sys_amd(&w->tree, &mi300x);
    sys_intel(&w->tree, 9, "0000:29:00.0", 0x0bd5, "i915", 16 * GIB);
    assert_int_equal(count(w), 2);
    assert_null(gpu_readers_sample(&w->readers, 0, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_ENERGY_MJ], 61000);
    assert_int_equal(read_gpu(w, 1).memory_bytes, 128 * GIB); /* two tiles */
    assert_null(gpu_readers_sample(&w->readers, 1, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_USED_BYTES], 8 * GIB);
    assert_int_equal(s.gpu.value[GPU_FIELD_UTILIZATION_PCT], -1);
    assert_null(gpu_readers_sample(&w->readers, 1, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_UTILIZATION_PCT], 25);
}

static void reads_each_partition_as_a_gpu(void **state)
{
    struct world *w = *state;
    struct made_amd b = mi300x;
    struct gpu_reading s = {0};
    struct gpu g;

    b.partition = "CPX";
    b.partitions = 8;
    sys_cpus(&w->tree);
    sys_amd(&w->tree, &b);
    assert_int_equal(count(w), 8);
    g = read_gpu(w, 0);
    assert_string_equal(g.uuid, "GPU-e3aa140f9a5f9e31-p0");
    g = read_gpu(w, 5);
    assert_string_equal(g.uuid, "GPU-e3aa140f9a5f9e31-p5");
    assert_string_equal(g.product, "AMD Instinct MI300X OAM");
    assert_string_equal(g.pci, "0000:05:00.0");
    assert_string_equal(g.amd.compute_partition, "CPX");
    assert_int_equal(g.amd.partition, 5);
    assert_int_equal(g.amd.compute_units, 38);
    assert_int_equal(g.memory_bytes, 24 * GIB);
    assert_string_equal(g.nodes[1].path, "/dev/dri/card6");
    assert_string_equal(g.nodes[2].path, "/dev/dri/renderD133");
    assert_null(gpu_readers_sample(&w->readers, 5, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_MEMORY_USED_BYTES], 2907979776);
    assert_int_equal(s.gpu.value[GPU_FIELD_UTILIZATION_PCT],
                     -1); /* the board's, not the partition's */
    assert_int_equal(s.gpu.value[GPU_FIELD_POWER_MW], -1);
}

static void names_boards_that_do_not_name_themselves(void **state)
{
    struct world *w = *state;
    struct made_amd b = mi210;
    struct gpu g;

    sys_amd(&w->tree, &b);
    b = (struct made_amd){.card = 1,
                          .render = 129,
                          .node = 3,
                          .bus = 0x83,
                          .device = 0x9999,
                          .memory_bytes = 8 * GIB,
                          .simds = 64,
                          .gfx = 110000,
                          .partitions = 1};
    sys_amd(&w->tree, &b);
    assert_int_equal(count(w), 2);
    g = read_gpu(w, 0);
    assert_string_equal(g.product, "AMD Instinct MI210");
    assert_string_equal(g.model, "mi210");
    assert_string_equal(g.uuid, "GPU-1901ead3a2ecd4a6");
    assert_string_equal(g.amd.gfx, "gfx90a");
    assert_string_equal(g.amd.compute_partition, "");
    g = read_gpu(w, 1);
    assert_string_equal(g.product, "AMD GPU 0x9999");
    assert_string_equal(g.uuid, "GPU-amd-0000-83-00-0");
    assert_string_equal(g.amd.gfx, "gfx1100");
    assert_false(gpu_readers_are_linked(&w->readers, 0, 1));
}

static void leaves_out_parts_of_a_cpu(void **state)
{
    struct world *w = *state;
    struct made_amd b = mi210;

    b.device = 0x164e;
    b.memory_bytes = GIB / 2;
    sys_amd(&w->tree, &b);
    sys_intel(&w->tree, 1, "0000:00:02.0", 0x9a49, "i915", GIB / 4);
    assert_int_equal(count(w), 0);
}

static void reads_gpus_of_intel_by_their_driver(void **state)
{
    struct world *w = *state;
    struct gpu_reading s = {0};
    struct gpu g;

    sys_intel(&w->tree, 0, "0000:29:00.0", 0x0bd5, "i915", 128 * GIB);
    sys_intel(&w->tree, 1, "0000:4d:00.0", 0x56c0, "xe", 16 * GIB);
    sys_intel(&w->tree, 2, "0000:4e:00.0", 0x56c0, "vfio-pci", 16 * GIB);
    sys_intel(&w->tree, 3, "0000:4f:00.0", 0x56a0, "xe", GIB / 4); /* shows a window alone */
    assert_int_equal(count(w), 3);
    assert_int_equal(read_gpu(w, 2).memory_bytes, -1);
    g = read_gpu(w, 0);
    assert_int_equal(g.vendor, GPU_INTEL_I915);
    assert_string_equal(g.uuid, "GPU-intel-0000-29-00-0");
    assert_string_equal(g.product, "Intel Data Center GPU Max 1550");
    assert_string_equal(g.model, "max1550");
    assert_int_equal(g.memory_bytes, 128 * GIB);
    assert_int_equal(g.n_nodes, 2);
    assert_string_equal(g.nodes[1].path, "/dev/dri/renderD128");
    g = read_gpu(w, 1);
    assert_int_equal(g.vendor, GPU_INTEL_XE);
    assert_string_equal(g.model, "flex170");
    assert_null(gpu_readers_sample(&w->readers, 1, &s));
    assert_int_equal(s.gpu.value[GPU_FIELD_POWER_MW], 133000);
    assert_int_equal(s.gpu.value[GPU_FIELD_UTILIZATION_PCT], -1);
}

static void says_that_a_gpu_is_gone(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *dir = mem_format("%s/bus/pci/devices/0000:05:00.0", w->tree.dir);
    struct gpu_reading s = {0};
    struct gpu g = {0};

    sys_amd(&w->tree, &mi300x);
    assert_int_equal(count(w), 1);
    assert_null(dir_remove(dir));
    for (int i = 0; i < 2; i++) {
        AUTO(err_freep)
        struct err *e =
            i == 0 ? gpu_readers_sample(&w->readers, 0, &s) : gpu_readers_read(&w->readers, 0, &g);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_UNAVAILABLE);
        assert_string_equal(err_message(e), "amdgpu: card1 is gone");
    }
    assert_int_equal(count(w), 0);
}

/* Reads and samples all gpus, whatever comes of it. */
static void read_all(struct world *w)
{
    unsigned n = count(w);

    for (unsigned i = 0; i < n; i++) {
        struct gpu g = GPU_UNKNOWN(0);
        struct gpu_reading s = {0};

        err_free(gpu_readers_read(&w->readers, i, &g));
        err_free(gpu_readers_sample(&w->readers, i, &s));
        assert_true(g.n_nodes <= GPU_NODES_MAX);
        assert_true(memchr(g.uuid, '\0', sizeof(g.uuid)) != NULL);
    }
}

static void survives_files_that_are_missing_or_garbage(void **state)
{
    static const char *const files[] = {
        "bus/pci/devices/0000:05:00.0/vendor",
        "bus/pci/devices/0000:05:00.0/device",
        "bus/pci/devices/0000:05:00.0/class",
        "bus/pci/devices/0000:05:00.0/numa_node",
        "bus/pci/devices/0000:05:00.0/local_cpulist",
        "bus/pci/devices/0000:05:00.0/mem_info_vram_total",
        "bus/pci/devices/0000:05:00.0/gpu_busy_percent",
        "bus/pci/devices/0000:05:00.0/product_name",
        "bus/pci/devices/0000:05:00.0/pp_dpm_sclk",
        "bus/pci/devices/0000:05:00.0/current_compute_partition",
        "bus/pci/devices/0000:05:00.0/hwmon/hwmon5/power1_average",
        "bus/pci/devices/0000:05:00.0/hwmon/hwmon5/name",
        "bus/pci/devices/0000:05:00.0/ras/umc_err_count",
        "class/kfd/kfd/topology/nodes/2/gpu_id",
        "class/kfd/kfd/topology/nodes/2/properties",
        "class/kfd/kfd/topology/nodes/2/mem_banks/0/properties",
        "class/kfd/kfd/topology/nodes/2/mem_banks/0/used_memory",
        "class/kfd/kfd/dev",
        "bus/pci/devices/0000:29:00.0/resource",
        "bus/pci/devices/0000:29:00.0/device",
    };
    static const char *const texts[] = {
        "",
        "\n",
        "-1\n",
        "0x\n",
        "garbage without a line end",
        "99999999999999999999999999\n",
        "18446744073709551615\n",
        "0xffffffffffffffff\n",
        "510:\n",
        "1: Mhz\n2: 99999999999Mhz\n:\n",
        ("simd_count 99999999999\ndrm_render_minor 128\nlocation_id 18446744073709551615\n"
         "unique_id -5\ngfx_target_version 4294967295\nsimd_per_cu 0\n"),
        "heap_type 1\nsize_in_bytes 18446744073709551615\n",
        "ue: 18446744073709551615\nce:\nce: x\n",
        "0x5 0x4 0x0\n0x5\n0xffffffffffffffff 0x0 0x0\n",
    };
    struct world *w = *state;

    sys_amd(&w->tree, &mi300x);
    sys_intel(&w->tree, 9, "0000:29:00.0", 0x0bd5, "i915", 128 * GIB);
    assert_int_equal(count(w), 2);
    for (size_t i = 0; i < COUNT(files); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", w->tree.dir, files[i]);
        AUTO(buf_done) struct buf kept = {0};

        assert_null(file_read(path, 4096, &kept));
        assert_int_equal(unlink(path), 0);
        read_all(w);
        for (size_t k = 0; k < COUNT(texts); k++) {
            tree_text(&w->tree, files[i], texts[k]);
            read_all(w);
        }
        tree_bytes(&w->tree, files[i], (struct str){kept.at, kept.size});
    }
    assert_int_equal(count(w), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_eight_boards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_sensors_and_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_the_processes_that_compute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(asks_the_vendors_libraries_for_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_each_partition_as_a_gpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_boards_that_do_not_name_themselves, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(leaves_out_parts_of_a_cpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_gpus_of_intel_by_their_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_that_a_gpu_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_files_that_are_missing_or_garbage, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
