/* test_cdi_file.c - tests of CDI files: rules, making, finding, requests */

#include "base/yaml.h"
#include "made_tree.h"
#include "node/cdi_writer.h"

#define VERSION "570.124.06"

static json_t *parse(const char *text)
{
    json_t *documents = NULL;
    json_t *first = NULL;

    assert_null(yaml_parse("test", str_of(text), &documents));
    first = json_incref(json_array_get(documents, 0));
    json_decref(documents);
    return first;
}

/* ---- rules ---- */

#define HEAD "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
#define ENV  "containerEdits: {env: [A=1]}"

static void accepts_files_of_each_version(void **state)
{
    static const char *const files[] = {
        HEAD "devices: [{name: '0', " ENV "}]",
        "cdiVersion: 0.3.0\nkind: a/b\ndevices: [{name: x, " ENV "}]",
        HEAD "devices: [{name: 'GPU-1.2:3_x', containerEdits: {deviceNodes: [{path: /dev/x, "
             "hostPath: /y, "
             "type: c, major: 1, minor: 2, fileMode: 438, permissions: rwm, uid: 1, gid: 2}]}}]",
        HEAD "devices: [{name: a, " ENV "}, {name: b, " ENV
             "}]\ncontainerEdits: {mounts: [{hostPath: /a, "
             "containerPath: /b, options: [ro], type: bind}], hooks: [{hookName: createContainer, "
             "path: /h, args: [h, x], env: [A=b], timeout: 3}]}",
        "cdiVersion: 0.6.0\nkind: a/b.c\nannotations: {a: b}\ndevices: [{name: x, annotations: "
        "{}, " ENV "}]",
        "cdiVersion: 1.1.0\nkind: a/b\ndevices: [{name: x, containerEdits: {netDevices: "
        "[{hostInterfaceName: eth0, name: e}], additionalGids: [1], intelRdt: {closID: x, "
        "schemata: "
        "[a], enableMonitoring: true}}}]",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        AUTO(json_freep) json_t *file = parse(files[i]);
        AUTO(err_freep) struct err *e = cdi_file_check(file);

        assert_string_equal(e ? err_message(e) : "", "");
    }
}

static void says_what_is_against_the_rules(void **state)
{
    static const struct {
        const char *file;
        const char *message;
    } cases[] = {
        {"[]", "want an object"},
        {"kind: a/b\ndevices: [{name: x, " ENV "}]", "cdiVersion is missing"},
        {"cdiVersion: 0.2.0\nkind: a/b", "cdiVersion '0.2.0' is not known: want 0.3.0 to 1.1.0"},
        {"cdiVersion: 1.2.0\nkind: a/b", "cdiVersion '1.2.0' is not known: want 0.3.0 to 1.1.0"},
        {HEAD "device: []\ndevices: [{name: x, " ENV "}]", "unknown member 'device'"},
        {HEAD "devices: []", "devices: want at least one"},
        {HEAD, "devices is missing"},
        {"cdiVersion: 0.5.0\nkind: gpu\ndevices: [{name: x, " ENV "}]",
         "kind 'gpu': want VENDOR/CLASS"},
        {"cdiVersion: 0.5.0\nkind: 1a/gpu\ndevices: [{name: x, " ENV "}]",
         "kind '1a/gpu': want VENDOR/CLASS"},
        {"cdiVersion: 0.5.0\nkind: a/b.c\ndevices: [{name: x, " ENV "}]",
         "kind 'a/b.c': a dot in the class needs cdiVersion 0.6.0"},
        {"cdiVersion: 0.4.0\nkind: a/b\ndevices: [{name: '0', " ENV "}]",
         "devices[0]: name '0': a digit at its begin needs cdiVersion 0.5.0"},
        {HEAD "devices: [{name: x-, " ENV "}]",
         "devices[0]: name 'x-': want letters, digits and _ - . : between them"},
        {HEAD "devices: [{name: 'a/b', " ENV "}]",
         "devices[0]: name 'a/b': want letters, digits and _ - . : between them"},
        {HEAD "devices: [{name: x, " ENV "}, {name: x, " ENV "}]",
         "devices[1]: name 'x' is there twice"},
        {HEAD "devices: [{name: x, containerEdits: {}}]", "devices[0]: containerEdits is empty"},
        {HEAD "devices: [{name: x}]", "devices[0]: containerEdits is missing"},
        {HEAD "annotations: {}\ndevices: [{name: x, " ENV "}]",
         "annotations: needs cdiVersion 0.6.0, and the file has 0.5.0"},
        {HEAD "devices: [{name: x, containerEdits: {env: [A]}}]",
         "devices[0]: containerEdits: env[0] 'A': want NAME=VALUE"},
        {HEAD "devices: [{name: x, containerEdits: {deviceNodes: [{type: c}]}}]",
         "devices[0]: containerEdits: deviceNodes[0]: path is missing"},
        {HEAD "devices: [{name: x, containerEdits: {deviceNodes: [{path: /x, type: d}]}}]",
         "devices[0]: containerEdits: deviceNodes[0]: type 'd': want b, c, u or p"},
        {HEAD "devices: [{name: x, containerEdits: {deviceNodes: [{path: /x, permissions: rx}]}}]",
         "devices[0]: containerEdits: deviceNodes[0]: permissions 'rx': want letters of rwm, or "
         "none"},
        {HEAD "devices: [{name: x, containerEdits: {deviceNodes: [{path: /x, major: '1'}]}}]",
         "devices[0]: containerEdits: deviceNodes[0]: major: want a whole number"},
        {HEAD "devices: [{name: x, " ENV
              "}]\ncontainerEdits: {hooks: [{hookName: start, path: /h}]}",
         "containerEdits: hooks[0]: hookName 'start' is not a hook of the OCI specification"},
        {HEAD "devices: [{name: x, " ENV "}]\ncontainerEdits: {mounts: [{hostPath: /h}]}",
         "containerEdits: mounts[0]: containerPath is missing"},
        {HEAD "devices: [{name: x, " ENV "}]\ncontainerEdits: {netDevices: []}",
         "containerEdits: netDevices: needs cdiVersion 1.1.0, and the file has 0.5.0"},
        {"cdiVersion: 0.7.0\nkind: a/b\ndevices: [{name: x, containerEdits: {additionalGids: "
         "[-1]}}]",
         "devices[0]: containerEdits: additionalGids[0]: want a group id"},
        {"cdiVersion: 1.0.0\nkind: a/b\ndevices: [{name: x, containerEdits: {intelRdt: {schemata: "
         "[]}}}]",
         "devices[0]: containerEdits: intelRdt: schemata: needs cdiVersion 1.1.0, and the file has "
         "1.0.0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *file = parse(cases[i].file);
        AUTO(err_freep) struct err *e = cdi_file_check(file);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

/* ---- making ---- */

static struct driver_root *make_root(void)
{
    struct driver_root *r = mem_alloc(sizeof(*r));

    r->dir = mem_strdup("/");
    r->version = mem_strdup(VERSION);
    r->gpu_major = 195;
    r->capability_major = 509;
    vec_add(&r->nodes, ((struct driver_node){mem_strdup("/dev/nvidiactl"), 195, 255}));
    vec_add(&r->capabilities, ((struct driver_capability){5, 1, -1, 12}));
    vec_add(&r->capabilities, ((struct driver_capability){5, 1, 0, 13}));
    driver_root_add_file(r, DRIVER_LIBRARY, "/d/libcuda.so." VERSION, "libcuda.so.1");
    driver_root_add_file(r, DRIVER_PROGRAM, "/d/nvidia-smi", "nvidia-smi");
    return r;
}

static const struct cdi_target lib64 = {.library_dir = "/usr/lib64", .library_dir_32 = ""};

/* Names of devices, each with its nodes. */
static char *list_devices(const json_t *file)
{
    struct buf text = {0};
    const json_t *device = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(file, "devices"), i, device) {
        const json_t *node = NULL;
        size_t k = 0;

        buf_printf(&text, "%s:", json_text(device, "name"));
        json_array_foreach (json_at(device, "containerEdits", "deviceNodes", NULL), k, node)
            buf_printf(&text, " %s", json_text(node, "path"));
        buf_add_char(&text, '\n');
    }
    return buf_steal(&text);
}

static void a_file_names_gpus_by_index_uuid_and_together(void **state)
{
    const struct gpu gpus[] = {
        {.uuid = "GPU-a", .index = 0, .minor = 3},
        {.uuid = "GPU-b", .index = 1, .minor = -1, .health = GPU_LOST},
        {.uuid = "GPU-c",
         .index = 2,
         .minor = 5,
         .slices = {{.uuid = "MIG-x", .gpu_instance = 1, .compute_instance = 0}},
         .n_slices = 1}};
    AUTO(driver_root_freep) struct driver_root *root = make_root();
    AUTO(json_freep) json_t *file = NULL;
    AUTO_FREE char *got = NULL;
    AUTO_FREE char *env = NULL;
    AUTO(json_freep)
    json_t *more = parse("{\"GPU-a\": {\"env\": [\"A=1\"]}, \"GPU-x\": {\"env\": []}}");

    (void)state;
    assert_null(cdi_file_make(
        gpus, 3,
        &(struct cdi_file_options){.root = root, .target = &lib64, .now_s = 77, .more = more},
        &file));
    got = list_devices(file);
    env = json_format(json_at(file, "containerEdits", "env", NULL));
    assert_string_equal(
        got, "0: /dev/nvidia3\n"
             "GPU-a: /dev/nvidia3\n"
             "2:1:0: /dev/nvidia5 /dev/nvidia-caps/nvidia-cap12 /dev/nvidia-caps/nvidia-cap13\n"
             "MIG-x: /dev/nvidia5 /dev/nvidia-caps/nvidia-cap12 /dev/nvidia-caps/nvidia-cap13\n"
             "all: /dev/nvidia3 /dev/nvidia5 /dev/nvidia-caps/nvidia-cap12 "
             "/dev/nvidia-caps/nvidia-cap13\n");
    assert_string_equal(json_text(file, "cdiVersion"), "0.5.0");
    for (size_t i = 0; i < json_array_size(json_object_get(file, "devices")); i++) {
        const json_t *device = json_array_get(json_object_get(file, "devices"), i);

        assert_int_equal(json_array_size(json_at(device, "containerEdits", "env", NULL)), i < 2);
    }
    assert_string_equal(env, "[\"NVIDIA_VISIBLE_DEVICES=void\",\"METE_CDI_GENERATION=77\"]");
    assert_string_equal(
        json_text(json_array_get(json_at(file, "containerEdits", "mounts", NULL), 0),
                  "containerPath"),
        "/usr/lib64/libcuda.so.1");
}

static void without_gpus_there_is_no_file(void **state)
{
    AUTO(driver_root_freep) struct driver_root *root = make_root();
    json_t *file = NULL;
    AUTO(err_freep)
    struct err *e = cdi_file_make(
        NULL, 0, &(struct cdi_file_options){.root = root, .target = &lib64, .now_s = 1}, &file);

    (void)state;
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
    assert_null(file);
}

/* ---- finding ---- */

static struct cdi_source *add_source(struct cdi_sources *s, const char *path, int priority,
                                     const char *text)
{
    vec_add(&s->list, ((struct cdi_source){.path = mem_strdup(path), .priority = priority}));
    s->list.at[s->list.n - 1].file = text ? parse(text) : NULL;
    return &s->list.at[s->list.n - 1];
}

static void the_file_of_the_higher_priority_wins(void **state)
{
    AUTO(cdi_sources_done) struct cdi_sources s = {0};
    const struct cdi_source *source = NULL;
    const json_t *device = NULL;
    AUTO(err_freep) struct err *none = NULL;
    AUTO(err_freep) struct err *twice = NULL;

    (void)state;
    (void)add_source(&s, "/etc/a", 0, HEAD "devices: [{name: x, " ENV "}, {name: w, " ENV "}]");
    (void)add_source(&s, "/etc/b", 0, HEAD "devices: [{name: w, " ENV "}]");
    (void)add_source(&s, "/etc/broken", 0, NULL);
    (void)add_source(&s, "/run/c", 1, HEAD "devices: [{name: x, " ENV "}]");
    assert_null(cdi_sources_find(&s, CDI_KIND, "x", &source, &device));
    assert_string_equal(source->path, "/run/c");
    none = cdi_sources_find(&s, CDI_KIND, "z", &source, &device);
    assert_string_equal(err_message(none), "no CDI file has the device nvidia.com/gpu=z");
    twice = cdi_sources_find(&s, CDI_KIND, "w", &source, &device);
    assert_string_equal(err_message(twice),
                        "device nvidia.com/gpu=w is both in /etc/a and in /etc/b");
    assert_int_equal(err_code(twice), ERR_CONFLICT);
}

/* A file as an administrator writes it, for the gpus with minors 3 and 4. */
#define FILE_OF(version)                                                                \
    HEAD "devices:\n"                                                                   \
         "- {name: '0', containerEdits: {deviceNodes: [{path: /dev/nvidia3}]}}\n"       \
         "- {name: GPU-b, containerEdits: {deviceNodes: [{path: /dev/nvidia4}, {path: " \
         "/dev/dri/card1}]}}\n"                                                         \
         "containerEdits: {mounts: [{hostPath: /l/libcuda.so." version                  \
         ", containerPath: /l/libcuda.so.1}]}\n"

static struct cdi_request *request_of(const struct gpu *gpus, size_t n, bool is_emulated)
{
    AUTO(driver_root_freep) struct driver_root *root = make_root();
    struct cdi_device devices[4] = {0};

    root->is_emulated = is_emulated;
    for (size_t i = 0; i < n; i++)
        devices[i].gpu = &gpus[i];
    return cdi_request_new(devices, n, root);
}

static void a_request_takes_the_edits_of_its_devices(void **state)
{
    const struct gpu gpus[] = {{.uuid = "GPU-a", .index = 0, .minor = 3},
                               {.uuid = "GPU-b", .index = 1, .minor = 4}};
    AUTO(cdi_sources_done) struct cdi_sources s = {0};
    AUTO(cdi_request_freep) struct cdi_request *r = request_of(gpus, 2, false);
    AUTO_FREE char *got = NULL;

    (void)state;
    (void)add_source(&s, "/etc/a", 0, FILE_OF(VERSION));
    cdi_request_resolve(r, &s);
    got = json_format(r->edits);
    assert_null(r->problem);
    assert_string_equal(
        got,
        "{\"mounts\":[{\"hostPath\":\"/l/libcuda.so." VERSION
        "\",\"containerPath\":\"/l/libcuda.so.1\"}],\"deviceNodes\":[{\"path\":\"/dev/nvidia3\"},"
        "{\"path\":\"/dev/nvidia4\"},{\"path\":\"/dev/dri/card1\"}]}");
}

static void a_file_out_of_date_is_not_used(void **state)
{
    static const struct {
        const char *file;
        struct gpu gpu;
        bool is_emulated;
        const char *problem; /* NULL: the file has no such device */
    } cases[] = {
        {FILE_OF("535.1"),
         {.uuid = "GPU-a", .index = 0, .minor = 3},
         false,
         "the CDI files of nvidia.com/gpu describe driver 535.1; installed is " VERSION},
        {FILE_OF(VERSION),
         {.uuid = "GPU-b", .index = 1, .minor = 7},
         false,
         "the CDI files of nvidia.com/gpu have other device nodes than the driver"},
        {FILE_OF(VERSION), {.uuid = "GPU-z", .index = 9, .minor = 3}, false, NULL},
        /* The index of an emulated gpu is not that of the machine's gpu. */
        {FILE_OF(VERSION), {.uuid = "GPU-z", .index = 0, .minor = 3}, true, NULL},
        {HEAD "devices: [{name: '0', containerEdits: {deviceNodes: [{path: /dev/nvidia3}]}}]\n"
              "containerEdits: {env: [METE_CDI_GENERATION=5]}",
         {.uuid = "GPU-a", .index = 0, .minor = 3},
         false,
         NULL}, /* Mete's own */
        {HEAD "devices: [{name: '0', containerEdits: {deviceNodes: [{path: /dev/nvidia3}, {path: "
              "/dev/nvidia4}]}}]",
         {.uuid = "GPU-a", .index = 0, .minor = 3},
         false,
         "the CDI files of nvidia.com/gpu have other device nodes than the driver"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(cdi_sources_done) struct cdi_sources s = {0};
        AUTO(cdi_request_freep)
        struct cdi_request *r = request_of(&cases[i].gpu, 1, cases[i].is_emulated);

        (void)add_source(&s, "/etc/a", 0, cases[i].file);
        cdi_request_resolve(r, &s);
        assert_null(r->edits);
        assert_string_equal(r->problem ? r->problem : "", cases[i].problem ? cases[i].problem : "");
    }
}

/* ---- files ---- */

static void reads_json_and_yaml_of_both_directories(void **state)
{
    struct made_tree t = {0};
    AUTO(cdi_sources_done) struct cdi_sources s = {0};

    (void)state;
    tree_init(&t);
    tree_text(&t, "etc/cdi/a.yaml", HEAD "devices: [{name: x, " ENV "}]");
    tree_text(&t, "etc/cdi/b.txt", "no");
    tree_text(&t, "etc/cdi/below/c.yaml", HEAD "devices: [{name: w, " ENV "}]");
    tree_text(&t, "var/run/cdi/d.json",
              "{\"cdiVersion\":\"0.5.0\",\"kind\":\"a/b\",\"devices\":[{\"name\":\"0\","
              "\"containerEdits\":{\"env\":[\"A=1\"]}}]}");
    tree_text(&t, "var/run/cdi/e.json", "{");
    cdi_sources_read(t.dir, &s);
    tree_done(&t);
    assert_int_equal(s.list.n, 3);
    assert_true(text_ends_with(s.list.at[0].path, "/etc/cdi/a.yaml"));
    assert_non_null(s.list.at[0].file);
    assert_int_equal(s.list.at[1].priority, 1);
    assert_null(s.list.at[2].file);
    assert_non_null(s.list.at[2].problem);
}

static void a_written_file_is_read_back(void **state)
{
    static const char *const names[] = {"etc/cdi/x.json", "etc/cdi/x.yaml"};
    const struct gpu gpu = {.uuid = "GPU-a", .index = 0, .minor = 3};
    AUTO(driver_root_freep) struct driver_root *root = make_root();
    AUTO(json_freep) json_t *file = NULL;

    (void)state;
    assert_null(cdi_file_make(
        &gpu, 1, &(struct cdi_file_options){.root = root, .target = &lib64, .now_s = 1}, &file));
    for (size_t i = 0; i < COUNT(names); i++) {
        struct made_tree t = {0};
        AUTO(cdi_sources_done) struct cdi_sources s = {0};
        AUTO_FREE char *text = cdi_text_format(file, names[i]);

        tree_init(&t);
        tree_text(&t, names[i], text);
        cdi_sources_read(t.dir, &s);
        tree_done(&t);
        assert_int_equal(s.list.n, 1);
        assert_true(json_equal(s.list.at[0].file, file));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_files_of_each_version),
        cmocka_unit_test(says_what_is_against_the_rules),
        cmocka_unit_test(a_file_names_gpus_by_index_uuid_and_together),
        cmocka_unit_test(without_gpus_there_is_no_file),
        cmocka_unit_test(the_file_of_the_higher_priority_wins),
        cmocka_unit_test(a_request_takes_the_edits_of_its_devices),
        cmocka_unit_test(a_file_out_of_date_is_not_used),
        cmocka_unit_test(reads_json_and_yaml_of_both_directories),
        cmocka_unit_test(a_written_file_is_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
