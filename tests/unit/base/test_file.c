/* test_file.c - files, notes and directories */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

static int enter_fresh_dir(void **state)
{
    char path[] = "/tmp/mete-test-file-XXXXXX";

    if (!mkdtemp(path) || chdir(path) != 0)
        return -1;
    *state = mem_strdup(path);
    return 0;
}

static int leave_dir(void **state)
{
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *path = *state;

    if (chdir("/") != 0)
        return -1;
    e = dir_remove(path);
    return e || file_exists(path) ? -1 : 0;
}

static mode_t mode_of(const char *path)
{
    struct stat is;

    assert_int_equal(stat(path, &is), 0);
    return is.st_mode & 07777;
}

static size_t count_names(const char *path)
{
    char **names = NULL;
    size_t n = 0;

    assert_null(dir_list(path, &names, &n));
    names_free(names, n);
    return n;
}

static void replaces_a_file_whole(void **state)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf empty = {0};

    (void)state;
    assert_null(file_write_durable("f", 0640, STR("one")));
    assert_null(file_write_durable("f", 0600, STR("two!")));
    assert_null(file_read("f", 4, &text));
    assert_string_equal(text.at, "two!");
    assert_int_equal(mode_of("f"), 0600);
    assert_null(file_write("f", 0644, (struct str){0}));
    assert_null(file_read("f", 0, &empty));
    assert_string_equal(empty.at, "");
    assert_int_equal(count_names("."), 1); /* no temporary file is left */
}

static void says_why_it_cannot_read(void **state)
{
    static const struct {
        const char *path;
        enum err_code code;
        const char *message;
    } cases[] = {
        {"none", ERR_NOT_FOUND, "open none: no such file or directory"},
        {"big", ERR_TOO_LARGE, "read big: larger than 3 bytes"},
        {".", ERR_INTERNAL, "read .: is a directory"},
    };

    (void)state;
    assert_null(file_write("big", 0600, STR("1234")));
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf text = {.size = 42};
        AUTO(err_freep) struct err *e = file_read(cases[i].path, 3, &text);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_code(e), cases[i].code);
        assert_int_equal(text.size, 42);
    }
}

static void a_failed_write_leaves_nothing(void **state)
{
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *f = NULL;

    (void)state;
    assert_null(dir_make("d", 0755));
    e = file_write_durable("none/f", 0600, STR("x"));
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
    f = file_write_durable("d", 0600, STR("x"));
    assert_non_null(f);
    assert_int_equal(count_names("."), 1);
}

static void keeps_a_note_as_it_was_written_first(void **state)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf none = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    assert_null(note_write("note", "1879048192"));
    assert_null(note_write("note", "2"));
    assert_null(note_read("note", &text));
    assert_string_equal(text.at, "1879048192");
    e = note_read("none", &none);
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
}

static void makes_missing_parents_whatever_the_umask(void **state)
{
    AUTO(err_freep) struct err *e = NULL;
    mode_t kept = umask(0077);

    (void)state;
    assert_null(dir_make("a/b/c", 0711));
    (void)umask(kept);
    assert_int_equal(mode_of("a"), 0711);
    assert_int_equal(mode_of("a/b/c"), 0711);
    assert_null(dir_make("a/b", 0700));
    assert_int_equal(mode_of("a/b"), 0711); /* existed before: keeps its mode */
    assert_null(file_write("f", 0600, STR("")));
    e = dir_make("f/x", 0700);
    assert_string_equal(err_message(e), "create directory f: a file has this name");
}

static void a_directory_is_listed_in_order(void **state)
{
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;

    (void)state;
    assert_null(file_write("b", 0600, STR("")));
    assert_null(file_write("a", 0600, STR("")));
    assert_null(dir_make("C", 0700));
    assert_null(dir_list(".", &names, &n));
    assert_int_equal(n, 3);
    assert_string_equal(names[0], "C");
    assert_string_equal(names[1], "a");
    assert_string_equal(names[2], "b");
    names_free(names, n);
    e = dir_list("none", &names, &n);
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
}

static void removes_a_tree_but_not_where_its_links_lead(void **state)
{
    (void)state;
    assert_null(dir_make("keep", 0700));
    assert_null(file_write("keep/f", 0600, STR("x")));
    assert_null(dir_make("t/a/b", 0700));
    assert_null(file_write("t/a/f", 0600, STR("x")));
    assert_int_equal(symlink("../keep", "t/link"), 0);
    assert_int_equal(symlink("/", "t/a/b/root"), 0);
    assert_int_equal(mkfifo("t/fifo", 0600), 0);
    assert_null(dir_remove("t"));
    assert_false(file_exists("t"));
    assert_true(file_exists("keep/f"));
    assert_null(dir_remove("t"));
    assert_int_equal(symlink("keep", "l"), 0);
    assert_null(dir_remove("l"));
    assert_true(file_exists("keep/f"));
    assert_false(file_exists("l"));
}

/* A tree deeper than the limits of paths and of descriptors. */
static void removes_what_is_very_deep(void **state)
{
    AUTO(fd_closep) int at = -1;

    (void)state;
    assert_null(dir_make("t", 0700));
    at = open("t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        int next;

        assert_int_equal(mkdirat(at, "dd", 0700), 0);
        next = openat(at, "dd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close(at);
        at = next;
    }
    assert_null(dir_remove("t"));
    assert_false(file_exists("t"));
}

static void makes_random_uuids(void **state)
{
    char a[37];
    char b[37];

    (void)state;
    uuid_make(a);
    uuid_make(b);
    assert_int_equal(strlen(a), 36);
    assert_int_equal(a[14], '4');
    assert_non_null(strchr("89ab", a[19]));
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replaces_a_file_whole, enter_fresh_dir, leave_dir),
        cmocka_unit_test_setup_teardown(says_why_it_cannot_read, enter_fresh_dir, leave_dir),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_nothing, enter_fresh_dir, leave_dir),
        cmocka_unit_test_setup_teardown(keeps_a_note_as_it_was_written_first, enter_fresh_dir,
                                        leave_dir),
        cmocka_unit_test_setup_teardown(makes_missing_parents_whatever_the_umask, enter_fresh_dir,
                                        leave_dir),
        cmocka_unit_test_setup_teardown(a_directory_is_listed_in_order, enter_fresh_dir, leave_dir),
        cmocka_unit_test_setup_teardown(removes_a_tree_but_not_where_its_links_lead,
                                        enter_fresh_dir, leave_dir),
        cmocka_unit_test_setup_teardown(removes_what_is_very_deep, enter_fresh_dir, leave_dir),
        cmocka_unit_test(makes_random_uuids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
