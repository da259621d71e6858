/* test_share_edits.c - the share library in the place of the driver's libraries */

#include "base/mem.h"
#include "node/spec/share_edits.h"
#include "test.h"

static char path_cuda[] = "/drv/libcuda.so.570";
static char name_cuda[] = "libcuda.so.1";
static char dir_slash[] = "/";
static struct driver_file files[] = {{DRIVER_LIBRARY, path_cuda, name_cuda}};
static const struct driver_root root_at_slash = {.dir = dir_slash, .files = {files, 1, 1}};
static const struct share_mounts mounts = {.library_dir = "/lib/mete", .dir = "/data/share"};

static json_t *parse(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *tree = NULL;

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    assert_null(json_parse(str_of(copy), &tree));
    return tree;
}

/* The mount at `to`, as "FROM OPTION OPTION..."; "": none. The caller frees it. */
static char *mount_at(const json_t *edits, const char *to)
{
    AUTO(buf_done) struct buf text = {0};
    const json_t *mount = NULL;
    const json_t *option = NULL;
    size_t i = 0;
    size_t k = 0;

    buf_add_text(&text, "");
    json_array_foreach (json_object_get(edits, "mounts"), i, mount) {
        if (!text_equal(json_text(mount, "containerPath"), to))
            continue;
        buf_add_text(&text, json_text(mount, "hostPath"));
        json_array_foreach (json_object_get(mount, "options"), k, option)
            buf_printf(&text, " %s", json_string_value(option));
    }
    return mem_strdup(text.at ? text.at : "");
}

static void assert_mount(const json_t *edits, const char *to, const char *want)
{
    AUTO_FREE char *is = mount_at(edits, to);

    assert_string_equal(is, want);
}

static void all_names_of_the_drivers_libraries_are_ours(void **state)
{
    const struct cdi_target target = {.library_dir = "/usr/lib/x"};
    AUTO(json_freep)
    json_t *edits = parse(
        "{'mounts':[{'hostPath':'/drv/libcuda.so.570','containerPath':'/usr/lib/x/libcuda.so.570',"
        "'options':['ro']},{'hostPath':'/drv/libcuda.so.570','containerPath':'/usr/lib/x/"
        "libcuda.so.1','options':['ro']},{'hostPath':'/drv/libnvidia-ml.so.570','containerPath':"
        "'/usr/lib/x/libnvidia-ml.so.1','options':['ro']},{'hostPath':'/drv/"
        "libcudadebugger.so.570','containerPath':'/usr/lib/x/libcudadebugger.so.1','options':"
        "['ro']}]}");

    (void)state;
    assert_null(share_edits_apply(edits, &root_at_slash, &target, &mounts));
    assert_mount(edits, "/usr/lib/x/libcuda.so.570", "/lib/mete/libmete-share-cuda.so ro");
    assert_mount(edits, "/usr/lib/x/libcuda.so.1", "/lib/mete/libmete-share-cuda.so ro");
    assert_mount(edits, "/usr/lib/x/libnvidia-ml.so.1", "/lib/mete/libmete-share-nvidia-ml.so ro");
    assert_mount(edits, "/usr/lib/x/libcudadebugger.so.1", "/drv/libcudadebugger.so.570 ro");
    assert_mount(edits, "/run/mete/share/libcuda.so",
                 "/drv/libcuda.so.570 ro nosuid nodev rbind rprivate");
    assert_mount(edits, "/run/mete/share/libnvidia-ml.so",
                 "/drv/libnvidia-ml.so.570 ro nosuid nodev rbind rprivate");
    assert_mount(edits, "/run/mete/share/limits",
                 "/data/share/limits ro nosuid nodev noexec rbind rprivate");
    assert_mount(edits, "/run/mete/share/state",
                 "/data/share/state rw nosuid nodev noexec rbind rprivate");
}

static void the_image_host_gets_ours_over_the_hosts_files(void **state)
{
    const struct cdi_target target = {.library_dir = "/usr/lib/x", .is_host = true};
    AUTO(json_freep) json_t *edits = json_object();

    (void)state;
    assert_null(share_edits_apply(edits, &root_at_slash, &target, &mounts));
    assert_mount(edits, "/drv/libcuda.so.570",
                 "/lib/mete/libmete-share-cuda.so ro nosuid nodev rbind rprivate");
    assert_mount(edits, "/run/mete/share/libcuda.so",
                 "/drv/libcuda.so.570 ro nosuid nodev rbind rprivate");
}

static void a_container_that_cannot_load_the_library_is_refused(void **state)
{
    static const struct {
        struct cdi_target target;
        const char *message;
    } cases[] = {
        {{.library_dir = "/usr/lib", .is_musl = true},
         "a capped share needs an image with glibc, and this one has musl: ask for a whole gpu, a "
         "replica or a MIG slice"},
        {{.library_dir = ""},
         "a capped share needs an image with glibc, and this one has no loader of programs"},
        {{.library_dir = "/usr/lib"},
         "a capped share needs the driver's libcuda.so, and the driver has none here"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *edits = json_object();
        AUTO(err_freep)
        struct err *e = share_edits_apply(edits, &root_at_slash, &cases[i].target, &mounts);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_of_the_drivers_libraries_are_ours),
        cmocka_unit_test(the_image_host_gets_ours_over_the_hosts_files),
        cmocka_unit_test(a_container_that_cannot_load_the_library_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
