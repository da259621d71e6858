/* test_driver_cache.c - tests of the loader's cache */

#include "base/file.h"
#include "base/mem.h"
#include "gpu/driver_cache.h"
#include "made_cache.h"
#include "test.h"

static const struct made_entry two[] = {{"libcuda.so.1", "/usr/lib64/libcuda.so.1"},
                                        {"libc.so.6", "/lib64/libc.so.6"}};

static void collect(void *arg, const char *name, const char *path)
{
    buf_printf(arg, "%s=%s\n", name, path);
}

static void reads_both_forms(void **state)
{
    (void)state;
    for (int is_after_old = 0; is_after_old < 2; is_after_old++) {
        AUTO(buf_done) struct buf bytes = {0};
        AUTO(buf_done) struct buf got = {0};

        cache_make(&bytes, two, 2, is_after_old);
        assert_null(driver_cache_parse((struct str){bytes.at, bytes.size}, collect, &got));
        assert_string_equal(got.at, "libcuda.so.1=/usr/lib64/libcuda.so.1\n"
                                    "libc.so.6=/lib64/libc.so.6\n");
    }
}

static void reads_the_cache_of_this_machine(void **state)
{
    AUTO(buf_done) struct buf bytes = {0};
    AUTO(buf_done) struct buf got = {0};
    AUTO(err_freep) struct err *e = file_read("/etc/ld.so.cache", 64 << 20, &bytes);

    (void)state;
    if (e)
        SKIP("this machine has no loader's cache");
    assert_null(driver_cache_parse((struct str){bytes.at, bytes.size}, collect, &got));
    assert_non_null(strstr(got.at, "libc.so.6=/"));
}

/* Every cut of a cache is an error or has all entries, and reads no byte behind the end. */
static void refuses_cut_and_other_files(void **state)
{
    AUTO(buf_done) struct buf bytes = {0};

    (void)state;
    cache_make(&bytes, two, 2, true);
    for (size_t size = 0; size < bytes.size; size++) {
        AUTO_FREE char *copy = mem_alloc(size + 1);
        AUTO(buf_done) struct buf got = {0};
        AUTO(err_freep) struct err *e = NULL;

        memcpy(copy, bytes.at, size);
        e = driver_cache_parse((struct str){copy, size}, collect, &got);
        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
    }
    bytes.at[32 + 28] = 3 - (bytes.at[32 + 28] & 1); /* the other byte order */
    {
        AUTO(err_freep)
        struct err *e = driver_cache_parse((struct str){bytes.at, bytes.size}, collect, NULL);

        assert_string_equal(err_message(e), "the loader's cache has another byte order");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_forms),
        cmocka_unit_test(reads_the_cache_of_this_machine),
        cmocka_unit_test(refuses_cut_and_other_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
