/* test_err.c - errors: messages, codes, details */

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"

static void knows_the_code_in_every_language(void **state)
{
    AUTO(err_freep) struct err *e = err_new(ERR_NOT_FOUND, "pod '%s'", "a");

    (void)state;
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
    assert_int_equal(err_http(e), 404);
    assert_string_equal(err_reason(e), "NotFound");
    assert_int_equal(err_grpc(e), 5);
}

static void grows_on_the_way_up(void **state)
{
    AUTO(err_freep) struct err *e = err_new(ERR_CONFLICT, "taken");

    (void)state;
    e = err_wrap(e, "gpu %d", 3);
    e = err_wrap(e, "bind a");
    assert_string_equal(err_message(e), "bind a: gpu 3: taken");
    assert_int_equal(err_code(e), ERR_CONFLICT);
}

static void keeps_details_when_wrapped(void **state)
{
    AUTO(err_freep) struct err *e = err_new(ERR_INVALID, "bad");

    (void)state;
    assert_null(err_details(e));
    e = err_with_details(e, mem_strdup("[1]"));
    e = err_wrap(e, "outer");
    assert_string_equal(err_details(e), "[1]");
}

static void names_what_the_system_said(void **state)
{
    static const struct {
        int number;
        enum err_code code;
        const char *message;
    } cases[] = {
        {ENOENT, ERR_NOT_FOUND, "open x: no such file or directory"},
        {EACCES, ERR_FORBIDDEN, "open x: permission denied"},
        {EIO, ERR_INTERNAL, "open x: input/output error"},
        {ENOSPC, ERR_NO_SPACE, "open x: no space left on device"},
        {EDQUOT, ERR_NO_SPACE, "open x: disk quota exceeded"},
        {ECONNREFUSED, ERR_UNAVAILABLE, "open x: connection refused"},
        {ETIMEDOUT, ERR_TIMEOUT, "open x: connection timed out"},
        {12345, ERR_INTERNAL, "open x: error 12345"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = err_errno(cases[i].number, "open %s", "x");

        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_code(e), cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_code_in_every_language),
        cmocka_unit_test(grows_on_the_way_up),
        cmocka_unit_test(keeps_details_when_wrapped),
        cmocka_unit_test(names_what_the_system_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
