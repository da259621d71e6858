/* test_cel_rule.c - CEL over JSON: what rules say, what they cost, how they are refused */

#include "base/mem.h"
#include "model/cel/cel_rule.h"
#include "test.h"

static const struct cel_variable variables[] = {{.name = "self"}, {.name = "oldSelf"}};
static const struct cel_language language = {.variables = variables, .n_variables = 2};

static json_t *read_json(const char *text)
{
    json_t *value = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(text), &value);

    if (e)
        print_message("%s: %s\n", text, err_message(e));
    assert_null(e);
    return value;
}

static const char object[] =
    "{\"n\":3,\"x\":1.5,\"t\":\"abc\",\"yes\":true,\"none\":null,\"list\":[1,2,3],\"texts\":[\"b\","
    "\"a\"],"
    "\"map\":{\"a\":1,\"b\":2},\"things\":[{\"name\":\"p\",\"size\":1},{\"name\":\"q\",\"size\":2}]"
    ","
    "\"a-b\":7,\"min\":2,\"max\":5,\"url\":\"https://h.example:8080/p/q?x=1\"}";

static void says_what_cel_says(void **state)
{
    static const char *const holds[] = {
        "self.n == 3",
        "self.min <= self.n && self.n <= self.max",
        "self.n == 3.0",
        "self.x > 1 && self.x < 2",
        "self.n + 1 == 4 && self.n * 2 - 1 == 5 && 7 / 2 == 3 && 7 % 2 == 1 && -self.n == -3",
        "1.5 + 1.5 == 3.0 && 1e3 == 1000.0 && 0x1f == 31 && 5u == 5",
        "self.t + 'd' == 'abcd'",
        "size(self.t) == 3 && self.t.size() == 3 && size('é') == 1",
        "self.list.all(i, i > 0) && !self.list.all(i, i > 1)",
        "self.list.exists(i, i == 2) && !self.list.exists(i, i == 9)",
        "self.list.exists_one(i, i == 2)",
        "self.list.map(i, i * 2) == [2, 4, 6]",
        "self.list.map(i, i > 1, i * 2) == [4, 6]",
        "self.list.filter(i, i > 1) == [2, 3]",
        "self.map.all(k, k in ['a', 'b'])",
        "self.map.all(k, v, v > 0)",
        "self.list.all(i, v, v == i + 1)",
        "self.things.all(t, self.things.exists_one(o, o.name == t.name))",
        "self.things.map(t, t.size).sum() == 3",
        "self.map == {'a': 1, 'b': 2}",
        "{'a': 1}.a == 1 && 'a' in {'a': 1}",
        "has(self.n) && !has(self.missing) && !has(self.map.c)",
        "'a' in self.map && 2 in self.list && !('c' in self.map)",
        "self.map['b'] == 2 && self.list[0] == 1",
        "self.?missing.orValue(5) == 5 && self.?n.orValue(5) == 3",
        "self.map.?a.hasValue() && !self.map.?c.hasValue()",
        "self.?missing.?deeper.orValue('x') == 'x'",
        "self.map[?'a'].optMap(v, v + 1).orValue(0) == 2",
        "optional.none().or(optional.of(1)).value() == 1",
        "self.n > 5 ? false : true",
        "self.missing == 1 || true",
        "!(false && self.missing == 1)",
        "self.a__dash__b == 7",
        "type(self.n) == int && type(self.t) == string && type([]) == list && type({}) == map",
        "string(self.n) == '3' && int('7') == 7 && double('1.5') == 1.5 && string(1.5) == '1.5'",
        "self.t.startsWith('a') && self.t.endsWith('c') && self.t.contains('b')",
        "self.t.matches('^[a-c]+$') && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && "
        "'x7'.find('[0-9]') == '7'",
        "'ABC'.lowerAscii() == 'abc' && self.t.upperAscii() == 'ABC'",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && ['a', 'b'].join('-') == 'a-b' && 'a b'.replace(' "
        "', '_') == 'a_b'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "self.t.substring(1) == 'bc' && self.t.substring(0, 2) == 'ab' && self.t.charAt(1) == 'b'",
        "self.t.indexOf('c') == 2 && 'abab'.lastIndexOf('ab') == 2 && self.t.indexOf('z') == -1",
        "' x '.trim() == 'x' && '%s has %d'.format(['a', 2]) == 'a has 2'",
        "self.list.max() == 3 && self.list.min() == 1 && self.list.isSorted() && "
        "!self.texts.isSorted()",
        "duration('1h') > duration('59m') && duration('90s').getMinutes() == 1",
        "timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && isQuantity('5') && "
        "!isQuantity('five')",
        "url(self.url).getHostname() == 'h.example' && url(self.url).getPort() == '8080' && "
        "isURL(self.url)",
        "url(self.url).getEscapedPath() == '/p/q' && url(self.url).getScheme() == 'https'",
        "isIP('10.0.0.1') && ip('::1').family() == 6 && isCIDR('10.0.0.0/8') && "
        "!isCIDR('10.0.0.0')",
        "sets.contains(self.list, [1, 3]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, "
        "2], [2, 1])",
        "cel.bind(m, self.n * 2, m == 6)",
        "self.none == null",
        "self.t == \"abc\" && r'\\d' == '\\\\d'",
        "self == oldSelf",
        "semver('1.2.3').isLessThan(semver('1.10.0'))",
    };
    AUTO(json_freep) json_t *self = read_json(object);
    const json_t *values[] = {self, self};

    (void)state;
    for (size_t i = 0; i < COUNT(holds); i++) {
        struct cel_rule *rule = NULL;
        int64_t steps = 100000;
        bool yes = false;
        AUTO(err_freep) struct err *e = cel_rule_parse(str_of(holds[i]), &language, &rule);

        print_message("%s\n", holds[i]);
        if (e)
            fail_msg("%s", err_message(e));
        e = cel_rule_holds(rule, values, &steps, &yes);
        cel_rule_free(rule);
        if (e)
            fail_msg("%s", err_message(e));
        assert_true(yes);
    }
}

static void names_what_is_wrong(void **state)
{
    static const struct {
        const char *rule;
        const char *message;
    } cases[] = {
        {"self.n ==", "column 10: the expression is incomplete"},
        {"other.n == 1", "column 1: undeclared reference to 'other'"},
        {"self.t.frobnicate()", "column 8: the method \"frobnicate\" is not known here"},
        {"frobnicate(1)", "column 1: the function \"frobnicate\" is not known here"},
        {"self.t.startsWith()", "column 8: wrong number of arguments of startsWith"},
        {"self.missing == 1", "column 6: no such key: missing"},
        {"self.t + 1 == 2", "column 8: no such overload for string"},
        {"self.n", "column 6: the value is of type int: want bool"},
        {"self.list[5] == 1", "column 10: index out of bounds: 5"},
        {"1 / 0 == 1", "column 3: division by zero"},
        {"self.t.matches('(')", "column 8: error parsing regexp: missing closing ): `(`"},
        {"self.list.all(i, i.x == 1)", "column 20: no such overload for int"},
    };
    AUTO(json_freep) json_t *self = read_json(object);
    const json_t *values[] = {self, NULL};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cel_rule *rule = NULL;
        int64_t steps = 100000;
        bool yes = false;
        AUTO(err_freep) struct err *e = cel_rule_parse(str_of(cases[i].rule), &language, &rule);

        print_message("%s\n", cases[i].rule);
        if (!e)
            e = cel_rule_holds(rule, values, &steps, &yes);
        cel_rule_free(rule);
        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

/* Loops in loops, texts that double, and costly patterns end at the bound. */
static void no_rule_takes_more_than_its_steps(void **state)
{
    static const char *const rules[] = {
        "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))",
        "self.map(a, self.map(b, self.map(c, self.map(d, [a, b, c, d])))).size() == 0",
        "cel.bind(a, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', cel.bind(b, "
        "a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a, cel.bind(c, "
        "b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b, cel.bind(d, c+c+c+c+c+c+c+c+c+c+c+c+c+c+c+c, "
        "cel.bind(e, d+d+d+d+d+d+d+d+d+d+d+d+d+d+d+d, (e+e+e+e+e+e+e+e).matches('(a+)+$'))))))",
    };
    AUTO(json_freep) json_t *self = json_array();
    const json_t *values[] = {self, NULL};

    (void)state;
    for (int i = 0; i < 200; i++)
        (void)json_array_append_new(self, json_integer(i));
    for (size_t i = 0; i < COUNT(rules); i++) {
        struct cel_rule *rule = NULL;
        int64_t steps = 1000000;
        bool yes = false;
        AUTO(err_freep) struct err *e = cel_rule_parse(str_of(rules[i]), &language, &rule);

        assert_null(e);
        e = cel_rule_holds(rule, values, &steps, &yes);
        cel_rule_free(rule);
        assert_non_null(e);
        assert_non_null(strstr(err_message(e), "actual cost limit exceeded"));
        assert_true(steps < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_cel_says),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(no_rule_takes_more_than_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
