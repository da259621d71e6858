/* test_yaml.c - YAML documents into JSON, and back */

#include "base/mem.h"
#include "base/yaml.h"
#include "test.h"

/* The first document of `text` as compact JSON, or the error's message. */
static char *as_json(const char *text)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(err_freep) struct err *e = yaml_parse("f.yaml", str_of(text), &documents);

    return e ? mem_strdup(err_message(e)) : json_format(json_array_get(documents, 0));
}

struct pair {
    const char *yaml;
    const char *json;
};

static void check(const struct pair *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *json = as_json(cases[i].yaml);

        assert_string_equal(json, cases[i].json);
    }
}

static void resolves_scalars_as_kubernetes_does(void **state)
{
    static const struct pair cases[] = {
        {"[y, Y, yes, Yes, YES, on, On, ON, true, True, TRUE]",
         "[true,true,true,true,true,true,true,true,true,true,true]"},
        {"[n, no, Off, OFF, False, N]", "[false,false,false,false,false,false]"},
        {"[yEs, oN, tRUE, nULL]", "[\"yEs\",\"oN\",\"tRUE\",\"nULL\"]"},
        {"['yes', \"no\"]", "[\"yes\",\"no\"]"},
        {"[~, null, Null, NULL, '']", "[null,null,null,null,\"\"]"},
        {"a:", "{\"a\":null}"},
        {"[0x1F, 0o17, 0b101, 017, 08, 1_000, -0x10, +12, -0b11, 0]",
         "[31,15,5,15,8,1000,-16,12,-3,0]"},
        {"[0x, 0b2, 0o8, _1, 1a, -, +, '1']",
         "[\"0x\",\"0b2\",\"0o8\",\"_1\",\"1a\",\"-\",\"+\",\"1\"]"},
        {"[.5_0, 1_0.5, 9223372036854775807, -9223372036854775808]",
         "[0.5,10.5,9223372036854775807,-9223372036854775808]"},
        {"[0.5, .5, 1., 1.10, 1e3, 1.5e-3, -.5, +1.5, 007.25, 1e400, ., 1.e]",
         "[0.5,0.5,1,1.1,1000,0.0015,-0.5,1.5,7.25,\"1e400\",\".\",\"1.e\"]"},
        {"[1e25, 99999999999999999999]", "[1e+25,1e+20]"},
        {"[2026-11-21, 2026-11-21T08:43:00Z, 1:30, 10Gi]",
         "[\"2026-11-21\",\"2026-11-21T08:43:00Z\",\"1:30\",\"10Gi\"]"},
        {"[!!str 12, !!int 12, !!float 12, ! 'x', !!bool yes, !!null ~]",
         "[\"12\",12,12,\"x\",true,null]"},
        {"|\n  a\n  b\n", "\"a\\nb\\n\""},
        {">-\n  a\n  b\n", "\"a b\""},
    };

    (void)state;
    check(cases, COUNT(cases));
}

static void turns_keys_into_text(void **state)
{
    static const struct pair cases[] = {
        {"{1: a, 0x10: b, 1.5: c, yes: d, 'no': e, '': f}",
         "{\"1\":\"a\",\"16\":\"b\",\"1.5\":\"c\",\"true\":\"d\",\"no\":\"e\",\"\":\"f\"}"},
        {"~: a", "f.yaml:1:1: a key must be text, a number or a boolean"},
        {"[a]: b", "f.yaml:1:1: a key must be text, a number or a boolean"},
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key 'a'"},
        {"1: a\n'1': b\n", "f.yaml:2:1: duplicate key '1'"},
    };

    (void)state;
    check(cases, COUNT(cases));
}

static void copies_aliases_and_merges(void **state)
{
    static const struct pair cases[] = {
        {"a: &x {b: 1}\nc: *x\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"},
        {"- &x {a: 1, b: 2}\n- {<<: *x, b: 3}\n", "[{\"a\":1,\"b\":2},{\"b\":3,\"a\":1}]"},
        {"- &x {a: 1}\n- &y {a: 2, b: 2}\n- <<: [*x, *y]\n  c: 3\n",
         "[{\"a\":1},{\"a\":2,\"b\":2},{\"c\":3,\"a\":1,\"b\":2}]"},
        {"'<<': 1", "{\"<<\":1}"},
        {"<<: 1", "f.yaml:1:5: '<<' wants a mapping or a list of mappings"},
        {"a: *x", "f.yaml:1:4: unknown anchor 'x'"},
        {"&x [*x]", "f.yaml:1:5: unknown anchor 'x'"},
    };

    (void)state;
    check(cases, COUNT(cases));
}

static void says_where_it_is_wrong(void **state)
{
    static const struct pair cases[] = {
        {"a: b: c", "f.yaml:1:5: mapping values are not allowed in this context"},
        {"a:\n  - b\n c: d\n", "f.yaml:3:2: did not find expected key (while parsing a block "
                               "mapping at line 1)"},
        {"a: \"x\n", "f.yaml:2:1: found unexpected end of stream (while scanning a quoted scalar "
                     "at line 1)"},
        {"a: 1\nb: \xff\n", "f.yaml:2:4: invalid leading UTF-8 octet"},
        {"a: 1\nb: \x01\n", "f.yaml:2:4: control characters are not allowed"},
        {"a: 18446744073709551615", "f.yaml:1:4: integer '18446744073709551615' is over "
                                    "9223372036854775807"},
        {"a: .inf", "f.yaml:1:4: JSON cannot represent '.inf'"},
        {"a: !!int x", "f.yaml:1:4: 'x' does not match its tag 'tag:yaml.org,2002:int'"},
        {"a: !mine x", "f.yaml:1:4: tag '!mine' is not supported"},
        {"a: !!set {x}", "f.yaml:1:4: tag 'tag:yaml.org,2002:set' is not supported"},
        {"a: \"\\0\"", "f.yaml:1:4: a NUL byte in text"},
    };

    (void)state;
    check(cases, COUNT(cases));
}

static void leaves_empty_documents_out(void **state)
{
    static const struct pair cases[] = {
        {"", "[]"},
        {"---\n---\n", "[]"},
        {"# only\n", "[]"},
        {"---\na: 1\n---\n# nothing\n---\nb: 2\n...\n", "[{\"a\":1},{\"b\":2}]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *documents = NULL;
        AUTO_FREE char *json = NULL;

        assert_null(yaml_parse("f", str_of(cases[i].yaml), &documents));
        json = json_format(documents);
        assert_string_equal(json, cases[i].json);
    }
}

static void refuses_aliases_and_depths_that_explode(void **state)
{
    AUTO(buf_done) struct buf bomb = {0};
    AUTO(buf_done) struct buf uses = {0};
    AUTO(buf_done) struct buf deep = {0};
    AUTO_FREE char *first = NULL;
    AUTO_FREE char *second = NULL;
    AUTO_FREE char *third = NULL;

    (void)state;
    buf_add_text(&bomb, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&bomb, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_printf(&bomb, "*a%d, ", i - 1);
        buf_add_text(&bomb, "]\n");
    }
    first = as_json(bomb.at);
    assert_string_equal(first, "f.yaml:6:15: expanded aliases are too large");

    buf_add_text(&uses, "- &x 1\n");
    for (int i = 0; i < 1001; i++)
        buf_add_text(&uses, "- *x\n");
    second = as_json(uses.at);
    assert_string_equal(second, "f.yaml:1002:3: expanded aliases are too large");

    for (unsigned i = 0; i <= JSON_DEPTH_MAX; i++)
        buf_add_char(&deep, '[');
    third = as_json(deep.at);
    assert_string_equal(third, "f.yaml:1:129: nested deeper than 128");
}

static void writes_as_kubectl_does(void **state)
{
    static const struct pair cases[] = {
        {"metadata:\n  name: a\n  labels: {}\nspec:\n  containers:\n  - name: c\n    args:\n"
         "    - -v\n    - \"1\"\n    ports: []\n  replicas: 2\n  on: true\n  half: 0.5\n",
         "{\"metadata\":{\"name\":\"a\",\"labels\":{}},\"spec\":{\"containers\":[{\"name\":\"c\","
         "\"args\":[\"-v\",\"1\"],\"ports\":[]}],\"replicas\":2,\"true\":true,\"half\":0.5}}"},
        {"creationTimestamp: \"2026-11-21T08:43:00Z\"\nempty: \"\"\nnothing: null\n",
         "{\"creationTimestamp\":\"2026-11-21T08:43:00Z\",\"empty\":\"\",\"nothing\":null}"},
        {"a: |\n  x\n    y\n\n  z\nb: |-\n  x\n  y\n",
         "{\"a\":\"x\\n  y\\n\\nz\\n\",\"b\":\"x\\ny\"}"},
        {"a: 'x: y'\nb: '# x'\nc: '@x'\nd: '*'\ne: x#y\nf: 'a'': b'\n",
         "{\"a\":\"x: y\",\"b\":\"# x\",\"c\":\"@x\",\"d\":\"*\",\"e\":\"x#y\",\"f\":\"a': b\"}"},
        {"\"yes\": \"no\"\n", "{\"yes\":\"no\"}"},
        {"a: \"0x1\"\nb: \"1:30\"\nc: \"~\"\nd: 10Gi\ne: \"1e3\"\nf: \"<<\"\n",
         "{\"a\":\"0x1\",\"b\":\"1:30\",\"c\":\"~\",\"d\":\"10Gi\",\"e\":\"1e3\",\"f\":\"<<\"}"},
        {"- - 1\n  - 2\n- []\n- a: 1\n", "[[1,2],[],{\"a\":1}]"},
        {"\xc3\xa9: \"\\U0001F600\"\n", "{\"\xc3\xa9\":\"\xf0\x9f\x98\x80\"}"},
        {"a: \"x\\ty\"\n", "{\"a\":\"x\\ty\"}"},
        {"x\n", "\"x\""},
        {"{}\n", "{}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *j = NULL;
        AUTO_FREE char *again = NULL;
        AUTO_FREE char *yaml = NULL;
        const char *want = i == 0 ? NULL : cases[i].yaml;

        assert_null(json_parse(str_of(cases[i].json), &j));
        yaml = yaml_format(j);
        if (want)
            assert_string_equal(yaml, want);
        again = as_json(yaml);
        assert_string_equal(again, cases[i].json);
    }
}

static void wraps_no_line(void **state)
{
    AUTO(json_freep) json_t *j = json_object();
    AUTO_FREE char *text = mem_alloc(2001);
    AUTO_FREE char *yaml = NULL;

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        text[i] = i % 7 == 6 ? ' ' : 'x';
    json_put_text(j, "a", text);
    yaml = yaml_format(j);
    assert_int_equal(strlen(yaml), 2000 + 4);
    assert_ptr_equal(strchr(yaml, '\n'), yaml + 2003);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolves_scalars_as_kubernetes_does),
        cmocka_unit_test(turns_keys_into_text),
        cmocka_unit_test(copies_aliases_and_merges),
        cmocka_unit_test(says_where_it_is_wrong),
        cmocka_unit_test(leaves_empty_documents_out),
        cmocka_unit_test(refuses_aliases_and_depths_that_explode),
        cmocka_unit_test(writes_as_kubectl_does),
        cmocka_unit_test(wraps_no_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
