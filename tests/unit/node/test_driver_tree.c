/* test_driver_tree.c - tests of the tree of the driver's files, without mounts */

#include <fcntl.h>

#include "base/file.h"
#include "made_tree.h"
#include "node/image/driver_tree.h"

#define VERSION "570.124.06"

static struct driver_root *make_root(const char *library)
{
    struct driver_root *r = mem_alloc(sizeof(*r));

    r->dir = mem_strdup("/");
    r->version = mem_strdup(VERSION);
    driver_root_add_file(r, DRIVER_LIBRARY, library, "libcuda.so.1");
    driver_root_add_file(r, DRIVER_LIBRARY, library, "libcuda.so." VERSION);
    driver_root_add_file(r, DRIVER_LIBRARY_32, "/d32/libcuda.so." VERSION, "libcuda.so.1");
    driver_root_add_file(r, DRIVER_PROGRAM, "/d/nvidia-smi", "nvidia-smi");
    driver_root_add_file(r, DRIVER_DATA, "/d/gsp.bin", "/lib/firmware/gsp.bin");
    driver_root_add_file(r, DRIVER_SOCKET, "/d/s", "/run/nvidia-persistenced/socket");
    driver_root_add_file(r, DRIVER_STATE, "/d/machine.bin", "/run/mete/gpu/machine.bin");
    return r;
}

static void each_file_has_a_place_in_the_tree(void **state)
{
    static const char *const places[] = {"lib/libcuda.so." VERSION,
                                         "lib/libcuda.so." VERSION,
                                         "lib32/libcuda.so." VERSION,
                                         "bin/nvidia-smi",
                                         "data/lib/firmware/gsp.bin",
                                         "data/run/nvidia-persistenced/socket",
                                         NULL};
    AUTO(driver_root_freep) struct driver_root *root = make_root("/d/libcuda.so." VERSION);

    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        AUTO_FREE char *place = driver_tree_name(&root->files.at[i]);

        if (places[i])
            assert_string_equal(place, places[i]);
        else
            assert_null(place);
    }
}

static void drivers_with_other_files_have_other_trees(void **state)
{
    AUTO(driver_root_freep) struct driver_root *a = make_root("/d/libcuda.so." VERSION);
    AUTO(driver_root_freep) struct driver_root *b = make_root("/e/libcuda.so." VERSION);
    struct driver_tree *first = driver_tree_new(a, "/n", false);
    struct driver_tree *again = driver_tree_new(a, "/n", false);
    struct driver_tree *other = driver_tree_new(b, "/n", false);

    (void)state;
    assert_true(text_starts_with(first->dir, "/n/driver/tree-" VERSION "-"));
    assert_string_equal(first->dir, again->dir);
    assert_string_not_equal(first->dir, other->dir);
    driver_tree_free(first);
    driver_tree_free(again);
    driver_tree_free(other);
}

static bool is_link(const struct made_tree *t, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", t->dir, name);
    struct stat st = {0};

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void expect_link(const struct made_tree *t, const char *name, const char *target)
{
    AUTO_FREE char *path = mem_format("%s/%s", t->dir, name);
    AUTO(buf_done) struct buf text = {0};

    assert_null(note_read(path, &text));
    assert_string_equal(text.at, target);
}

static void expect_shared(const struct made_tree *t)
{
    assert_false(is_link(t, "usr/lib64/libcuda.so.1")); /* the share library's place */
    expect_link(t, "usr/lib64/libcuda.so." VERSION, "libcuda.so.1");
    expect_link(t, "run/mete/share/libcuda.so", DRIVER_TREE_PATH "/lib/libcuda.so." VERSION);
}

static void an_image_is_given(struct made_tree *t)
{
    tree_init(t);
    tree_link(t, "usr/lib64/libcuda.so.1", "libcuda.so.535.1");
    tree_link(t, "usr/lib64/libother.so", "libother.so.1");
    tree_link(t, "usr/lib/libcuda.so.1", "libcuda.so.535.1"); /* not the loader's directory */
    tree_link(t, "run/mete/gpu/machine.bin", "elsewhere");
    tree_text(t, "usr/bin/nvidia-smi", "");
}

static void names_are_links_to_the_tree(void **state)
{
    AUTO(driver_root_freep) struct driver_root *root = make_root("/d/libcuda.so." VERSION);
    const struct image_loader loader = {.dir = "/usr/lib64"};

    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct driver_tree *tree = driver_tree_new(root, "/n", is_shared);
        struct made_tree t = {0};
        AUTO(fd_closep) int fd = -1;

        an_image_is_given(&t);
        fd = open(t.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_null(driver_tree_link(tree, fd, &loader));
        assert_null(driver_tree_link(tree, fd, &loader)); /* again */
        if (!is_shared)
            expect_link(&t, "usr/lib64/libcuda.so.1", DRIVER_TREE_PATH "/lib/libcuda.so." VERSION);
        else
            expect_shared(&t);
        expect_link(&t, "usr/bin/nvidia-smi", DRIVER_TREE_PATH "/bin/nvidia-smi");
        expect_link(&t, "lib/firmware/gsp.bin", DRIVER_TREE_PATH "/data/lib/firmware/gsp.bin");
        expect_link(&t, "usr/lib64/libother.so", "libother.so.1");
        expect_link(&t, "usr/lib/libcuda.so.1", "libcuda.so.535.1");
        assert_false(is_link(&t, "run/mete/gpu/machine.bin")); /* containers write the file */
        tree_done(&t);
        driver_tree_free(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_has_a_place_in_the_tree),
        cmocka_unit_test(drivers_with_other_files_have_other_trees),
        cmocka_unit_test(names_are_links_to_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
