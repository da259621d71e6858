/* test_node_disk_usage.c - tests of disk_usage */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/volume/disk_usage.h"
#include "test.h"

enum {
    MIB = 1 << 20
};

static char *make_dir(void)
{
    char dir[] = "/tmp/mete-test-usage-XXXXXX";

    assert_non_null(mkdtemp(dir));
    return mem_strdup(dir);
}

static void remove_dir(const char *dir)
{
    struct err *e = dir_remove(dir);

    assert_null(e);
}

static void write_bytes(const char *dir, const char *name, size_t size)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO_FREE char *bytes = mem_alloc(size + 1);
    AUTO(err_freep) struct err *e = NULL;

    memset(bytes, 'x', size);
    e = file_write_durable(
        path, 0644, (struct str){bytes, size}); /* the file system allocates blocks at the sync */
    assert_null(e);
}

static struct disk_usage measure(const char *path)
{
    struct disk_usage u = {0};
    AUTO(err_freep) struct err *e = disk_usage_measure(path, &u);

    assert_null(e);
    return u;
}

static void counts_blocks_and_inodes_of_a_tree(void **state)
{
    AUTO_FREE char *dir = make_dir();
    AUTO_FREE char *below = mem_format("%s/a/b", dir);
    struct disk_usage u = {0};
    AUTO(err_freep) struct err *e = dir_make(below, 0755);

    (void)state;
    assert_null(e);
    write_bytes(below, "one", MIB);
    write_bytes(dir, "two", INT64_C(2) * MIB);
    u = measure(dir);
    assert_int_equal(u.inodes, 5);
    assert_true(u.bytes >= INT64_C(3) * MIB && u.bytes < INT64_C(3) * MIB + 65536);
    remove_dir(dir);
}

static void counts_a_hard_link_once_and_a_hole_not_at_all(void **state)
{
    AUTO_FREE char *dir = make_dir();
    AUTO_FREE char *one = mem_format("%s/one", dir);
    AUTO_FREE char *again = mem_format("%s/again", dir);
    AUTO_FREE char *hole = mem_format("%s/hole", dir);
    AUTO(fd_closep) int fd = -1;
    struct disk_usage u = {0};

    (void)state;
    write_bytes(dir, "one", MIB);
    assert_int_equal(link(one, again), 0);
    fd = open(hole, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, INT64_C(64) * MIB), 0);
    u = measure(dir);
    assert_int_equal(u.inodes, 3);
    assert_true(u.bytes >= MIB && u.bytes < INT64_C(2) * MIB);
    remove_dir(dir);
}

static void follows_no_symlink(void **state)
{
    AUTO_FREE char *dir = make_dir();
    AUTO_FREE char *out = mem_format("%s/out", dir);
    AUTO_FREE char *top = mem_format("%s/top", dir);
    struct disk_usage u = {0};

    (void)state;
    assert_int_equal(symlink("/usr", out), 0);
    assert_int_equal(symlink(".", top), 0);
    u = measure(dir);
    assert_int_equal(u.inodes, 3);
    assert_int_equal(measure(out).inodes, 1);
    remove_dir(dir);
}

static void says_that_a_tree_is_too_deep(void **state)
{
    AUTO_FREE char *dir = make_dir();
    AUTO(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO(err_freep) struct err *e = NULL;
    struct disk_usage u = {.bytes = 42};

    (void)state;
    for (int i = 0; i < DISK_USAGE_DEPTH_MAX + 1; i++) {
        int next = -1;

        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close(fd);
        fd = next;
    }
    e = disk_usage_measure(dir, &u);
    assert_int_equal(err_code(e), ERR_TOO_LARGE);
    assert_int_equal(u.bytes, 42);
    remove_dir(dir);
}

static void says_that_there_is_nothing(void **state)
{
    struct disk_usage u = {0};
    AUTO(err_freep) struct err *e = disk_usage_measure("/tmp/mete-test-usage-none", &u);

    (void)state;
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_blocks_and_inodes_of_a_tree),
        cmocka_unit_test(counts_a_hard_link_once_and_a_hole_not_at_all),
        cmocka_unit_test(follows_no_symlink),
        cmocka_unit_test(says_that_a_tree_is_too_deep),
        cmocka_unit_test(says_that_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
