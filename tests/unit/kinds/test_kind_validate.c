/* test_kind_validate.c - validation of objects by schema, in Kubernetes' words */

#include <string.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"
#include "kinds/kind/value.h"
#include "test.h"

static json_t *read_json(const char *text)
{
    json_t *j = NULL;
    struct err *e = json_parse(str_of(text), &j);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

/* Decodes, sets defaults and validates, as the API does. */
static struct err *check(const char *plural, const char *text)
{
    const struct kind_context c = {.user = "ann"};
    const struct kind *k = kind_find("", plural);
    AUTO(json_freep) json_t *object = read_json(text);

    TRY(kind_decode(k, object, VALIDATION_STRICT, NULL));
    TRY(kind_default(k, object, &c));
    return kind_validate(k, object);
}

static void says_every_cause_in_kubernetes_words(void **state)
{
    static const struct {
        const char *plural;
        const char *text;
        const char *message;
    } cases[] = {
        {"pods", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"image\":\"host\"}]}}",
         "Pod \"x\" is invalid: spec.containers[0].name: Required value"},
        {"pods", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{}]}}",
         "Pod \"x\" is invalid: [spec.containers[0].name: Required value, "
         "spec.containers[0].image: Required value]"},
        {"pods", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[]}}",
         "Pod \"x\" is invalid: spec.containers: Required value"},
        {"namespaces", "{\"metadata\":{}}",
         "Namespace \"\" is invalid: metadata.name: Required value: name or generateName is "
         "required"},
        {"namespaces", "{\"metadata\":{\"name\":\"a.b\"}}",
         "Namespace \"a.b\" is invalid: metadata.name: Invalid value: \"a.b\": a lowercase RFC "
         "1123 label must consist of lower case alphanumeric characters or '-', and must start "
         "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
        {"pods",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"restartPolicy\":\"x\",\"containers\":"
         "[{\"name\":\"a\",\"image\":\"host\"}]}}",
         "Pod \"x\" is invalid: spec.restartPolicy: Unsupported value: \"x\": supported values: "
         "\"Always\", \"OnFailure\", \"Never\""},
        {"pods",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
         "\"host\",\"ports\":[{\"containerPort\":70000}]}]}}",
         "Pod \"x\" is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 70000: "
         "must be between 1 and 65535, inclusive"},
        {"pods",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"terminationGracePeriodSeconds\":-1,"
         "\"containers\":[{\"name\":\"a\",\"image\":\"host\"}]}}",
         "Pod \"x\" is invalid: spec.terminationGracePeriodSeconds: Invalid value: -1: must be "
         "greater than or equal to 0"},
        {"nodes",
         "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"No\"}]}"
         "}",
         "Node \"n\" is invalid: spec.taints[0].effect: Unsupported value: \"No\": supported "
         "values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""},
        {"configmaps", "{\"metadata\":{\"name\":\"m\"},\"data\":{\"..\":\"x\"}}",
         "ConfigMap \"m\" is invalid: data[..]: Invalid value: \"..\": must not be '..'"},
        {"configmaps",
         "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"x\"},\"binaryData\":{\"a\":\"YQ==\"}}",
         "ConfigMap \"m\" is invalid: data[a]: Invalid value: \"a\": duplicate of key present in "
         "binaryData"},
        {"secrets", "{\"metadata\":{\"name\":\"s\"},\"type\":\"kubernetes.io/tls\"}",
         "Secret \"s\" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]"},
        {"events", "{\"metadata\":{\"name\":\"e\"}}",
         "Event \"e\" is invalid: involvedObject: Required value"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = check(cases[i].plural, cases[i].text);

        if (!e)
            fail_msg("%s was accepted", cases[i].text);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 422);
    }
}

static void labels_and_annotations_are_told_of_at_their_map(void **state)
{
    AUTO(err_freep)
    struct err *label =
        check("namespaces", "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a b\":\"c\"}}}");
    AUTO(err_freep)
    struct err *value =
        check("namespaces", "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"c d\"}}}");

    (void)state;
    assert_true(text_starts_with(err_message(label),
                                 "Namespace \"x\" is invalid: metadata.labels: Invalid value: "
                                 "\"a b\": name part must consist of alphanumeric characters"));
    assert_true(text_starts_with(err_message(value),
                                 "Namespace \"x\" is invalid: metadata.labels: Invalid value: "
                                 "\"c d\": a valid label must be an empty string or consist of"));
}

static void caps_what_an_object_may_carry(void **state)
{
    AUTO(json_freep) json_t *object = read_json("{\"metadata\":{\"name\":\"x\"}}");
    json_t *metadata = json_object_get(object, "metadata");
    json_t *labels = json_object_at(metadata, "labels");
    json_t *annotations = json_object_at(metadata, "annotations");
    AUTO_FREE char *big = mem_alloc((100 << 10) + 1);
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    for (size_t i = 0; i < 100 << 10; i++)
        big[i] = 'x';
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *key = mem_format("key-%d", i);

        json_put_text(annotations, key, big);
    }
    for (int i = 0; i < 2000; i++) {
        AUTO_FREE char *key = mem_format("key-%d", i);

        json_put_text(labels, key, "v");
    }
    e = kind_validate(kind_find("", "namespaces"), object);
    assert_string_equal(err_message(e),
                        "Namespace \"x\" is invalid: [metadata.annotations: Too long: may not be "
                        "more than 262144 bytes, metadata.labels: Too many: 2000: must have at "
                        "most 1024 items]");
}

static void a_thousand_mistakes_make_a_message_that_can_be_read(void **state)
{
    AUTO(json_freep) json_t *object = read_json("{\"metadata\":{\"name\":\"x\"}}");
    json_t *data = json_object_at(object, "data");
    AUTO(json_freep) json_t *causes = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        AUTO_FREE char *key = mem_format("bad key %d", i);

        json_put_text(data, key, "v");
    }
    e = kind_validate(kind_find("", "configmaps"), object);
    causes = cause_list(e);
    assert_int_equal(json_array_size(causes), CAUSES_MAX);
    assert_true(text_ends_with(err_message(e), ", and 936 more]"));
    assert_true(strlen(err_message(e)) < 64 << 10);
}

static void errors_carry_their_causes_for_machines(void **state)
{
    AUTO(err_freep)
    struct err *e =
        check("pods", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"hostPID\":true,\"containers\":"
                      "[{\"name\":\"a\",\"image\":\"\"}]}}");
    AUTO(json_freep) json_t *causes = NULL;
    AUTO(json_freep) json_t *none = NULL;
    AUTO(err_freep) struct err *other = err_new(ERR_CONFLICT, "no causes");
    AUTO_FREE char *text = NULL;

    (void)state;
    e = err_wrap(TAKE(e), "create pod");
    causes = cause_list(e);
    none = cause_list(other);
    text = json_format(causes);
    assert_string_equal(text,
                        "[{\"reason\":\"FieldValueRequired\",\"message\":\"Required value\","
                        "\"field\":\"spec.containers[0].image\"},{\"reason\":"
                        "\"FieldValueForbidden\",\"message\":\"Forbidden: is not implemented by "
                        "mete yet\",\"field\":\"spec.hostPID\"}]");
    assert_int_equal(json_array_size(none), 0);
}

static void hostile_values_are_shown_quoted_and_cut(void **state)
{
    AUTO(json_freep) json_t *object = json_pack("{s:{s:s}}", "metadata", "name", "a\x1b[31m\"\n");
    AUTO(err_freep) struct err *e = kind_validate(kind_find("", "namespaces"), object);
    struct buf text = {0};
    AUTO(err_freep) struct err *cut = NULL;

    (void)state;
    assert_non_null(strstr(err_message(e), "Invalid value: \"a\\u001b[31m\\\"\\n\": "));
    buf_add_text(&text, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"restartPolicy\":\"");
    for (int i = 0; i < 10000; i++)
        buf_add_char(&text, 'y');
    buf_add_text(&text, "\",\"containers\":[{\"name\":\"a\",\"image\":\"host\"}]}}");
    cut = check("pods", text.at);
    assert_non_null(strstr(err_message(cut), "yyy...\": supported values: "));
    assert_true(strlen(err_message(cut)) < 1000);
    buf_done(&text);
}

static void only_the_system_sets_names_under_mete_dev(void **state)
{
    static const char before_text[] = "{\"metadata\":{\"name\":\"x\",\"labels\":"
                                      "{\"mete.dev/job-id\":\"1\",\"mete.dev/b\":\"2\"}}}";
    static const char after_text[] = "{\"metadata\":{\"name\":\"x\",\"labels\":"
                                     "{\"mete.dev/job-id\":\"2\",\"a\":\"b\"},"
                                     "\"annotations\":{\"mete.dev/devices\":\"{}\"}}}";
    const struct kind *k = kind_find("", "pods");
    const struct kind_context user = {.user = "ann"};
    const struct kind_context system = {.user = "system:node:n", .is_system = true};
    AUTO(json_freep) json_t *before = read_json(before_text);
    AUTO(json_freep) json_t *after = read_json(after_text);
    AUTO(err_freep) struct err *e = kind_check_reserved(k, before, after, &user);

    (void)state;
    assert_string_equal(err_message(e),
                        "Pod \"x\" is invalid: [metadata.labels[mete.dev/job-id]: Forbidden: names "
                        "under mete.dev/ are set by the system only, metadata.labels[mete.dev/b]: "
                        "Forbidden: names under mete.dev/ are set by the system only, "
                        "metadata.annotations[mete.dev/devices]: Forbidden: names under mete.dev/ "
                        "are set by the system only]");
    assert_null(kind_check_reserved(k, before, after, &system));
    assert_null(kind_check_reserved(k, before, before, &user));
}

static void immutable_data_stays(void **state)
{
    const struct kind *k = kind_find("", "configmaps");
    const struct kind_context c = {.user = "ann"};
    AUTO(json_freep)
    json_t *before =
        read_json("{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"},\"immutable\":true}");
    AUTO(json_freep)
    json_t *changed =
        read_json("{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"2\"},\"immutable\":true}");
    AUTO(json_freep)
    json_t *freed = read_json("{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"}}");
    AUTO(err_freep) struct err *data = k->validate_update(before, changed, &c);
    AUTO(err_freep) struct err *flag = k->validate_update(before, freed, &c);

    (void)state;
    assert_null(k->validate_update(before, before, &c));
    assert_string_equal(err_message(data), "ConfigMap \"m\" is invalid: data: Forbidden: field is "
                                           "immutable when `immutable` is set");
    assert_string_equal(err_message(flag),
                        "ConfigMap \"m\" is invalid: immutable: Forbidden: field "
                        "is immutable when `immutable` is set");
}

static void texts_of_a_secret_become_data(void **state)
{
    const struct kind *k = kind_find("", "secrets");
    const struct kind_context c = {.user = "ann"};
    AUTO(json_freep)
    json_t *object = read_json("{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"YQ==\"},"
                               "\"stringData\":{\"b\":\"text\"}}");
    AUTO(err_freep) struct err *e = kind_decode(k, object, VALIDATION_STRICT, NULL);

    (void)state;
    assert_null(e);
    e = kind_default(k, object, &c);
    assert_null(e);
    assert_string_equal(json_text_at(object, "data", "a", NULL), "YQ==");
    assert_string_equal(json_text_at(object, "data", "b", NULL), "dGV4dA==");
    assert_null(json_object_get(object, "stringData"));
    assert_string_equal(json_text(object, "type"), "Opaque");
}

static void base64_is_its_own_inverse(void **state)
{
    static const char *const texts[] = {"", "a", "ab", "abc", "abcd", "\xff\xfe\x01"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct buf coded = {0};
        struct buf again = {0};
        size_t bad = 0;

        base64_encode(str_of(texts[i]), &coded);
        assert_true(base64_check((struct str){coded.at, coded.size}, &bad));
        base64_decode((struct str){coded.at, coded.size}, &again);
        assert_true(str_equal((struct str){again.at, again.size}, str_of(texts[i])));
        buf_done(&coded);
        buf_done(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_every_cause_in_kubernetes_words),
        cmocka_unit_test(labels_and_annotations_are_told_of_at_their_map),
        cmocka_unit_test(caps_what_an_object_may_carry),
        cmocka_unit_test(a_thousand_mistakes_make_a_message_that_can_be_read),
        cmocka_unit_test(errors_carry_their_causes_for_machines),
        cmocka_unit_test(hostile_values_are_shown_quoted_and_cut),
        cmocka_unit_test(only_the_system_sets_names_under_mete_dev),
        cmocka_unit_test(immutable_data_stays),
        cmocka_unit_test(texts_of_a_secret_become_data),
        cmocka_unit_test(base64_is_its_own_inverse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
