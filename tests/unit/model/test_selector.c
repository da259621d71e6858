/* test_selector.c - label and field selectors, and their error texts */

#include <string.h>

#include "model/selector.h"
#include "test.h"

/* An object is a text: "key=value key=value ". */
static const char *get(const void *object, const char *key)
{
    static char value[64];
    const char *text = object;
    size_t size = strlen(key);

    for (const char *at = text; *at; at = strchr(at, ' ') + 1) {
        if (strncmp(at, key, size) != 0 || at[size] != '=')
            continue;
        (void)memcpy(value, at + size + 1, strcspn(at + size + 1, " "));
        value[strcspn(at + size + 1, " ")] = '\0';
        return value;
    }
    return NULL;
}

static void labels_select_as_in_kubernetes(void **state)
{
    static const char object[] = "app=web tier=front n=7 empty= ";
    static const struct {
        const char *text;
        bool is_match;
    } cases[] = {
        {"", true},
        {" ", true},
        {"app=web", true},
        {"app==web", true},
        {" app = web , tier = front ", true},
        {"app=web,tier=back", false},
        {"app!=web", false},
        {"gone!=web", true},
        {"gone=web", false},
        {"app in (api,web)", true},
        {"app in (api)", false},
        {"app notin (api,db)", true},
        {"gone notin (api)", true},
        {"app notin (web)", false},
        {"app in (z,web,a,zz,web0,we)", true},
        {"app in (z,a,zz,web0,we,)", false},
        {"app notin (z,a,zz,web0,we,webb)", true},
        {"app", true},
        {"gone", false},
        {"!gone", true},
        {"! app", false},
        {"empty=", true},
        {"empty in (,x)", true},
        {"empty", true},
        {"gone=", false},
        {"n>6", true},
        {"n<6", false},
        {"n > 7", false},
        {"app>6", false},
        {"gone<6", false},
        {"in=x", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(selector_freep) struct selector *s = NULL;
        AUTO(err_freep) struct err *e = selector_parse_labels(str_of(cases[i].text), &s);

        if (e)
            fail_msg("%s: %s", cases[i].text, err_message(e));
        if (selector_matches(s, get, object) != cases[i].is_match)
            fail_msg("%s", cases[i].text);
    }
}

static void says_where_a_label_selector_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"=a", "unable to parse requirement: found '=a' at byte 0, want a label key"},
        {"a=b,", "unable to parse requirement: found '' at byte 4, want a label key"},
        {"a b", "unable to parse requirement: found 'b', want one of: in, notin, =, ==, !=, >, <"},
        {"a in", "unable to parse requirement: found '' at byte 4, want '('"},
        {"a in (b", "unable to parse requirement: found '' at byte 7, want ',' or ')'"},
        {"a in ()", "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' "
                    "operators, values set can't be empty"},
        {"a=b c=d", "unable to parse requirement: found 'c=d' at byte 4, want ',' or the end"},
        {"a!b", "unable to parse requirement: found 'b' at byte 2, want '!='"},
        {"a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
                "operators, the value must be an integer"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct selector *s = NULL;
        AUTO(err_freep) struct err *e = selector_parse_labels(str_of(cases[i].text), &s);

        if (!e)
            fail_msg("'%s' was accepted", cases[i].text);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 400);
        assert_null(s);
    }
}

static void refuses_names_that_no_label_has(void **state)
{
    static const char *const texts[] = {"a/b/c=d", "a=b/c", "-a", "a=-", "a in (b,_)"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct selector *s = NULL;
        AUTO(err_freep) struct err *e = selector_parse_labels(str_of(texts[i]), &s);

        assert_non_null(e);
        assert_int_equal(err_http(e), 400);
        assert_null(s);
    }
}

static void refuses_more_than_it_wants_to_carry(void **state)
{
    struct buf text = {0};
    struct selector *s = NULL;
    AUTO(err_freep) struct err *many = NULL;
    AUTO(err_freep) struct err *values = NULL;
    AUTO(err_freep) struct err *nul = selector_parse_labels((struct str){"a\0b", 3}, &s);

    (void)state;
    assert_non_null(nul);
    for (int i = 0; i < 300; i++)
        buf_printf(&text, "%sk%d", i > 0 ? "," : "", i);
    many = selector_parse_labels((struct str){text.at, text.size}, &s);
    assert_non_null(many);
    buf_clear(&text);
    buf_add_text(&text, "k in (v");
    for (int i = 0; i < 2000; i++)
        buf_add_text(&text, ",v");
    buf_add_text(&text, ")");
    values = selector_parse_labels((struct str){text.at, text.size}, &s);
    assert_non_null(values);
    assert_null(s);
    buf_done(&text);
}

static struct err *collect(void *arg, const char *key)
{
    struct buf *out = arg;

    if (strcmp(key, "stop") == 0)
        return err_new(ERR_BAD_REQUEST, "stopped");
    buf_printf(out, "%s;", key);
    return NULL;
}

static void fields_select_by_path(void **state)
{
    static const char object[] = "status.phase=Failed metadata.name=a,b spec.nodeName=n1 ";
    static const struct {
        const char *text;
        bool is_match;
    } cases[] = {
        {"", true},
        {"spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Running", true},
        {"spec.nodeName=n1,status.phase!=Failed", false},
        {"spec.nodeName==n1", true},
        {"metadata.name=a\\,b", true},
        {",", true},
        {"gone=", false},
        {"gone!=x", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(selector_freep) struct selector *s = NULL;
        AUTO(err_freep) struct err *e = selector_parse_fields(str_of(cases[i].text), &s);

        assert_null(e);
        if (selector_matches(s, get, object) != cases[i].is_match)
            fail_msg("%s", cases[i].text);
    }
}

static void says_what_a_field_selector_wants(void **state)
{
    static const char *const texts[] = {"a", "=a", "a!b", "a=b,c", "a=b\\x", "a=b\\"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct selector *s = NULL;
        AUTO(err_freep) struct err *e = selector_parse_fields(str_of(texts[i]), &s);

        if (!e)
            fail_msg("'%s' was accepted", texts[i]);
        assert_int_equal(err_http(e), 400);
        assert_null(s);
    }
}

static void names_its_keys_until_told_to_stop(void **state)
{
    AUTO(selector_freep) struct selector *s = NULL;
    AUTO(err_freep) struct err *e = selector_parse_fields(STR("a=1,b!=2,stop=3,c=4"), &s);
    AUTO(err_freep) struct err *stopped = NULL;
    struct buf out = {0};

    (void)state;
    assert_null(e);
    stopped = selector_each_key(s, collect, &out);
    assert_string_equal(err_message(stopped), "stopped");
    assert_string_equal(out.at, "a;b;");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_select_as_in_kubernetes),
        cmocka_unit_test(says_where_a_label_selector_is_wrong),
        cmocka_unit_test(refuses_names_that_no_label_has),
        cmocka_unit_test(refuses_more_than_it_wants_to_carry),
        cmocka_unit_test(fields_select_by_path),
        cmocka_unit_test(says_what_a_field_selector_wants),
        cmocka_unit_test(names_its_keys_until_told_to_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
