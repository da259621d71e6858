/* test_pattern.c - regular expressions: what they match, what they cost, how they are refused */

#include "base/mem.h"
#include "model/pattern.h"
#include "test.h"

enum {
    PLENTY = 10 << 20
};

static void finds_what_go_finds(void **state)
{
    static const struct {
        const char *pattern;
        const char *text;
        int begin; /* -1: no match */
        int end;
    } cases[] = {
        {"", "", 0, 0},
        {"a", "xay", 1, 2},
        {"^a", "xa", -1, 0},
        {"a$", "xa", 1, 2},
        {"a|ab", "ab", 0, 1},
        {"ab|a", "ab", 0, 2},
        {"(a|ab)(c|bcd)", "abcd", 0, 4},
        {"a*", "aaa", 0, 3},
        {"a*?", "aaa", 0, 0},
        {"a+?", "aaa", 0, 1},
        {"x*", "aaa", 0, 0},
        {"(?:a+)+b", "aaab", 0, 4},
        {"[^a-c]+", "abcxyz", 3, 6},
        {"[]a]+", "]a", 0, 2},
        {"[a-]+", "a-b", 0, 2},
        {"\\d{2,3}", "1234", 0, 3},
        {"a{2}", "aaa", 0, 2},
        {"a{0}b", "ab", 1, 2},
        {"a{,2}", "a{,2}", 0, 5},
        {"(?i)HeLLo", "xhello", 1, 6},
        {"(?i:a)b", "AB", -1, 0},
        {"(?i:a)b", "Ab", 0, 2},
        {".", "\n", -1, 0},
        {"(?s).", "\n", 0, 1},
        {"(?m)^b$", "a\nb\nc", 2, 3},
        {"\\bfoo\\b", "a foo b", 2, 5},
        {"\\Bo", "foo", 1, 2},
        {"[[:digit:]]+", "ab12", 2, 4},
        {"[[:^digit:]]+", "12ab", 2, 4},
        {"\\x41\\x{42}", "AB", 0, 2},
        {"\\Qa.b\\E", "a.bb", 0, 3},
        {"(?P<name>a)(?<other>b)", "ab", 0, 2},
        {"é+", "caféé", 3, 7},
        {"^.$", "é", 0, 2},
        {"[à-ü]", "é", 0, 2},
        {"[\\d\\-]+$", "1-2", 0, 3},
        {"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$", "a.b-c.d",
         0, 7},
        {"a\\.b", "axb", -1, 0},
        {"(a|b)*c|(a|ab)*c", "abc", 0, 3},
        {"(a*)*", "b", 0, 0},
        {"(|a)+", "aaa", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pattern *p = NULL;
        AUTO(err_freep) struct err *e = pattern_parse(str_of(cases[i].pattern), &p);
        AUTO(pattern_freep) struct pattern *mine = p;
        struct pattern_span span = {0};
        int64_t steps = PLENTY;
        bool is_found = false;
        bool matches = false;

        print_message("%s\n", cases[i].pattern);
        assert_null(e);
        e = pattern_find(mine, str_of(cases[i].text), 0, &steps, &is_found, &span);
        assert_null(e);
        assert_int_equal(is_found, cases[i].begin >= 0);
        e = pattern_matches(mine, str_of(cases[i].text), &steps, &matches);
        assert_null(e);
        assert_int_equal(matches, is_found);
        if (!is_found)
            continue;
        assert_int_equal(span.begin, cases[i].begin);
        assert_int_equal(span.end, cases[i].end);
    }
}

static void refuses_in_the_words_of_go(void **state)
{
    static const struct {
        const char *pattern;
        const char *message;
    } cases[] = {
        {"(a", "error parsing regexp: missing closing ): `(a`"},
        {"a)", "error parsing regexp: unexpected ): `a)`"},
        {"[a", "error parsing regexp: missing closing ]: `[a`"},
        {"*a", "error parsing regexp: missing argument to repetition operator: `*`"},
        {"a**", "error parsing regexp: invalid nested repetition operator: `**`"},
        {"a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"},
        {"a{3,2}", "error parsing regexp: invalid repeat count: `{3,2}`"},
        {"[b-a]", "error parsing regexp: invalid character class range: `b-a`"},
        {"(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
        {"(?<=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?<`"},
        {"a\\", "error parsing regexp: trailing backslash at end of expression: ``"},
        {"\\1", "error parsing regexp: invalid escape sequence: `\\1`"},
        {"((a{1000}){1000}){1000}",
         "error parsing regexp: expression too large: `((a{1000}){1000}){1000}`"},
        {"\\pL", "error parsing regexp: Unicode classes (\\p) are not implemented by mete"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pattern *p = NULL;
        AUTO(err_freep) struct err *e = pattern_parse(str_of(cases[i].pattern), &p);

        print_message("%s\n", cases[i].pattern);
        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(p);
    }
}

/* Patterns that take 2^n steps by trial and error take n here, or are refused for their size. */
static void no_pattern_takes_more_than_its_steps(void **state)
{
    static const char *const patterns[] = {"^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x",
                                           "(a?){50}a{50}"};
    AUTO_FREE char *text = mem_alloc(5001);

    (void)state;
    memset(text, 'a', 5000); /* NOLINT: a text of one letter */
    text[4999] = '!';
    for (size_t i = 0; i < COUNT(patterns); i++) {
        struct pattern *p = NULL;
        AUTO(err_freep) struct err *e = pattern_parse(str_of(patterns[i]), &p);
        AUTO(pattern_freep) struct pattern *mine = p;
        int64_t steps = PLENTY;
        bool matches = false;

        assert_null(e);
        e = pattern_matches(mine, str_of(text), &steps, &matches);
        assert_null(e);
        assert_true(PLENTY - steps < 5000 * 700);
        steps = 1000;
        e = pattern_matches(mine, str_of(text), &steps, &matches);
        if (i != 4)
            assert_string_equal(err_message(e), "the pattern takes too many steps");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_go_finds),
        cmocka_unit_test(refuses_in_the_words_of_go),
        cmocka_unit_test(no_pattern_takes_more_than_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
