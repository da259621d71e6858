/* test_host_roots.c - the directories that hostPath volumes may be below */

#include "base/mem.h"
#include "model/host_roots.h"
#include "test.h"

static void a_root_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *text;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {"/data", NULL},
        {"/data/sets:ro", NULL},
        {"/srv//x/", NULL},
        {"/data/", "host path root '/data' is given twice"},
        {"/", "host path root '/': want directories that all users may mount, not the whole node"},
        {"//:ro",
         "host path root '/': want directories that all users may mount, not the whole node"},
        {"data", "host path root 'data': want an absolute path without '.' and '..'"},
        {"", "host path root '': want an absolute path without '.' and '..'"},
        {"/a/../b", "host path root '/a/../b': want an absolute path without '.' and '..'"},
        {"/dev/shm", "host path root '/dev/shm': every container has its own /proc, /sys and /dev"},
        {"/devices", NULL},
    };
    AUTO(host_roots_done) struct host_roots roots = {0};
    AUTO_FREE char *all = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = host_roots_add(&roots, cases[i].text);

        assert_int_equal(e == NULL, cases[i].message == NULL);
        if (e)
            assert_string_equal(err_message(e), cases[i].message);
    }
    all = host_roots_format(&roots);
    assert_string_equal(all, "/data, /data/sets (read-only), /srv/x, /devices");
}

static void the_innermost_root_is_found_by_whole_names(void **state)
{
    static const struct {
        const char *path;
        const char *root;
    } cases[] = {
        {"/data", "/data"},
        {"/data/a", "/data"},
        {"/data/sets", "/data/sets"},
        {"/data/sets/x/y", "/data/sets"},
        {"/data/setsx", "/data"},
        {"/database", NULL},
        {"/", NULL},
        {"/dat", NULL},
    };
    AUTO(host_roots_done) struct host_roots roots = {0};

    (void)state;
    assert_null(host_roots_add(&roots, "/data/sets:ro"));
    assert_null(host_roots_add(&roots, "/data"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct host_root *r = host_roots_find(&roots, cases[i].path);

        assert_int_equal(r == NULL, cases[i].root == NULL);
        if (r)
            assert_string_equal(r->path, cases[i].root);
    }
}

static void paths_are_cleaned_or_refused(void **state)
{
    static const struct {
        const char *path;
        const char *clean;
    } cases[] = {
        {"/", "/"},
        {"//", "/"},
        {"/a/", "/a"},
        {"//a///b//", "/a/b"},
        {"/..a/b..", "/..a/b.."},
        {"/a/.", NULL},
        {"/./a", NULL},
        {"/a/..", NULL},
        {"a", NULL},
        {"", NULL},
    };
    AUTO_FREE char *longest = mem_alloc(5001);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *clean = host_path_clean(cases[i].path);

        assert_int_equal(clean == NULL, cases[i].clean == NULL);
        if (clean)
            assert_string_equal(clean, cases[i].clean);
    }
    memset(longest, 'a', 5000);
    longest[0] = '/';
    assert_null(host_path_clean(longest));
}

static void there_are_not_more_than_can_be_passed_on(void **state)
{
    AUTO(host_roots_done) struct host_roots roots = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    for (int i = 0; i < HOST_ROOTS_MAX; i++) {
        AUTO_FREE char *path = mem_format("/r%d", i);

        assert_null(host_roots_add(&roots, path));
    }
    e = host_roots_add(&roots, "/one-more");
    assert_int_equal(err_code(e), ERR_BAD_REQUEST);
    assert_int_equal(roots.list.n, HOST_ROOTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_root_is_refused_with_its_reason),
        cmocka_unit_test(the_innermost_root_is_found_by_whole_names),
        cmocka_unit_test(paths_are_cleaned_or_refused),
        cmocka_unit_test(there_are_not_more_than_can_be_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
