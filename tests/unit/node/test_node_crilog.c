/* test_node_crilog.c - tests of the CRI log format */

#include "base/mem.h"
#include "node/log/crilog.h"
#include "test.h"

static void reads_a_line(void **state)
{
    static const struct {
        const char *bytes;
        const char *text;
        size_t size;
        bool is_partial;
        bool is_stderr;
        bool has_stamp;
    } cases[] = {
        {"2026-01-01T00:00:00Z stdout F hello world\nmore", "hello world", 42, false, false, true},
        {"T stderr P x\n", "x", 13, true, true, true},
        {"T stdout F \n", "", 12, false, false, true},
        {"T stdout F\n", "", 11, false, false, true},
        {"T stdout P:x y\n", "y", 15, true, false, true},
        {"T stdout F  two\n", " two", 16, false, false, true},
        {"not of the format\n", "not of the format", 18, false, false, false},
        {"T stdlog F x\n", "T stdlog F x", 13, false, false, false},
        {"T stdout X x\n", "T stdout X x", 13, false, false, false},
        {"\n", "", 1, false, false, false},
        {"T stdout F no end", "", 0, false, false, false},
        {"", "", 0, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct crilog_line line = {0};
        size_t size = 99;

        crilog_read(str_of(cases[i].bytes), &line, &size);
        assert_int_equal(size, cases[i].size);
        assert_true(str_equal(line.text, str_of(cases[i].text)));
        assert_int_equal(line.is_partial, cases[i].is_partial);
        assert_int_equal(line.is_stderr, cases[i].is_stderr);
        assert_int_equal(line.stamp.size > 0, cases[i].has_stamp);
    }
}

static void finds_the_last_lines(void **state)
{
#define L(text) "T stdout F " text "\n"
#define P(text) "T stdout P " text "\n"
    static const struct {
        const char *bytes;
        size_t n;
        const char *want; /* the bytes left */
        bool is_found;
    } cases[] = {
        {L("a") L("b") L("c"), 1, L("c"), true},
        {L("a") L("b") L("c"), 2, L("b") L("c"), true},
        {L("a") L("b") L("c"), 3, L("a") L("b") L("c"), false},
        {L("a") L("b"), 9, L("a") L("b"), false},
        {L("a") L("b"), 0, "", true},
        {L("a") P("b1") P("b2") L("b3"), 1, P("b1") P("b2") L("b3"), true},
        {L("a") P("b1"), 0, P("b1"), true},
        {"", 3, "", false},
        {"raw\n" L("b"), 1, L("b"), true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str bytes = str_of(cases[i].bytes);
        size_t count = 0;
        bool is_found = false;
        size_t from = crilog_tail(bytes, cases[i].n, &count, &is_found);

        assert_string_equal(cases[i].bytes + from, cases[i].want);
        assert_int_equal(is_found, cases[i].is_found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_line),
        cmocka_unit_test(finds_the_last_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
