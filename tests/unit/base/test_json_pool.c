/* test_json_pool.c - the quick reader and the pool against jansson, and the sharing of parts */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_pool.h"
#include "base/mem.h"
#include "prop.h"
#include "test.h"

#define SPEC                                                                                       \
    "{\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"command\":[\"python\",\"train.py\"]" \
    ","                                                                                            \
    "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}],\"priority\":0}"

static json_t *read_pooled(struct json_pool *p, const char *text)
{
    json_t *j = NULL;

    assert_null(json_pool_parse(p, str_of(text), &j));
    return j;
}

static void assert_text(const json_t *j, const char *want)
{
    AUTO_FREE char *text = json_format(j);

    assert_string_equal(text, want);
}

/* Asserts that json_parse gives jansson's tree, in its order of members, or refuses the text. */
static void assert_parses_as_jansson(const json_t *found, struct str text)
{
    AUTO(json_freep)
    json_t *want = json_loadb(text.at, text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    AUTO_FREE char *is = NULL;
    AUTO_FREE char *was = NULL;

    if (!found)
        return; /* json_parse has the smaller depth */
    assert_non_null(want);
    is = json_format(found);
    was = json_format(want);
    assert_string_equal(is, was);
    assert_true(json_equal(found, want));
}

/* Asserts the same tree or error as json_parse, and jansson's tree. */
static void assert_reads_as_json_parse(struct json_pool *p, struct str text)
{
    AUTO(json_freep) json_t *want = NULL;
    AUTO(err_freep) struct err *refused = json_parse(text, &want);

    AUTO(json_freep) json_t *found = NULL;
    AUTO(err_freep) struct err *e = json_pool_parse(p, text, &found);

    assert_parses_as_jansson(want, text);
    assert_int_equal(e != NULL, refused != NULL);
    if (e)
        assert_string_equal(err_message(e), err_message(refused));
    else
        assert_true(json_equal(found, want));
}

/* Reads the text alone, and as a shared part of other texts. */
static void assert_reads_alike(struct json_pool *p, struct str text)
{
    assert_reads_as_json_parse(p, text);
    for (int i = 0; i < 3; i++) {
        AUTO(buf_done) struct buf b = {0};

        buf_printf(&b, "{\"n\":%d,\"part\":", i);
        buf_add(&b, text.at, text.size);
        buf_add_char(&b, '}');
        assert_reads_as_json_parse(p, (struct str){b.at, b.size});
    }
}

static void reads_what_json_parse_reads_and_refuses_what_it_refuses(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "0",
        "-0",
        "-1",
        "01",
        "1.0",
        "1e3",
        "999999999999999999",
        "9223372036854775807",
        "9223372036854775808",
        "true",
        "truex",
        "null",
        "nul",
        "\"\"",
        "\"a",
        "\"\\u00e9\\n\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"a\\u0041b\\u00e9c\\u20ACd\\u001b[0m\\u007f\"",
        "\"\\u0000\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\uDFFF\"",
        "\"\\ud7ff\\ue000\\uffff\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\x\"",
        "\"\\",
        "\"\\\"",
        "\"\\n",
        "\"\\n\x01\"",
        "\"\\n\xff\"",
        "\"\\n\xc3\xa9\"",
        "{\"a\\n\":1}",
        " \t\r\n{ \"a\" : [ 1 , -2 , \"b\" ] , \"c\" : { } , \"d\" : [ ] }\n",
        "[1\f]",
        "{\"a\":1 \"b\":2}",
        "[1 2]",
        "[",
        "[ ",
        "{ ",
        "{\"a\": ",
        " ",
        "\"\xc3\xa9\"",
        "\"\xff\"",
        "\"\x01\"",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,}",
        "[1,]",
        "[1 ]",
        "{ \"a\":1}",
        "{\"a\" :1}",
        "{\"a\":1} x",
        "{\"\":{}}",
        ("{\"metadata\":{\"labels\":{\"app\":\"train\",\"team\":\"vision\"}},\"spec\":" SPEC "}"),
        "[[[[[[[[{\"deep\":\"deeper than parts are looked for\"}]]]]]]]]",
        "{\"\xc3\xa9\":1}",
        "{\"a\":[{\"b\":\"long enough to be a part\\n\"}]}"};
    struct json_pool *p = json_pool_new();

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_reads_alike(p, str_of(texts[i]));
    json_pool_free(p);
}

static void refuses_what_is_nested_too_deep(void **state)
{
    struct json_pool *p = json_pool_new();
    char text[2 * JSON_DEPTH_MAX + 3] = "";

    (void)state;
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_reads_alike(p, str_of(text));
    assert_reads_alike(p, (struct str){text + 1, (size_t)2 * JSON_DEPTH_MAX});
    json_pool_free(p);
}

static void lends_a_part_that_it_has_met_twice(void **state)
{
    struct json_pool *p = json_pool_new();
    AUTO(json_freep)
    json_t *a = read_pooled(p, "{\"metadata\":{\"name\":\"a\"},\"spec\":" SPEC "}");
    AUTO(json_freep)
    json_t *b = read_pooled(p, "{\"metadata\":{\"name\":\"b\"},\"spec\":" SPEC "}");
    AUTO(json_freep)
    json_t *c = read_pooled(p, "{\"metadata\":{\"name\":\"c\"},\"spec\":" SPEC "}");

    (void)state;
    assert_ptr_not_equal(json_at(a, "spec", NULL), json_at(b, "spec", NULL));
    assert_ptr_equal(json_at(b, "spec", NULL), json_at(c, "spec", NULL));
    assert_true(json_pool_hits(p) > 0);
    assert_string_equal(json_text_at(c, "metadata", "name", NULL), "c");
    json_pool_free(p); /* shared trees stay valid */
    assert_text(json_at(c, "spec", NULL), SPEC);
}

static void leaves_the_root_and_its_metadata_to_the_caller(void **state)
{
    static const char form[] =
        "{\"n\":%d,\"metadata\":{\"name\":\"always-the-same\",\"labels\":{\"app\":"
        "\"long-enough-for-a-part\"}},\"spec\":" SPEC "}";
    struct json_pool *p = json_pool_new();

    (void)state;
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *text = mem_format(form, i);
        AUTO(json_freep) json_t *j = read_pooled(p, text);

        assert_text(j, text);
        json_put_text(json_object_at(j, "metadata"), "resourceVersion", "7");
        json_put_text(j, "extra", "mine");
    }
    assert_true(json_pool_hits(p) > 0);
    json_pool_free(p);
}

static void keeps_nothing_of_one_text_however_often_it_is_read(void **state)
{
    struct json_pool *p = json_pool_new();

    (void)state;
    for (int i = 0; i < 10; i++) {
        AUTO(json_freep) json_t *j = read_pooled(p, "{\"spec\":" SPEC "}");

        assert_text(json_at(j, "spec", NULL), SPEC);
    }
    assert_int_equal(json_pool_hits(p), 0);
    json_pool_free(p);
}

/* In a child process, which has to die. */
static void ends_the_process_where_a_shared_part_was_changed(void **state)
{
    pid_t pid = fork();
    int status = 0;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        struct json_pool *p = json_pool_new();

        (void)freopen("/dev/null", "w", stderr);
        (void)signal(SIGABRT, SIG_DFL);
        for (int i = 0; i < 4096; i++) {
            AUTO_FREE char *text = mem_format("{\"n\":%d,\"spec\":" SPEC "}", i);
            AUTO(json_freep) json_t *j = read_pooled(p, text);

            if (i == 2)
                json_put_int(json_object_get(j, "spec"), "priority", 5);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void add_value(struct prop *r, struct buf *b, unsigned depth)
{
    static const char *const leaves[] = {"1",         "-20",
                                         "true",      "null",
                                         "\"host\"",  " \"#!/bin/sh\\n\\techo \\\"\\u001b\\\"\" ",
                                         "\"a\\nb\"", "\"caf\xc3\xa9\"",
                                         "1.5"};
    size_t n = prop_below(r, 4);
    bool is_object = prop_chance(r, 50);

    if (depth == 0 || prop_chance(r, 40)) {
        buf_add_text(b, leaves[prop_below(r, prop_chance(r, 90) ? 6 : COUNT(leaves))]);
        return;
    }
    buf_add_char(b, is_object ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(b, ',');
        if (is_object)
            buf_printf(b, "\"member-%zu\":", i);
        add_value(r, b, depth - 1);
    }
    buf_add_char(b, is_object ? '}' : ']');
}

static void reads_any_text_as_json_parse_does(void **state)
{
    const struct prop_seeds seeds = prop_seeds(1000);
    struct json_pool *p = json_pool_new();

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop r = {seed};
        AUTO(buf_done) struct buf b = {0};

        add_value(&r, &b, 5);
        if (b.size > 2 && prop_chance(&r, 20))
            b.at[prop_below(&r, b.size)] = "{}[]\",: 1x\\u"[prop_below(&r, 12)];
        assert_reads_alike(p, (struct str){b.at, b.size});
    }
    json_pool_free(p);
}

static void finds_a_member_without_a_tree(void **state)
{
    static const char text[] =
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a}\\\"b\",\"labels\":{\"app\":\"train\",\"n\":"
        "1},"
        "\"empty\":{}},\"spec\":[{\"x\":[1,{}]}],\"status\":{\"phase\":\"Pending\"}}";
    struct str at = {0};
    struct str value = {0};

    (void)state;
    assert_int_equal(json_peek(STR(text), &at, "status", "phase", NULL), PEEK_FOUND);
    assert_true(json_peek_string(at, &value));
    assert_true(str_equal(value, STR("Pending")));
    assert_int_equal(json_peek(STR(text), &at, "metadata", "labels", "n", NULL), PEEK_FOUND);
    assert_true(str_equal(at, STR("1")));
    assert_false(json_peek_string(at, &value));
    assert_int_equal(json_peek(STR(text), &at, "metadata", "name", NULL), PEEK_FOUND);
    assert_true(str_equal(at, STR("\"a}\\\"b\"")));
    assert_false(json_peek_string(at, &value));
    assert_int_equal(json_peek(STR(text), &at, "spec", NULL), PEEK_FOUND);
    assert_true(str_equal(at, STR("[{\"x\":[1,{}]}]")));
    assert_int_equal(json_peek(STR(text), &at, "metadata", "labels", "ap", NULL), PEEK_ABSENT);
    assert_int_equal(json_peek(STR("{\"a\": {\"b\":1,\"c\":2}}"), &at, "a", NULL), PEEK_UNKNOWN);
    assert_int_equal(json_peek(STR(" {\"a\":1}"), &at, "a", NULL), PEEK_UNKNOWN);
    assert_int_equal(json_peek(STR(text), &at, "metadata", "empty", "x", NULL), PEEK_ABSENT);
    assert_int_equal(json_peek(STR(text), &at, "kind", "x", NULL), PEEK_ABSENT);
    assert_int_equal(json_peek(STR("{\"a\\\\nb\":1}"), &at, "a\\nb", NULL), PEEK_UNKNOWN);
    assert_int_equal(json_peek(STR("{ \"a\":1}"), &at, "a", NULL), PEEK_UNKNOWN);
    assert_int_equal(json_peek(STR("{\"b\" :1,\"a\":1}"), &at, "a", NULL), PEEK_UNKNOWN);
    assert_int_equal(json_peek(STR("{\"b\":1"), &at, "a", NULL), PEEK_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_json_parse_reads_and_refuses_what_it_refuses),
        cmocka_unit_test(refuses_what_is_nested_too_deep),
        cmocka_unit_test(lends_a_part_that_it_has_met_twice),
        cmocka_unit_test(leaves_the_root_and_its_metadata_to_the_caller),
        cmocka_unit_test(keeps_nothing_of_one_text_however_often_it_is_read),
        cmocka_unit_test(ends_the_process_where_a_shared_part_was_changed),
        cmocka_unit_test(reads_any_text_as_json_parse_does),
        cmocka_unit_test(finds_a_member_without_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
