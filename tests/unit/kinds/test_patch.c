/* test_patch.c - JSON merge patch (RFC 7396), JSON patch (RFC 6902) and strategic merge patch */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "test.h"

static json_t *read_json(const char *text)
{
    json_t *j = NULL;
    struct err *e = json_parse(str_of(text), &j);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

struct patch_case {
    const char *object;
    const char *patch;
    const char *result; /* or the error's message */
};

/* The examples of RFC 7396, appendix A, that are objects. */
static void merges_as_rfc_7396_says(void **state)
{
    static const struct patch_case cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *object = read_json(cases[i].object);
        AUTO(json_freep) json_t *patch = read_json(cases[i].patch);
        AUTO(json_freep) json_t *result = NULL;
        AUTO(err_freep) struct err *e = patch_merge(object, patch, &result);
        AUTO_FREE char *text = result ? json_format(result) : NULL;

        assert_null(e);
        assert_string_equal(text, cases[i].result);
    }
}

/* The examples of RFC 6902, appendix A, and forbidden patches. */
static void patches_as_rfc_6902_says(void **state)
{
    static const struct patch_case cases[] = {
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
         "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
        {"{\"foo\":[\"bar\"]}",
         "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
         "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
         "{\"foo\":\"bar\"}"},
        {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
         "{\"foo\":[\"bar\",\"baz\"]}"},
        {"{\"baz\":\"qux\"}", "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":null}]",
         "{\"baz\":null}"},
        {"{\"foo\":{\"bar\":1},\"qux\":{}}",
         "[{\"op\":\"move\",\"from\":\"/foo/bar\",\"path\":\"/qux/thud\"}]",
         "{\"foo\":{},\"qux\":{\"thud\":1}}"},
        {"{\"foo\":[1,2,3]}", "[{\"op\":\"move\",\"from\":\"/foo/0\",\"path\":\"/foo/2\"}]",
         "{\"foo\":[2,3,1]}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}]",
         "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
         "{\"/\":9,\"~1\":10}"},
        {"{\"a/b\":1}", "[{\"op\":\"replace\",\"path\":\"/a~1b\",\"value\":2}]", "{\"a/b\":2}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *object = read_json(cases[i].object);
        AUTO(json_freep) json_t *patch = read_json(cases[i].patch);
        AUTO(json_freep) json_t *result = NULL;
        AUTO(err_freep) struct err *e = patch_json(object, patch, &result);
        AUTO_FREE char *text = result ? json_format(result) : NULL;

        if (e)
            fail_msg("%s: %s", cases[i].patch, err_message(e));
        assert_string_equal(text, cases[i].result);
    }
}

static void a_json_patch_that_does_not_fit_changes_nothing(void **state)
{
    static const struct patch_case cases[] = {
        {"{\"a\":1}",
         "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},"
         "{\"op\":\"remove\",\"path\":\"/c\"}]",
         "operation 1: path \"/c\": is not there"},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", "test failed"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":2}]", "no index"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/00\",\"value\":2}]", "no index"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":2}]", "does not begin with"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":2}]", "neither '0' nor '1'"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":2}]", "without members"},
        {"{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", "into itself"},
        {"{\"a\":1}", "[{\"op\":\"leap\",\"path\":\"/a\",\"value\":2}]", "unknown op"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "want \"value\""},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":2}]", "not an object"},
        {"{\"a\":1}", "[7]", "want \"op\" and \"path\""},
        {"{\"a\":1}", "{}", "want a JSON array"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *object = read_json(cases[i].object);
        AUTO(json_freep) json_t *patch = read_json(cases[i].patch);
        json_t *result = NULL;
        AUTO(err_freep) struct err *e = patch_json(object, patch, &result);
        AUTO_FREE char *text = json_format(object);

        assert_non_null(e);
        assert_non_null(strstr(err_message(e), cases[i].result));
        assert_null(result);
        assert_string_equal(text, cases[i].object);
    }
}

/* A tree that copies itself into itself would double with each operation. */
static void copies_of_a_json_patch_are_bounded(void **state)
{
    AUTO(json_freep) json_t *object = read_json("{\"a\":[\"0123456789\"]}");
    AUTO(json_freep) json_t *patch = json_array();
    json_t *result = NULL;

    (void)state;
    for (size_t i = 0; i < 64; i++)
        (void)json_array_append_new(
            patch, read_json("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}"));
    {
        AUTO(err_freep) struct err *e = patch_json(object, patch, &result);

        assert_non_null(e);
        assert_null(result);
    }
}

static void a_merge_patch_is_an_object(void **state)
{
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *patch = json_array();
    json_t *result = NULL;
    AUTO(err_freep) struct err *merge = patch_merge(object, patch, &result);
    AUTO(err_freep)
    struct err *strategic = patch_strategic(kind_find("", "pods"), object, patch, &result);

    (void)state;
    assert_int_equal(err_http(merge), 400);
    assert_int_equal(err_http(strategic), 400);
    assert_null(result);
}

static void check_strategic(const struct patch_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(json_freep) json_t *object = read_json(cases[i].object);
        AUTO(json_freep) json_t *before = json_deep_copy(object);
        AUTO(json_freep) json_t *patch = read_json(cases[i].patch);
        AUTO(json_freep) json_t *result = NULL;
        AUTO(err_freep)
        struct err *e = patch_strategic(kind_find("", "pods"), object, patch, &result);
        AUTO_FREE char *text = result ? json_format(result) : NULL;

        assert_string_equal(e ? err_message(e) : text, cases[i].result);
        assert_true(json_equal(object, before));
    }
}

#define SPEC(list) "{\"spec\":{\"containers\":" list "}}"

static void lists_with_a_key_are_merged(void **state)
{
    static const struct patch_case cases[] = {
        {SPEC("[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\"}]"),
         SPEC("[{\"name\":\"b\",\"image\":\"2\"}]"),
         SPEC("[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\",\"image\":\"2\"}]")},
        {SPEC("[{\"name\":\"a\"}]"), SPEC("[{\"name\":\"b\"}]"),
         SPEC("[{\"name\":\"b\"},{\"name\":\"a\"}]")},
        {SPEC("[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"1\"}]}]"),
         SPEC("[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"2\"},{\"name\":\"Y\"}]}]"),
         SPEC("[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"2\"},{\"name\":\"Y\"}]}]")},
        {SPEC("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80}]}]"),
         SPEC("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"name\":\"w\"}]}]"),
         SPEC("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"name\":\"w\"}]}]")},
        {SPEC("[{\"name\":\"a\",\"image\":\"1\"}]"), SPEC("[{\"name\":\"a\",\"image\":null}]"),
         SPEC("[{\"name\":\"a\"}]")},
        {SPEC("[{\"name\":\"a\"},{\"name\":\"b\"}]"),
         SPEC("[{\"name\":\"a\",\"$patch\":\"delete\"}]"), SPEC("[{\"name\":\"b\"}]")},
        {SPEC("[{\"name\":\"a\"},{\"name\":\"b\"}]"),
         SPEC("[{\"$patch\":\"replace\"},{\"name\":\"c\"}]"), SPEC("[{\"name\":\"c\"}]")},
        {SPEC("[{\"name\":\"a\",\"image\":\"1\"}]"),
         SPEC("[{\"name\":\"a\",\"tty\":true,\"$patch\":\"merge\"}]"),
         SPEC("[{\"name\":\"a\",\"image\":\"1\",\"tty\":true}]")},
        {"{\"spec\":{}}", SPEC("[{\"name\":\"a\",\"image\":null}]"), SPEC("[{\"name\":\"a\"}]")},
        {SPEC("[]"), SPEC("[{\"image\":\"x\"}]"),
         "strategic merge patch: spec.containers[0]: does not contain declared merge key: name"},
        {SPEC("[]"), SPEC("[5]"), "strategic merge patch: spec.containers[0]: want an object"},
        {SPEC("[]"), SPEC("[{\"name\":\"a\",\"$patch\":\"erase\"}]"),
         "strategic merge patch: spec.containers[0]: unknown $patch type: want replace, delete or "
         "merge"},
    };

    (void)state;
    check_strategic(cases, COUNT(cases));
}

static void other_lists_are_replaced_and_sets_grow(void **state)
{
    static const struct patch_case cases[] = {
        {"{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}",
         "{\"spec\":{\"tolerations\":[{\"key\":\"b\"}]}}",
         "{\"spec\":{\"tolerations\":[{\"key\":\"b\"}]}}"},
        {"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
         "{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}",
         "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}"},
        {"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
         "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\",\"x\"]}}",
         "{\"metadata\":{\"finalizers\":[\"b\"]}}"},
        {"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
         "{\"metadata\":{\"$setElementOrder/finalizers\":[\"c\",\"b\"],"
         "\"$deleteFromPrimitiveList/finalizers\":[\"a\"],\"finalizers\":[\"c\"]}}",
         "{\"metadata\":{\"finalizers\":[\"c\",\"b\"]}}"},
        {"{\"metadata\":{}}", "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":5}}",
         "strategic merge patch: metadata.$deleteFromPrimitiveList/finalizers: want a list"},
    };

    (void)state;
    check_strategic(cases, COUNT(cases));
}

/* A patch as kubectl apply sends it: the client's items come in its order, the server's items keep
 * their places. */
static void the_order_is_the_patchs_with_the_servers_own_in_place(void **state)
{
    static const struct patch_case cases[] = {
        {SPEC("[{\"name\":\"a\"},{\"name\":\"b\"}]"),
         "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
         SPEC("[{\"name\":\"b\"},{\"name\":\"a\"}]")},
        {SPEC("[{\"name\":\"a\"},{\"name\":\"own\"},{\"name\":\"b\"}]"),
         "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":"
         "\"c\"}],\"containers\":[{\"name\":\"c\"}]}}",
         SPEC("[{\"name\":\"a\"},{\"name\":\"own\"},{\"name\":\"b\"},{\"name\":\"c\"}]")},
        {SPEC("[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"1\"},{\"name\":\"X\","
              "\"value\":\"2\"},{\"name\":\"Y\"}]}]"),
         SPEC("[{\"name\":\"a\",\"$setElementOrder/env\":[{\"name\":\"Y\"},{\"name\":\"X\"}]}]"),
         SPEC("[{\"name\":\"a\",\"env\":[{\"name\":\"Y\"},{\"name\":\"X\",\"value\":\"1\"},"
              "{\"name\":\"X\",\"value\":\"2\"}]}]")},
        {SPEC("[{\"name\":\"own\"}]"), SPEC("[{\"name\":\"new\"}]"),
         SPEC("[{\"name\":\"new\"},{\"name\":\"own\"}]")},
        {SPEC("[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]"),
         SPEC("[{\"name\":\"c\"},{\"name\":\"new\"},{\"name\":\"a\"}]"),
         SPEC("[{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"new\"},{\"name\":\"a\"}]")},
        {SPEC("[{\"name\":\"a\"}]"), "{\"spec\":{\"$setElementOrder/containers\":{}}}",
         "strategic merge patch: spec.$setElementOrder/containers: want a list"},
    };

    (void)state;
    check_strategic(cases, COUNT(cases));
}

static void objects_are_merged_replaced_or_retained(void **state)
{
    static const struct patch_case cases[] = {
        {"{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"a\":null,\"c\":\"3\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\",\"c\":\"3\"}}}"},
        {"{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
         "{\"metadata\":{\"labels\":{\"$patch\":\"replace\",\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}"},
        {"{\"metadata\":{\"labels\":{\"a\":\"1\"},\"name\":\"x\"}}",
         "{\"metadata\":{\"labels\":{\"$patch\":\"delete\"}}}", "{\"metadata\":{\"name\":\"x\"}}"},
        {"{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}",
         "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"$retainKeys\":[\"name\",\"secret\"],"
         "\"secret\":{\"secretName\":\"s\"}}]}}",
         "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]}}"},
        {"{\"spec\":{\"unknown\":{\"a\":[1]}}}", "{\"spec\":{\"unknown\":{\"a\":[2],\"b\":1}}}",
         "{\"spec\":{\"unknown\":{\"a\":[2],\"b\":1}}}"},
    };

    (void)state;
    check_strategic(cases, COUNT(cases));
}

static void a_patch_that_costs_too_much_is_refused(void **state)
{
    struct buf text = {0};
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *object = json_object();
    json_t *result = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    buf_add_text(&text, "{\"spec\":{\"containers\":[");
    for (int i = 0; i < 20; i++) {
        buf_printf(&text, "%s{\"name\":\"c%d\",\"env\":[", i > 0 ? "," : "", i);
        for (int j = 0; j < 1000; j++)
            buf_printf(&text, "%s{\"name\":\"v%d\"}", j > 0 ? "," : "", j);
        buf_add_text(&text, "]}");
    }
    buf_add_text(&text, "]}}");
    patch = read_json(text.at);
    e = patch_strategic(kind_find("", "pods"), object, patch, &result);
    assert_string_equal(err_message(e), "strategic merge patch: too many list items to compare");
    assert_null(result);
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_as_rfc_7396_says),
        cmocka_unit_test(patches_as_rfc_6902_says),
        cmocka_unit_test(a_json_patch_that_does_not_fit_changes_nothing),
        cmocka_unit_test(copies_of_a_json_patch_are_bounded),
        cmocka_unit_test(a_merge_patch_is_an_object),
        cmocka_unit_test(lists_with_a_key_are_merged),
        cmocka_unit_test(other_lists_are_replaced_and_sets_grow),
        cmocka_unit_test(the_order_is_the_patchs_with_the_servers_own_in_place),
        cmocka_unit_test(objects_are_merged_replaced_or_retained),
        cmocka_unit_test(a_patch_that_costs_too_much_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
