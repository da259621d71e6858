/* test_node_atomic_dir.c - tests of atomic_dir */

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/volume/atomic_dir.h"
#include "test.h"

static const int64_t NOW_NS = INT64_C(1767323045) * NS_PER_SEC; /* 2026-01-02T03:04:05Z */

struct dir {
    char *path;
};

static void dir_init(struct dir *d)
{
    char path[] = "/tmp/mete-test-atomic-XXXXXX";

    assert_non_null(mkdtemp(path));
    d->path = mem_strdup(path);
}

static void dir_done(struct dir *d)
{
    struct err *e = dir_remove(d->path);

    assert_null(e);
    free(d->path);
}

/* Writes files given as "path=bytes", of mode 0640. */
static struct err *try_write(const struct dir *d, const char *const *texts)
{
    struct atomic_file files[8];
    size_t n = 0;

    for (; texts[n]; n++) {
        const char *equals = strchr(texts[n], '=');

        files[n] = (struct atomic_file){.path = mem_strndup(texts[n], (size_t)(equals - texts[n])),
                                        .bytes = mem_strdup(equals + 1),
                                        .size = strlen(equals + 1),
                                        .mode = 0640,
                                        .uid = geteuid(),
                                        .gid = getegid()};
    }
    const struct atomic_dir a = {.path = d->path,
                                 .mode = 0750,
                                 .uid = geteuid(),
                                 .gid = getegid(),
                                 .files = files,
                                 .n_files = n,
                                 .now_ns = NOW_NS};
    struct err *e = atomic_dir_write(&a);

    for (size_t i = 0; i < n; i++) {
        free(files[i].path);
        free(files[i].bytes);
    }
    return e;
}

#define WRITE(d, ...) assert_null(try_write((d), (const char *const[]){__VA_ARGS__, NULL}))

static void check_text(const struct dir *d, const char *name, const char *want)
{
    AUTO_FREE char *path = mem_format("%s/%s", d->path, name);
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, 4096, &text);

    assert_null(e);
    assert_string_equal(text.at, want);
}

static char *read_link(const struct dir *d, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", d->path, name);
    char target[256];
    ssize_t n = readlink(path, target, sizeof(target));

    assert_true(n > 0);
    return mem_strndup(target, (size_t)n);
}

/* Checks the names in the directory; the name of the files' directory reads "..DATA". */
static void check_names(const struct dir *d, const char *want)
{
    AUTO_FREE char *data = read_link(d, "..data");
    char **names = NULL;
    size_t n = 0;
    AUTO(buf_done) struct buf all = {0};
    struct err *e = dir_list(d->path, &names, &n);

    assert_null(e);
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", i > 0 ? " " : "",
                   text_equal(names[i], data) ? "..DATA" : names[i]);
    names_free(names, n);
    assert_string_equal(all.at, want);
}

static void files_lie_as_the_kubelet_lays_them(void **state)
{
    struct dir d;
    struct stat st;

    (void)state;
    dir_init(&d);
    WRITE(&d, "a=1", "sub/b=2", "sub/deep/c=");
    check_names(&d, "..DATA ..data a sub");
    check_text(&d, "a", "1");
    check_text(&d, "sub/b", "2");
    check_text(&d, "sub/deep/c", "");
    AUTO_FREE char *data = read_link(&d, "..data");
    AUTO_FREE char *link = read_link(&d, "sub");
    AUTO_FREE char *dir = mem_format("%s/..data/sub", d.path);
    AUTO_FREE char *file = mem_format("%s/a", d.path);

    assert_true(text_starts_with(data, "..2026_01_02_03_04_05."));
    assert_string_equal(link, "..data/sub");
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    dir_done(&d);
}

static void what_is_the_same_is_not_written_again(void **state)
{
    struct dir d;

    (void)state;
    dir_init(&d);
    WRITE(&d, "a=1", "b=2");
    AUTO_FREE char *before = read_link(&d, "..data");

    WRITE(&d, "a=1", "b=2");
    AUTO_FREE char *same = read_link(&d, "..data");

    assert_string_equal(before, same);
    WRITE(&d, "a=1", "b=3");
    AUTO_FREE char *other = read_link(&d, "..data");

    assert_string_not_equal(before, other);
    check_text(&d, "b", "3");
    check_names(&d, "..DATA ..data a b");
    dir_done(&d);
}

static void names_come_and_go(void **state)
{
    struct dir d;

    (void)state;
    dir_init(&d);
    WRITE(&d, "a=1", "old/x=1");
    WRITE(&d, "a=1", "new/y=2");
    check_names(&d, "..DATA ..data a new");
    check_text(&d, "new/y", "2");
    WRITE(&d, "new=now a file");
    check_names(&d, "..DATA ..data new");
    check_text(&d, "new", "now a file");
    assert_null(try_write(&d, (const char *const[]){NULL}));
    check_names(&d, "..DATA ..data");
    dir_done(&d);
}

static void a_write_that_was_cut_short_is_mended(void **state)
{
    struct dir d;

    (void)state;
    dir_init(&d);
    WRITE(&d, "a=1", "b=1");
    AUTO_FREE char *left = mem_format("%s/..2025_01_01_00_00_00.xyz", d.path);
    AUTO_FREE char *link = mem_format("%s/..data_tmp", d.path);
    AUTO_FREE char *gone = mem_format("%s/b", d.path);

    assert_int_equal(mkdir(left, 0700), 0);
    assert_int_equal(symlink("..2025_01_01_00_00_00.xyz", link), 0);
    assert_int_equal(unlink(gone), 0);
    WRITE(&d, "a=1", "b=1");
    check_names(&d, "..DATA ..data a b");
    assert_int_equal(mkdir(left, 0700), 0);
    assert_int_equal(symlink("nowhere", link), 0);
    WRITE(&d, "a=2");
    check_names(&d, "..DATA ..data a");
    check_text(&d, "a", "2");
    dir_done(&d);
}

static void two_sources_of_one_name_are_told_and_change_nothing(void **state)
{
    struct dir d;

    (void)state;
    dir_init(&d);
    WRITE(&d, "a=1");
    AUTO(err_freep) struct err *e = try_write(&d, (const char *const[]){"a=2", "a/b=3", NULL});

    assert_non_null(e);
    assert_int_equal(err_code(e), ERR_INVALID);
    check_text(&d, "a", "1");
    check_names(&d, "..DATA ..data a");
    dir_done(&d);
}

/* A reader that opens ..data once sees one state of all files, during any number of changes. */
static void a_reader_never_sees_a_mixture(void **state)
{
    struct dir d;

    (void)state;
    dir_init(&d);
    for (int i = 0; i < 50; i++) {
        AUTO_FREE char *one = mem_format("a=%d", i);
        AUTO_FREE char *two = mem_format("b=%d", i);
        AUTO_FREE char *want = mem_format("%d", i);

        WRITE(&d, one, two);
        check_text(&d, "..data/a", want);
        check_text(&d, "..data/b", want);
        check_names(&d, "..DATA ..data a b");
    }
    dir_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_lie_as_the_kubelet_lays_them),
        cmocka_unit_test(what_is_the_same_is_not_written_again),
        cmocka_unit_test(names_come_and_go),
        cmocka_unit_test(a_write_that_was_cut_short_is_mended),
        cmocka_unit_test(two_sources_of_one_name_are_told_and_change_nothing),
        cmocka_unit_test(a_reader_never_sees_a_mixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
