/* test_json.c - the limits of parsing, the readers, the formats */

#include "base/json.h"
#include "base/mem.h"
#include "test.h"

static void writes_what_it_read(void **state)
{
    static const struct {
        const char *text;
        const char *canonical;
    } cases[] = {
        {"{}", "{}"},
        {" [ ] ", "[]"},
        {"{\"b\":1,\"a\":[true,false,null]}", "{\"b\":1,\"a\":[true,false,null]}"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"0.1", "0.1"},
        {"1.0", "1.0"},
        {"1e20", "1e+20"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"\"a\\u0001\\n\\\"\\\\/\\u00e9\"", "\"a\\u0001\\n\\\"\\\\/\xc3\xa9\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *j = NULL;
        AUTO_FREE char *text = NULL;

        assert_null(json_parse(str_of(cases[i].text), &j));
        text = json_format(j);
        assert_string_equal(text, cases[i].canonical);
    }
}

static void indents_when_asked(void **state)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_null(json_parse(STR("{\"a\":[1,2],\"b\":{},\"c\":[]}"), &j));
    text = json_format_pretty(j);
    assert_string_equal(text, "{\n    \"a\": [\n        1,\n        2\n    ],\n    \"b\": {},\n"
                              "    \"c\": []\n}");
}

static void refuses_what_servers_refuse(void **state)
{
    static const struct {
        const char *text;
        const char *begin;
    } cases[] = {
        {"", "line 1, column 0: "},
        {"{\"a\":1,\"a\":2}", "line 1, column 10: duplicate object key"},
        {"9223372036854775808", "line 1, column 19: too big integer"},
        {"{} x", "line 1, column 4: end of file expected"},
        {"NaN", "line 1, column 3: invalid token"},
        {"\"\xff\"", "line 1, column 1: unable to decode byte 0xff"},
        {"\"\\u0000\"", "line 1, column 8: \\u0000 is not allowed near"},
        {"[\n1,\n]", "line 3, column 1: unexpected token"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *j = NULL;
        AUTO(err_freep) struct err *e = json_parse(str_of(cases[i].text), &j);

        assert_non_null(e);
        assert_null(j);
        assert_int_equal(err_code(e), ERR_BAD_REQUEST);
        if (!text_starts_with(err_message(e), cases[i].begin))
            assert_string_equal(err_message(e), cases[i].begin);
    }
}

static void nests_to_its_limit_and_no_further(void **state)
{
    char text[2 * (JSON_DEPTH_MAX + 1) + 1];
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = NULL;
    size_t n = JSON_DEPTH_MAX;

    (void)state;
    memset(text, '[', n);
    memset(text + n, ']', n);
    assert_null(json_parse((struct str){text, 2 * n}, &j));
    n++;
    memset(text, '[', n);
    memset(text + n, ']', n);
    e = json_parse((struct str){text, 2 * n}, &j);
    assert_string_equal(err_message(e), "line 1, column 129: nested deeper than 128");
}

static void readers_never_fail(void **state)
{
    AUTO(json_freep) json_t *j = NULL;

    (void)state;
    assert_null(json_parse(STR("{\"a\":{\"b\":\"x\",\"n\":7,\"t\":true},\"s\":\"y\"}"), &j));
    assert_string_equal(json_text_at(j, "a", "b", NULL), "x");
    assert_int_equal(json_int_at(j, "a", "n", NULL), 7);
    assert_true(json_bool_at(j, "a", "t", NULL));
    assert_null(json_text_at(j, "a", "n", NULL));
    assert_null(json_text_at(j, "s", "b", NULL));
    assert_null(json_at(j, "x", "y", "z", NULL));
    assert_null(json_at(NULL, "x", NULL));
    assert_int_equal(json_int_at(j, "s", NULL), 0);
    assert_false(json_bool_at(j, "s", NULL));
    assert_string_equal(json_text(j, "s"), "y");
    assert_null(json_text(NULL, "s"));
    assert_string_equal(json_text_filled(j, "s"), "y");
    assert_null(json_text_filled(j, "none"));
    assert_int_equal(json_int(j, "s", -1), -1);
    assert_int_equal(json_int(json_at(j, "a", NULL), "n", -1), 7);
    assert_true(json_bool(j, "s", true));
    assert_ptr_equal(json_at(j, NULL), j);
}

static void puts_make_what_is_missing(void **state)
{
    AUTO(json_freep) json_t *j = json_object();
    AUTO_FREE char *text = NULL;

    (void)state;
    json_put_text(json_object_at(j, "metadata"), "name", "a");
    json_put_text(json_object_at(j, "metadata"), "uid", "b");
    json_put_text(json_object_at(j, "metadata"), "uid", NULL);
    json_put_text(j, "raw", "\xff");
    json_put(j, "list", json_null());
    (void)json_array_append_new(json_array_at(j, "list"), json_integer(1));
    json_put_int(j, "n", 2);
    json_put_bool(j, "t", false);
    json_put(j, "words",
             json_pack("[ooo]", json_text_new("\xff"), json_text_new(""), json_text_new(NULL)));
    json_put_text(j, "empty", "");
    assert_null(json_text_filled(j, "empty"));
    assert_true(json_has_text(json_object_get(j, "words"), UTF8_REPLACEMENT));
    assert_false(json_has_text(json_object_get(j, "words"), "t"));
    assert_false(json_has_text(json_object_get(j, "words"), NULL));
    assert_false(json_has_text(NULL, "t"));
    text = json_format(j);
    assert_string_equal(text, "{\"metadata\":{\"name\":\"a\"},\"raw\":\"" UTF8_REPLACEMENT
                              "\",\"list\":[1],\"n\":2,\"t\":false,\"words\":[\"" UTF8_REPLACEMENT
                              "\",null,null],\"empty\":\"\"}");
}

static void a_twin_has_its_own_objects_and_lists(void **state)
{
    static const char text[] = "{\"a\":{\"b\":[{\"c\":\"d\"},1,null]},\"e\":2.5,\"f\":{},\"g\":[]}";
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *twin = NULL;
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *after = NULL;

    (void)state;
    assert_null(json_parse(str_of(text), &first));
    twin = json_twin(first);
    before = json_format(twin);
    assert_string_equal(before, text);
    json_put_int(json_array_get(json_at(twin, "a", "b", NULL), 0), "c", 3);
    (void)json_array_clear(json_at(twin, "a", "b", NULL));
    json_put_int(json_at(twin, "f", NULL), "h", 1);
    json_put_text(twin, "e", NULL);
    after = json_format(first);
    assert_string_equal(after, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(indents_when_asked),
        cmocka_unit_test(refuses_what_servers_refuse),
        cmocka_unit_test(nests_to_its_limit_and_no_further),
        cmocka_unit_test(readers_never_fail),
        cmocka_unit_test(puts_make_what_is_missing),
        cmocka_unit_test(a_twin_has_its_own_objects_and_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
