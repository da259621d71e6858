/* test_node_cdi.c - tests of CDI edits */

#include "base/mem.h"
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
        {"{\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/"
         "h\",\"args\":[\"h\"],\"timeout\":3}]}",
         "{\"mounts\":[],\"hooks\":{\"createContainer\":[{\"path\":\"/a\"}]}}",
         "{\"mounts\":[],\"hooks\":{\"createContainer\":[{\"path\":\"/a\"},{\"path\":\"/"
         "h\",\"args\":["
         "\"h\"],\"timeout\":3}]}}"},
        {"{\"deviceNodes\":[{\"path\":\"/dev/"
         "x\",\"type\":\"c\",\"major\":1,\"minor\":2,\"gid\":7}]}",
         "{\"process\":{\"user\":{\"uid\":5,\"gid\":6}},\"mounts\":[]}",
         "{\"process\":{\"user\":{\"uid\":5,\"gid\":6}},\"mounts\":[],\"linux\":{\"devices\":[{"
         "\"path\":"
         "\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":2,\"gid\":7,\"uid\":5}],\"resources\":{"
         "\"devices\":[{\"allow\":true,\"type\":\"c\",\"major\":1,\"minor\":2,\"access\":\"rwm\"}]}"
         "}}"},
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
        {"{\"netDevices\":[]}", "container edit 'netDevices' is not supported"},
        {"{\"intelRdt\":{}}", "container edit 'intelRdt' is not supported"},
        {"{\"hooks\":[{\"path\":\"/h\"}]}", "hook '' lacks hookName or path"},
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

/* ---- gpus ---- */

#define VERSION "570.124.06"

/* A driver in the directory `dir`, with two names of a library and some of each other kind. */
static struct driver_root *make_root(const char *dir)
{
    struct driver_root *r = mem_alloc(sizeof(*r));

    r->dir = mem_strdup(dir);
    r->version = mem_strdup(VERSION);
    r->gpu_major = 195;
    r->capability_major = 509;
    vec_add(&r->nodes, ((struct driver_node){mem_strdup("/dev/nvidiactl"), 195, 255}));
    vec_add(&r->nodes, ((struct driver_node){mem_strdup("/dev/nvidia-uvm"), 508, 0}));
    vec_add(&r->capabilities, ((struct driver_capability){5, 1, -1, 12}));
    vec_add(&r->capabilities, ((struct driver_capability){5, 1, 0, 13}));
    driver_root_add_file(r, DRIVER_LIBRARY, "/d/libcuda.so." VERSION, "libcuda.so.1");
    driver_root_add_file(r, DRIVER_LIBRARY, "/d/libcuda.so." VERSION, "libcuda.so." VERSION);
    driver_root_add_file(r, DRIVER_LIBRARY_32, "/d32/libcuda.so." VERSION, "libcuda.so.1");
    driver_root_add_file(r, DRIVER_PROGRAM, "/d/bin/nvidia-smi", "nvidia-smi");
    driver_root_add_file(r, DRIVER_DATA, "/d/gsp.bin", "/lib/firmware/gsp.bin");
    driver_root_add_file(r, DRIVER_SOCKET, "/d/socket", "/run/nvidia-persistenced/socket");
    return r;
}

/* The mounts as lines "FROM TO". */
static char *list_mounts(const json_t *edits)
{
    struct buf text = {0};
    const json_t *mount = NULL;
    size_t i = 0;

    buf_add_text(&text, "");
    json_array_foreach (json_object_get(edits, "mounts"), i, mount)
        buf_printf(&text, "%s %s\n", json_text(mount, "hostPath"),
                   json_text(mount, "containerPath"));
    return buf_steal(&text);
}

static void gpus_bring_their_nodes_and_the_drivers(void **state)
{
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 5};
    const struct cdi_device device = {.gpu = &gpu};
    AUTO(driver_root_freep) struct driver_root *root = make_root("/");
    AUTO(json_freep) json_t *edits = NULL;
    AUTO_FREE char *nodes = NULL;
    AUTO_FREE char *variables = NULL;

    (void)state;
    assert_null(cdi_gpu_edits(&device, 1, root, NULL, &edits));
    nodes = json_format(json_object_get(edits, "deviceNodes"));
    variables = json_format(json_object_get(edits, "env"));
    assert_string_equal(
        nodes,
        "[{\"path\":\"/dev/nvidia5\",\"type\":\"c\",\"major\":195,\"minor\":5,\"fileMode\":438,"
        "\"permissions\":\"rw\"},"
        "{\"path\":\"/dev/nvidiactl\",\"type\":\"c\",\"major\":195,\"minor\":255,\"fileMode\":438,"
        "\"permissions\":\"rw\"},"
        "{\"path\":\"/dev/nvidia-uvm\",\"type\":\"c\",\"major\":508,\"minor\":0,\"fileMode\":438,"
        "\"permissions\":\"rw\"}]");
    assert_string_equal(variables, "[\"NVIDIA_VISIBLE_DEVICES=GPU-1\"]");
    assert_null(json_object_get(edits, "mounts"));
}

static void the_drivers_files_go_where_the_loader_searches(void **state)
{
    static const struct {
        const char *root;
        struct cdi_target target;
        const char *want;
    } cases[] = {
        {"/",
         {.library_dir = "/usr/lib64", .library_dir_32 = "/usr/lib"},
         "/d/libcuda.so." VERSION " /usr/lib64/libcuda.so.1\n"
         "/d/libcuda.so." VERSION " /usr/lib64/libcuda.so." VERSION "\n"
         "/d32/libcuda.so." VERSION " /usr/lib/libcuda.so.1\n"
         "/d/bin/nvidia-smi /usr/bin/nvidia-smi\n"
         "/d/gsp.bin /lib/firmware/gsp.bin\n"
         "/d/socket /run/nvidia-persistenced/socket\n"},
        {"/", {.library_dir = "", .library_dir_32 = "/usr/lib"}, ""}, /* static programs only */
        {"/", {.library_dir = "/usr/lib64", .library_dir_32 = "", .is_host = true}, ""},
        {"/run/nvidia/driver",
         {.library_dir = "/usr/lib64", .library_dir_32 = "", .points = "/p:q", .is_host = true},
         "overlay /usr/lib64\n"
         "overlay /usr/bin\n"
         "/d/libcuda.so." VERSION " /usr/lib64/libcuda.so.1\n"
         "/d/libcuda.so." VERSION " /usr/lib64/libcuda.so." VERSION "\n"
         "/d/bin/nvidia-smi /usr/bin/nvidia-smi\n"},
    };
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 5};
    const struct cdi_device device = {.gpu = &gpu};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(driver_root_freep) struct driver_root *root = make_root(cases[i].root);
        AUTO(json_freep) json_t *edits = NULL;
        AUTO_FREE char *got = NULL;

        assert_null(cdi_gpu_edits(&device, 1, root, &cases[i].target, &edits));
        got = list_mounts(edits);
        assert_string_equal(got, cases[i].want);
    }
}

static void mounts_of_the_driver_are_read_only(void **state)
{
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 5};
    const struct cdi_device device = {.gpu = &gpu};
    const struct cdi_target target = {
        .library_dir = "/usr/lib64", .library_dir_32 = "", .points = "/p:q", .is_host = true};
    AUTO(driver_root_freep) struct driver_root *root = make_root("/run/nvidia/driver");
    AUTO(json_freep) json_t *edits = NULL;
    AUTO_FREE char *overlay = NULL;
    AUTO_FREE char *bind = NULL;

    (void)state;
    assert_null(cdi_gpu_edits(&device, 1, root, &target, &edits));
    overlay = json_format(json_array_get(json_object_get(edits, "mounts"), 0));
    bind = json_format(json_array_get(json_object_get(edits, "mounts"), 2));
    assert_string_equal(overlay,
                        "{\"hostPath\":\"overlay\",\"containerPath\":\"/usr/lib64\",\"type\":"
                        "\"overlay\",\"options\":[\"ro\","
                        "\"lowerdir=/p\\\\:q/lib:/usr/lib64\"]}");
    assert_string_equal(bind, "{\"hostPath\":\"/d/libcuda.so." VERSION "\",\"containerPath\":"
                              "\"/usr/lib64/libcuda.so.1\",\"type\":\"bind\",\"options\":"
                              "[\"ro\",\"nosuid\",\"nodev\",\"rbind\",\"rprivate\"]}");
}

static void a_mig_instance_brings_its_capabilities(void **state)
{
    const struct gpu gpu = {.uuid = "GPU-1", .minor = 5};
    const struct cdi_device devices[] = {
        {.gpu = &gpu, .instance = "MIG-1", .gpu_instance = 1, .compute_instance = 0}};
    const struct cdi_device unknown = {.gpu = &gpu, .instance = "MIG-2", .gpu_instance = 2};
    AUTO(driver_root_freep) struct driver_root *root = make_root("/");
    AUTO(json_freep) json_t *edits = NULL;
    AUTO(json_freep) json_t *none = NULL;
    AUTO(buf_done) struct buf got = {0};
    AUTO(err_freep) struct err *e = NULL;
    const json_t *node = NULL;
    size_t i = 0;

    (void)state;
    assert_null(cdi_gpu_edits(devices, 1, root, NULL, &edits));
    json_array_foreach (json_object_get(edits, "deviceNodes"), i, node)
        buf_printf(&got, "%s %d\n", json_text(node, "path"), (int)json_int(node, "major", 0));
    assert_string_equal(got.at, "/dev/nvidia5 195\n/dev/nvidia-caps/nvidia-cap12 509\n"
                                "/dev/nvidia-caps/nvidia-cap13 509\n/dev/nvidiactl 195\n"
                                "/dev/nvidia-uvm 508\n");
    assert_string_equal(json_string_value(json_array_get(json_object_get(edits, "env"), 0)),
                        "NVIDIA_VISIBLE_DEVICES=MIG-1");
    e = cdi_gpu_edits(&unknown, 1, root, NULL, &none);
    assert_string_equal(err_message(e), "the driver has no capability of MIG instance MIG-2");
    assert_int_equal(err_code(e), ERR_UNAVAILABLE);
}

static void names_all_gpus_by_their_uuids(void **state)
{
    const struct gpu first = {.uuid = "GPU-1", .minor = 5};
    const struct gpu second = {.uuid = "GPU-0", .minor = 4};
    const struct cdi_device devices[] = {{.gpu = &first}, {.gpu = &second}};
    AUTO(driver_root_freep) struct driver_root *root = make_root("/");
    AUTO(json_freep) json_t *edits = NULL;
    AUTO_FREE char *variables = NULL;

    (void)state;
    assert_null(cdi_gpu_edits(devices, 2, root, NULL, &edits));
    variables = json_format(json_object_get(edits, "env"));
    assert_string_equal(variables, "[\"NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0\"]");
}

static void without_gpus_there_is_nothing_to_edit(void **state)
{
    AUTO(json_freep) json_t *edits = NULL;

    (void)state;
    assert_null(cdi_gpu_edits(NULL, 0, NULL, NULL, &edits));
    assert_int_equal(json_object_size(edits), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applies_edits_by_the_rules),
        cmocka_unit_test(refuses_edits_that_it_does_not_know),
        cmocka_unit_test(gpus_bring_their_nodes_and_the_drivers),
        cmocka_unit_test(the_drivers_files_go_where_the_loader_searches),
        cmocka_unit_test(mounts_of_the_driver_are_read_only),
        cmocka_unit_test(a_mig_instance_brings_its_capabilities),
        cmocka_unit_test(names_all_gpus_by_their_uuids),
        cmocka_unit_test(without_gpus_there_is_nothing_to_edit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
