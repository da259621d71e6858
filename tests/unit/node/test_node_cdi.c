/* test_node_cdi.c - tests of CDI edits */

#include "base/mem.h"
#include "gpu/gpusim_machine.h"
#include "node/spec/cdi.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

static void applies_edits_by_the_rules(void **state)
{
    static const struct {
        const char *edits;
        const char *spec;
        const char *want;
    } cases[] = {
        {"{}", "{\"mounts\":[]}", "{\"mounts\":[]}"},
        {"{\"env\":[\"A=2\",\"B=3\"]}", "{\"process\":{\"env\":[\"AA=0\",\"A=1\"]},\"mounts\":[]}",
         "{\"process\":{\"env\":[\"AA=0\",\"A=2\",\"B=3\"]},\"mounts\":[]}"},
        {"{\"mounts\":[{\"hostPath\":\"/h\",\"containerPath\":\"/a/b\",\"options\":[\"ro\"]}]}",
         "{\"mounts\":[{\"destination\":\"/a/b\",\"source\":\"old\"},{\"destination\":\"/a/b/c\"},"
         "{\"destination\":\"/x/y\"},{\"destination\":\"/a\"}]}",
         "{\"mounts\":[{\"destination\":\"/a\"},{\"destination\":\"/x/y\"},{\"destination\":\"/a/"
         "b\","
         "\"type\":\"bind\",\"source\":\"/h\",\"options\":[\"ro\"]},{\"destination\":\"/a/b/"
         "c\"}]}"},
        {"{\"additionalGids\":[0,5,7]}",
         "{\"process\":{\"user\":{\"additionalGids\":[5]}},\"mounts\":[]}",
         "{\"process\":{\"user\":{\"additionalGids\":[5,7]}},\"mounts\":[]}"},
        {"{\"deviceNodes\":[{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":2}]}",
         "{\"linux\":{\"devices\":[{\"path\":\"/dev/"
         "x\",\"major\":9}],\"resources\":{\"devices\":[]}},"
         "\"mounts\":[]}",
         "{\"linux\":{\"devices\":[{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":2}],"
         "\"resources\":{\"devices\":[{\"allow\":true,\"type\":\"c\",\"major\":1,\"minor\":2,"
         "\"access\":\"rwm\"}]}},\"mounts\":[]}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *edits = parse(cases[i].edits);
        AUTO(json_freep) json_t *spec = parse(cases[i].spec);
        AUTO(err_freep) struct err *e = cdi_apply(edits, spec);
        AUTO_FREE char *got = json_format(spec);

        assert_null(e);
        assert_string_equal(got, cases[i].want);
    }
}

static void refuses_edits_that_it_does_not_know(void **state)
{
    static const struct {
        const char *edits;
        const char *message;
    } cases[] = {
        {"{\"hooks\":[]}", "container edit 'hooks' is not supported"},
        {"{\"deviceNodes\":[{\"path\":\"/dev/x\"}]}",
         "device node '/dev/x' lacks type, major or minor"},
        {"{\"mounts\":[{\"containerPath\":\"/x\"}]}", "mount '/x' lacks hostPath or containerPath"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *edits = parse(cases[i].edits);
        AUTO(json_freep) json_t *spec = json_object();
        AUTO(err_freep) struct err *e = cdi_apply(edits, spec);

        assert_string_equal(err_message(e), cases[i].message);
    }
}

static void real_gpus_get_their_nodes_and_the_drivers(void **state)
{
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 5};
    const struct gpu *const gpus[] = {&gpu};
    const struct cdi_host host = {.uvm_major = 508};
    AUTO(json_freep) json_t *env = json_object();
    AUTO(json_freep) json_t *edits = cdi_gpu_edits(gpus, 1, &host, env);
    AUTO_FREE char *nodes = json_format(json_object_get(edits, "deviceNodes"));
    AUTO_FREE char *variables = json_format(json_object_get(edits, "env"));

    (void)state;
    assert_string_equal(
        nodes,
        "[{\"path\":\"/dev/nvidia5\",\"type\":\"c\",\"major\":195,\"minor\":5,\"fileMode\":438,"
        "\"permissions\":\"rw\"},"
        "{\"path\":\"/dev/nvidiactl\",\"type\":\"c\",\"major\":195,\"minor\":255,\"fileMode\":438,"
        "\"permissions\":\"rw\"},"
        "{\"path\":\"/dev/nvidia-uvm\",\"type\":\"c\",\"major\":508,\"minor\":0,\"fileMode\":438,"
        "\"permissions\":\"rw\"},"
        "{\"path\":\"/dev/nvidia-uvm-tools\",\"type\":\"c\",\"major\":508,\"minor\":1,"
        "\"fileMode\":438,\"permissions\":\"rw\"}]");
    assert_string_equal(variables, "[\"NVIDIA_VISIBLE_DEVICES=GPU-1\"]");
    assert_null(json_object_get(edits, "mounts"));
}

static void emulated_gpus_bring_their_driver(void **state)
{
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 2, .is_emulated = true};
    const struct gpu *const gpus[] = {&gpu};
    const struct cdi_host host = {.uvm_major = -1, .gpusim_dir = "/d/gpusim"};
    AUTO(json_freep) json_t *env = parse("{\"PATH\":\"/bin\",\"LD_LIBRARY_PATH\":\"\"}");
    AUTO(json_freep) json_t *edits = cdi_gpu_edits(gpus, 1, &host, env);
    const json_t *node = json_array_get(json_object_get(edits, "deviceNodes"), 0);
    const json_t *mount = json_array_get(json_object_get(edits, "mounts"), 0);
    AUTO_FREE char *variables = json_format(json_object_get(edits, "env"));

    (void)state;
    assert_int_equal(json_int(node, "major", 0), GPUSIM_DEVICE_MAJOR);
    assert_int_equal(json_int(node, "minor", 0), 2);
    assert_string_equal(json_text(mount, "hostPath"), "/d/gpusim");
    assert_string_equal(variables, "[\"PATH=/run/mete/gpu:/bin\",\"LD_LIBRARY_PATH=/run/mete/gpu\","
                                   "\"NVIDIA_VISIBLE_DEVICES=GPU-1\"]");
}

static void names_all_gpus_by_their_uuids(void **state)
{
    const struct gpu first = {.uuid = "GPU-1", .minor = 5};
    const struct gpu second = {.uuid = "GPU-0", .minor = 4};
    const struct gpu *const gpus[] = {&first, &second};
    const struct cdi_host host = {.uvm_major = 508};
    AUTO(json_freep) json_t *env = json_object();
    AUTO(json_freep) json_t *edits = cdi_gpu_edits(gpus, 2, &host, env);
    AUTO_FREE char *variables = json_format(json_object_get(edits, "env"));

    (void)state;
    assert_string_equal(variables, "[\"NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0\"]");
}

static void without_gpus_there_is_nothing_to_edit(void **state)
{
    const struct cdi_host host = {.uvm_major = 508, .gpusim_dir = "/d"};
    AUTO(json_freep) json_t *env = json_object();
    AUTO(json_freep) json_t *edits = cdi_gpu_edits(NULL, 0, &host, env);

    (void)state;
    assert_int_equal(json_object_size(edits), 0);
}

static void finds_a_driver_among_the_devices(void **state)
{
    static const char devices[] = "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n\n"
                                  "Block devices:\n  7 nvidia-caps\n";

    (void)state;
    assert_int_equal(cdi_find_major(devices, "nvidia-uvm"), 508);
    assert_int_equal(cdi_find_major(devices, "mem"), 1);
    assert_int_equal(cdi_find_major(devices, "nvidia-caps"), -1);
    assert_int_equal(cdi_find_major("", "mem"), -1);
    assert_int_equal(cdi_find_major("x mem\n", "mem"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applies_edits_by_the_rules),
        cmocka_unit_test(refuses_edits_that_it_does_not_know),
        cmocka_unit_test(real_gpus_get_their_nodes_and_the_drivers),
        cmocka_unit_test(emulated_gpus_bring_their_driver),
        cmocka_unit_test(names_all_gpus_by_their_uuids),
        cmocka_unit_test(without_gpus_there_is_nothing_to_edit),
        cmocka_unit_test(finds_a_driver_among_the_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
