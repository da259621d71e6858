/* test_protobuf.c - protobuf bodies as kubectl sends them */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "test.h"

#define BODY(text) ((struct str){(text), sizeof(text) - 1})

/* The fields apiVersion "v1" and kind; the field raw follows. */
#define NAMESPACE "\x0a\x0f\x0a\x02v1\x12\x09Namespace"

static void reads_a_namespace_as_kubectl_sends_it(void **state)
{
    static const char body[] =
        "k8s\0" NAMESPACE "\x12\x1c\x0a\x16\x0a\x03ns1\x12\x00\x42\x00\x5a\x06\x0a\x01k\x12\x01"
        "v\x5a\x03\x0a\x01"
        "e\x12\x00\x1a\x00\x1a\x00\"\x00";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);
    AUTO_FREE char *text = object ? json_format(object) : NULL;

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(text,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                        "\"ns1\",\"labels\":{\"k\":\"v\",\"e\":\"\"}},\"spec\":{},"
                        "\"status\":{}}");
}

static void reads_a_job_as_kubectl_sends_it(void **state)
{
    static const char body[] =
        "k8s\x00\x0a\x0f\x0a\x08\x62\x61tch/v1\x12\x03Job\x12g\x0a\x07\x0a\x01j\x12\x00"
        "\x42\x00\x12Z\x08\x00\x38\x00\x32T\x0a\x02\x42\x00\x12N\x0a\x07\x0a\x01v\x12\x02"
        "\x12\x00\x0a\x0a\x0a\x01n\x12\x05:\x03\x0a\x01s\x12\x33\x0a\x04main\x12\x04host"
        "\x1a\x01\x61\x1a\x00\x32\x06\x0a\x00\x10\x00\x18PR\x18\x0a\x12\x12\x10\x0a\x00"
        "\x12\x0a\x08\x01\x10\x00\x1a\x04http\x1a\x00\x10\x00\x18\x00\x1a\x00X\x00\x1a"
        "\x00\x1a\x00\x22\x00";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);
    AUTO_FREE char *text = object ? json_format(object) : NULL;

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(
        text,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},\"spec\":{"
        "\"parallelism\":0,\"backoffLimit\":0,\"template\":{\"metadata\":{},\"spec\":{\"volumes\":["
        "{\"name\":\"v\",\"emptyDir\":{}},{\"name\":\"n\",\"nfs\":{\"server\":\"s\"}}],"
        "\"containers\":[{"
        "\"name\":\"main\",\"image\":\"host\",\"command\":[\"a\",\"\"],\"ports\":[{"
        "\"containerPort\":80}],\"livenessProbe\":{\"httpGet\":{\"port\":\"http\"}}}]}}},"
        "\"status\":{}}");
}

static void reads_delete_options(void **state)
{
    static const char body[] = "k8s\0"
                               "\x0a\x13\x0a\x02v1\x12\x0d"
                               "DeleteOptions"
                               "\x12\x1a\x08\x1e\x12\x03\x0a\x01u\x18\x00\x22\x0a"
                               "Background\x2a\x03"
                               "All";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);
    AUTO_FREE char *text = object ? json_format(object) : NULL;

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(text, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
                              "\"gracePeriodSeconds\":30,\"preconditions\":{\"uid\":\"u\"},"
                              "\"orphanDependents\":false,\"propagationPolicy\":\"Background\","
                              "\"dryRun\":[\"All\"]}");
}

static void reads_a_quota_and_a_priority_class(void **state)
{
    static const char quota[] = "k8s\0"
                                "\x0a\x13\x0a\x02v1\x12\x0dResourceQuota\x12j\x0a\x03\x0a\x01q\x12"
                                "a\x0a\x0b"
                                "\x0a\x04pods\x12\x03\x0a\x01"
                                "4\x0a\x1f\x0a\x17requests.nvidia.com/gpu\x12"
                                "\x04\x0a\x02"
                                "10\x12\x0eNotTerminating\x1a!\x0a\x1f\x0a\x0dPriorityClass\x12"
                                "\x02In\x1a\x04gold\x1a\x04iron\x1a\x00";
    static const char class[] =
        "k8s\0"
        "\x0a%\x0a\x14scheduling.k8s.io/v1\x12\x0dPriorityClass\x12#\x0a\x06\x0a"
        "\x04gold\x10\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01\x22\x05"
        "fir"
        "st*\x05Never";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *other = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *more = NULL;
    struct err *e = protobuf_decode(BODY(quota), &object);

    (void)state;
    assert_null(e);
    text = json_format(object);
    assert_string_equal(
        text, "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"q\"},"
              "\"spec\":{\"hard\":{\"pods\":\"4\",\"requests.nvidia.com/gpu\":\"10\"},\"scopes\":["
              "\"NotTerminating\"],\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
              "\"PriorityClass\",\"operator\":\"In\",\"values\":[\"gold\",\"iron\"]}]}},"
              "\"status\":{}}");
    e = protobuf_decode(BODY(class), &other);
    assert_null(e);
    more = json_format(other);
    assert_string_equal(more,
                        "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\","
                        "\"metadata\":{\"name\":\"gold\"},\"value\":-5,\"globalDefault\":true,"
                        "\"description\":\"first\",\"preemptionPolicy\":\"Never\"}");
}

static void bytes_become_base64(void **state)
{
    static const char body[] = "k8s\0"
                               "\x0a\x0c\x0a\x02v1\x12\x06Secret"
                               "\x12\x09\x12\x07\x0a\x01k\x12\x02\x00\xff";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(json_text_at(object, "data", "k", NULL), "AP8=");
}

/* Go's pointers distinguish an empty text from no text; times of leases have microseconds. */
static void reads_a_lease(void **state)
{
    static const char body[] = "k8s\0\x0a\x1f\x0a\x16"
                               "coordination.k8s.io/v1\x12\x05Lease\x12\x14\x0a\x03\x0a\x01l\x12"
                               "\x0d\x0a\x00\x22\x07\x08\x05\x10\x95\x9a\xef\x3a\x28\x00";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);
    AUTO_FREE char *text = object ? json_format(object) : NULL;

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(text, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                              "\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"\","
                              "\"renewTime\":\"1970-01-01T00:00:05.123456Z\","
                              "\"leaseTransitions\":0}}");
}

/* exitCodes.values of a Job, as one field of several numbers. */
static void reads_packed_numbers(void **state)
{
    static const char body[] = "k8s\0\x0a\x0f\x0a\x08"
                               "batch/v1\x12\x03Job\x12\x0f\x12\x0d\x5a\x0b"
                               "\x0a\x09\x12\x07\x12\x00\x1a\x03\x01\x80\x01";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);
    AUTO_FREE char *text = NULL;

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    text = json_format(json_at(object, "spec", "podFailurePolicy", NULL));
    assert_string_equal(text,
                        "{\"rules\":[{\"onExitCodes\":{\"operator\":\"\",\"values\":[1,128]}}]}");
}

/* `inner` as the field `tag` of a message. */
static void wrap(struct buf *inner, char tag)
{
    struct buf outer = {0};
    size_t size = inner->size;

    buf_add_char(&outer, tag);
    for (; size > 0x7f; size >>= 7)
        buf_add_char(&outer, (char)(size | 0x80));
    buf_add_char(&outer, (char)size);
    buf_add(&outer, inner->at, inner->size);
    buf_done(inner);
    *inner = outer;
}

/* Decodes `raw` as an object of that type. Returns the error's message, which the caller frees. */
static char *error_of(struct buf *raw, const char *version, const char *kind)
{
    struct buf body = {0};
    struct buf part = {0};
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = NULL;

    buf_add_text(&part, kind);
    wrap(&part, 0x12);
    buf_add_text(&body, version);
    wrap(&body, 0x0a);
    buf_add(&body, part.at, part.size);
    wrap(&body, 0x0a);
    wrap(raw, 0x12);
    buf_clear(&part);
    buf_add(&part, "k8s", 4);
    buf_add(&part, body.at, body.size);
    buf_add(&part, raw->at, raw->size);
    e = protobuf_decode((struct str){part.at, part.size}, &object);
    buf_done(&part);
    buf_done(&body);
    return mem_strdup(e ? err_message(e) : "");
}

/* A CompositePodGroupTemplate holds others of its type. */
static void messages_nest_to_a_depth(void **state)
{
    struct buf raw = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    for (int i = 0; i < 40; i++)
        wrap(&raw, 0x4a);
    wrap(&raw, 0x1a);
    wrap(&raw, 0x12);
    text = error_of(&raw, "scheduling.k8s.io/v1beta1", "Workload");
    assert_string_equal(text, "protobuf: nested deeper than 32");
    buf_done(&raw);
}

/* metadata.managedFields[0].fieldsV1: JSON inside of protobuf. */
static void json_inside_nests_to_a_depth(void **state)
{
    struct buf raw = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    buf_add(&raw, "\x8a\x01", 2); /* field 17, of two bytes */
    buf_add(&raw, "\x56\x3a\x54\x0a\x52", 5);
    buf_add(&raw, "\x5b", 1);
    for (int i = 0; i < 80; i++)
        buf_add_text(&raw, i < 40 ? "[" : "]");
    buf_add_text(&raw, "]");
    wrap(&raw, 0x0a);
    text = error_of(&raw, "v1", "ConfigMap");
    assert_string_equal(text, "protobuf: fieldsV1: nested deeper than 32");
    buf_done(&raw);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        struct str body;
        const char *message;
    } cases[] = {
        {BODY(""), "protobuf: the body does not begin with \"k8s\\0\""},
        {BODY("{}"), "protobuf: the body does not begin with \"k8s\\0\""},
        {BODY("k8s\0\x0a"), "protobuf: the body ends inside a field"},
        {BODY("k8s\0\x0a\x7f"), "protobuf: the body ends inside a field"},
        {BODY("k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         "protobuf: a number of more than ten bytes"},
        {BODY("k8s\0\x0b"), "protobuf: wire type 3"},
        {BODY("k8s\0\x02\x00"), "protobuf: field number 0"},
        {BODY("k8s\0" NAMESPACE "\x12\x02\x08\x01"), "protobuf: metadata: wire type 0"},
        {BODY("k8s\0" NAMESPACE "\x12\x05\x0a\x03\x0a\x01\xff"),
         "protobuf: name: not UTF-8, or with a NUL"},
        {BODY("k8s\0" NAMESPACE "\x12\x05\x0a\x03\x0a\x01\x00"),
         "protobuf: name: not UTF-8, or with a NUL"},
        {BODY("k8s\0\x0a\x05\x12\x03Pod"), "protobuf: no decoder for \"Pod\": want a body in JSON"},
        {BODY("k8s\0"), "protobuf: no decoder for \"\": want a body in JSON"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *object = NULL;
        AUTO(err_freep) struct err *e = protobuf_decode(cases[i].body, &object);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 400);
        assert_null(object);
    }
}

static void fields_that_are_not_known_are_skipped(void **state)
{
    static const char body[] = "k8s\0" NAMESPACE "\x12\x18\x0a\x03\x0a\x01x\xf8\x01\x05\x81\x02"
                               "12345678\x85\x02"
                               "1234";
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = protobuf_decode(BODY(body), &object);

    (void)state;
    if (e)
        fail_msg("%s", err_message(e));
    assert_string_equal(json_text_at(object, "metadata", "name", NULL), "x");
}

static void a_body_of_nothing_but_fields_is_cut_off(void **state)
{
    struct buf body = {0};
    json_t *object = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    buf_add(&body, "k8s\0" NAMESPACE, 4 + sizeof(NAMESPACE) - 1);
    buf_add(&body, "\x12\x80\x80\x10", 4); /* raw of 256 KiB: empty specs */
    for (int i = 0; i < 128 << 10; i++)
        buf_add(&body, "\x12\x00", 2);
    e = protobuf_decode((struct str){body.at, body.size}, &object);
    assert_non_null(e);
    assert_int_equal(err_http(e), 413);
    buf_done(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_namespace_as_kubectl_sends_it),
        cmocka_unit_test(reads_a_job_as_kubectl_sends_it),
        cmocka_unit_test(reads_delete_options),
        cmocka_unit_test(reads_a_quota_and_a_priority_class),
        cmocka_unit_test(bytes_become_base64),
        cmocka_unit_test(reads_a_lease),
        cmocka_unit_test(reads_packed_numbers),
        cmocka_unit_test(messages_nest_to_a_depth),
        cmocka_unit_test(json_inside_nests_to_a_depth),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(fields_that_are_not_known_are_skipped),
        cmocka_unit_test(a_body_of_nothing_but_fields_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
