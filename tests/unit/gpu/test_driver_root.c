/* test_driver_root.c - tests of the driver root, in made trees */

#include "gpu/driver_root.h"
#include "gpu/gpusim_machine.h"
#include "made_cache.h"
#include "made_tree.h"

#define VERSION "570.124.06"

static int set_up(void **state)
{
    struct made_tree *t = mem_alloc(sizeof(*t));

    tree_init(t);
    tree_text(t, "host/proc/devices",
              "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n509 nvidia-caps\n"
              "510 nvidia-caps-imex-channels\n\nBlock devices:\n");
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    tree_done(*state);
    free(*state);
    return 0;
}

static struct driver_root *root_read(const struct made_tree *t)
{
    AUTO_FREE char *dir = mem_format("%s/root", t->dir);
    AUTO_FREE char *host = mem_format("%s/host", t->dir);
    const struct driver_root_options o = {.dir = dir, .version = VERSION, .host = host};
    struct driver_root *r = NULL;

    assert_null(driver_root_read(&o, &r));
    return r;
}

/* A line for each file: its kind, its name, and its path below the root. */
static char *list_files(const struct made_tree *t, const struct driver_root *r)
{
    AUTO_FREE char *dir = mem_format("%s/root", t->dir);
    struct buf text = {0};

    buf_add_text(&text, "");
    VEC_EACH (&r->files, file) {
        assert_true(text_starts_with(file->path, dir));
        buf_printf(&text, "%d %s %s\n", (int)file->kind, file->name, file->path + strlen(dir));
    }
    return buf_steal(&text);
}

static void finds_files_by_the_loaders_cache(void **state)
{
    static const struct made_entry entries[] = {
        {"libcuda.so.1", "/usr/lib/special/libcuda.so.1"},
        {"libcuda.so.1", "/usr/lib/special32/libcuda.so.1"},
        {"libc.so.6", "/usr/lib64/libc.so.6"},
    };
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO(buf_done) struct buf cache = {0};
    AUTO_FREE char *got = NULL;

    cache_make(&cache, entries, 3, false);
    tree_bytes(t, "root/etc/ld.so.cache", (struct str){cache.at, cache.size});
    tree_elf(t, "root/opt/current/libcuda.so." VERSION, 64);
    tree_elf(t, "root/opt/current/libnvidia-ml.so." VERSION, 64);
    tree_link(t, "root/opt/current/libcuda.so.1", "libcuda.so." VERSION);
    tree_link(t, "root/usr/lib/special/libcuda.so.1", "/opt/current/libcuda.so.1");
    tree_link(t, "root/usr/lib/special/libcuda.so", "libcuda.so.1");
    tree_elf(t, "root/usr/lib/special32/libcuda.so." VERSION, 32);
    tree_link(t, "root/usr/lib/special32/libcuda.so.1", "libcuda.so." VERSION);
    tree_elf(t, "root/usr/lib64/libnvidia-old.so." VERSION, 64); /* not where the cache leads */
    r = root_read(t);
    got = list_files(t, r);
    assert_string_equal(got,
                        "0 libcuda.so /opt/current/libcuda.so." VERSION "\n"
                        "0 libcuda.so.1 /opt/current/libcuda.so." VERSION "\n"
                        "0 libcuda.so." VERSION " /opt/current/libcuda.so." VERSION "\n"
                        "0 libnvidia-ml.so." VERSION " /opt/current/libnvidia-ml.so." VERSION "\n"
                        "1 libcuda.so.1 /usr/lib/special32/libcuda.so." VERSION "\n"
                        "1 libcuda.so." VERSION " /usr/lib/special32/libcuda.so." VERSION "\n");
}

static void without_a_cache_walks_the_usual_directories(void **state)
{
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO_FREE char *got = NULL;

    tree_elf(t, "root/usr/lib64/libnvidia-ml.so." VERSION, 64);
    tree_link(t, "root/usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so." VERSION);
    tree_elf(t, "root/usr/lib64/libnvidia-ml.so.535.1", 64);      /* another version */
    tree_elf(t, "root/usr/lib64/libnvidia-egl-gbm.so.1.1.2", 64); /* a version of its own */
    tree_elf(t, "root/usr/lib64/libz.so.1.2", 64);
    tree_text(t, "root/usr/lib64/libnvidia-text.so." VERSION, "no program");
    tree_elf(t, "root/usr/lib64/vdpau/libvdpau_nvidia.so." VERSION, 64);
    tree_link(t, "root/usr/lib64/gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so." VERSION);
    tree_elf(t, "root/usr/lib64/libnvidia-allocator.so." VERSION, 64);
    tree_link(t, "root/usr/lib64/libnvidia-out.so.1", "../../../outside/libnvidia-out.so." VERSION);
    tree_elf(t, "outside/libnvidia-out.so." VERSION, 64);
    r = root_read(t);
    got = list_files(t, r);
    assert_string_equal(
        got,
        "0 gbm/nvidia-drm_gbm.so /usr/lib64/libnvidia-allocator.so." VERSION "\n"
        "0 libnvidia-allocator.so." VERSION " /usr/lib64/libnvidia-allocator.so." VERSION "\n"
        "0 libnvidia-egl-gbm.so.1.1.2 /usr/lib64/libnvidia-egl-gbm.so.1.1.2\n"
        "0 libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so." VERSION "\n"
        "0 libnvidia-ml.so." VERSION " /usr/lib64/libnvidia-ml.so." VERSION "\n"
        "0 vdpau/libvdpau_nvidia.so." VERSION " /usr/lib64/vdpau/libvdpau_nvidia.so." VERSION "\n");
}

static void finds_programs_firmware_and_descriptions(void **state)
{
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO_FREE char *got = NULL;

    tree_text(t, "root/usr/bin/nvidia-smi", "");
    tree_text(t, "root/usr/sbin/nvidia-imex", "");
    tree_text(t, "root/usr/bin/nvidia-other", "");
    tree_text(t, "root/lib/firmware/nvidia/" VERSION "/gsp_ga10x.bin", "");
    tree_text(t, "root/lib/firmware/nvidia/" VERSION "/other.bin", "");
    tree_text(t, "root/lib/firmware/nvidia/535.1/gsp_ga10x.bin", "");
    tree_text(t, "root/usr/share/nvidia/nvoptix.bin", "");
    r = root_read(t);
    got = list_files(t, r);
    assert_string_equal(got, "2 nvidia-imex /usr/sbin/nvidia-imex\n"
                             "2 nvidia-smi /usr/bin/nvidia-smi\n"
                             "3 /lib/firmware/nvidia/" VERSION
                             "/gsp_ga10x.bin /lib/firmware/nvidia/" VERSION "/gsp_ga10x.bin\n"
                             "3 /usr/share/nvidia/nvoptix.bin /usr/share/nvidia/nvoptix.bin\n");
}

static void finds_nodes_and_capabilities(void **state)
{
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO_FREE char *root = tree_path(t, "root/etc/x");

    (void)root;
    tree_text(t, "host/dev/nvidia-modeset", "");
    tree_text(t, "host/dev/nvidia-caps-imex-channels/channel3", "");
    tree_text(t, "host/proc/driver/nvidia/capabilities/gpu2/mig/gi1/access",
              "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
    tree_text(t, "host/proc/driver/nvidia/capabilities/gpu2/mig/gi1/ci0/access",
              "DeviceFileMinor: 13\nDeviceFileMode: 292\n");
    tree_text(t, "host/proc/driver/nvidia/capabilities/gpu2/mig/gi7/access", "nonsense\n");
    r = root_read(t);
    assert_int_equal(r->gpu_major, 195);
    assert_int_equal(r->capability_major, 509);
    assert_int_equal(r->nodes.n, 4);
    assert_string_equal(r->nodes.at[1].path, "/dev/nvidia-uvm");
    assert_int_equal(r->nodes.at[1].major, 508);
    assert_string_equal(r->nodes.at[3].path, "/dev/nvidia-modeset");
    assert_int_equal(r->channels.n, 1);
    assert_int_equal(r->channels.at[0].major, 510);
    assert_int_equal(r->channels.at[0].minor, 3);
    assert_int_equal(driver_root_capability(r, 2, 1, -1), 12);
    assert_int_equal(driver_root_capability(r, 2, 1, 0), 13);
    assert_int_equal(driver_root_capability(r, 2, 7, -1), -1);
    assert_int_equal(driver_root_capability(r, 0, 1, 0), -1);
}

static void numbers_tell_that_instances_came_or_went(void **state)
{
    struct made_tree *t = *state;
    AUTO_FREE char *host = mem_format("%s/host", t->dir);
    AUTO_FREE char *before = driver_numbers(host);
    AUTO_FREE char *same = driver_numbers(host);
    AUTO_FREE char *with_instance = NULL;
    AUTO_FREE char *with_module = NULL;

    assert_string_equal(before, same);
    tree_text(t, "host/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access",
              "DeviceFileMinor: 7\n");
    with_instance = driver_numbers(host);
    assert_string_not_equal(before, with_instance);
    tree_text(t, "host/proc/devices", "Character devices:\n  1 mem\n196 nvidia\n");
    with_module = driver_numbers(host);
    assert_string_not_equal(with_instance, with_module);
}

static void an_emulated_driver_has_every_capability(void **state)
{
    const struct driver_root r = {.is_emulated = true};

    (void)state;
    assert_int_equal(driver_root_capability(&r, 1, 2, -1), gpusim_cap_of_instance(1, 2));
    assert_int_equal(driver_root_capability(&r, 1, 2, 0), gpusim_cap_of_compute(1, 2, 0));
}

static void a_driver_without_parts_is_no_error(void **state)
{
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO_FREE char *root = tree_path(t, "root/x");

    (void)root;
    tree_text(t, "host/proc/devices", "Character devices:\n  1 mem\n");
    r = root_read(t);
    assert_int_equal(r->files.n, 0);
    assert_int_equal(r->nodes.n, 1); /* /dev/nvidiactl has a fixed number */
    assert_int_equal(r->capability_major, -1);
}

static void reads_its_own_json(void **state)
{
    struct made_tree *t = *state;
    AUTO(driver_root_freep) struct driver_root *r = NULL;
    AUTO(driver_root_freep) struct driver_root *again = NULL;
    AUTO(json_freep) json_t *j = NULL;
    AUTO(json_freep) json_t *j_again = NULL;

    tree_elf(t, "root/usr/lib64/libcuda.so." VERSION, 64);
    tree_text(t, "host/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access",
              "DeviceFileMinor: 4\n");
    tree_text(t, "host/dev/nvidia-caps-imex-channels/channel0", "");
    r = root_read(t);
    j = driver_root_format_json(r);
    assert_null(driver_root_parse_json(j, &again));
    j_again = driver_root_format_json(again);
    assert_true(json_equal(j, j_again));
    assert_int_equal(driver_root_capability(again, 0, 1, -1), 4);
}

static void refuses_malformed_json(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"dir\":\"/\"}",
        "{\"dir\":\"/\",\"version\":\"1\",\"files\":[[9,\"a\",\"b\"]]}",
        "{\"dir\":\"/\",\"version\":\"1\",\"files\":[[0,\"a\"]]}",
        "{\"dir\":\"/\",\"version\":\"1\",\"nodes\":[[\"/dev/x\",1]]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(json_freep) json_t *j = NULL;
        struct driver_root *r = NULL;
        AUTO(err_freep) struct err *e = NULL;

        assert_null(json_parse(str_of(texts[i]), &j));
        e = driver_root_parse_json(j, &r);
        assert_string_equal(err_message(e), "the driver's files are malformed");
        assert_null(r);
    }
}

static void finds_the_library_that_this_process_can_load(void **state)
{
    struct made_tree *t = *state;
    AUTO_FREE char *root = mem_format("%s/root", t->dir);
    AUTO_FREE char *none = driver_root_find_library(root, "libnvidia-ml.so.1");
    AUTO_FREE char *found = NULL;

    assert_null(none);
    tree_elf(t, "root/usr/lib/libnvidia-ml.so.1", 32);
    tree_elf(t, "root/usr/lib64/libnvidia-ml.so.1", 64);
    found = driver_root_find_library(root, "libnvidia-ml.so.1");
    assert_true(text_ends_with(found, "/root/usr/lib64/libnvidia-ml.so.1"));
}

static void finds_a_driver_among_the_devices(void **state)
{
    static const char devices[] = "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n\n"
                                  "Block devices:\n  7 nvidia-caps\n";

    (void)state;
    assert_int_equal(driver_find_major(devices, "nvidia-uvm"), 508);
    assert_int_equal(driver_find_major(devices, "mem"), 1);
    assert_int_equal(driver_find_major(devices, "nvidia-caps"), -1);
    assert_int_equal(driver_find_major("", "mem"), -1);
    assert_int_equal(driver_find_major("x mem\n", "mem"), -1);
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(finds_files_by_the_loaders_cache),
        TREE_TEST(without_a_cache_walks_the_usual_directories),
        TREE_TEST(finds_programs_firmware_and_descriptions),
        TREE_TEST(finds_nodes_and_capabilities),
        TREE_TEST(numbers_tell_that_instances_came_or_went),
        cmocka_unit_test(an_emulated_driver_has_every_capability),
        TREE_TEST(a_driver_without_parts_is_no_error),
        TREE_TEST(reads_its_own_json),
        cmocka_unit_test(refuses_malformed_json),
        TREE_TEST(finds_the_library_that_this_process_can_load),
        cmocka_unit_test(finds_a_driver_among_the_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
