/*
 * test_kind_probes.c - probes, lifecycle hooks and terminationMessagePath: Kubernetes' defaults and
 * messages
 */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "test.h"

static struct err *make(const char *where, const char *part, json_t **ret)
{
    static const struct kind_context who = {.user = "ann", .host_uid = 1000};
    AUTO_FREE char *text = mem_format(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"},\"spec\":{"
        "\"initContainers\":[{\"name\":\"i\",\"image\":\"host\"%s}],"
        "\"containers\":[{\"name\":\"m\",\"image\":\"host\"%s}]}}",
        *where == 'i' ? part : "", *where == 'c' ? part : "");
    const struct kind *k = kind_find("", "pods");

    TRY(json_parse(str_of(text), ret));
    TRY(kind_decode(k, *ret, VALIDATION_STRICT, NULL));
    TRY(kind_default(k, *ret, &who));
    return kind_validate(k, *ret);
}

#define EXEC "\"exec\":{\"command\":[\"true\"]}"

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *part;
        const char *message;
    } cases[] = {
        {",\"livenessProbe\":{}", "livenessProbe: Required value: must specify a handler type"},
        {",\"livenessProbe\":{" EXEC ",\"tcpSocket\":{\"port\":1}}",
         "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"},
        {",\"livenessProbe\":{\"exec\":{}}", "livenessProbe.exec.command: Required value"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":0}}",
         "readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":\"1234567890123456\"}}",
         "readinessProbe.httpGet.port: Invalid value: \"1234567890123456\": must be no more than "
         "15 characters"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":\"80\"}}",
         "readinessProbe.httpGet.port: Invalid value: \"80\": must contain at least one letter "
         "(a-z)"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":\"a--b\"}}",
         "must not contain consecutive hyphens"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":\"-b\"}}",
         "must not begin or end with a hyphen"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":1,\"scheme\":\"ftp\"}}",
         "readinessProbe.httpGet.scheme: Unsupported value: \"ftp\": supported values: \"HTTP\", "
         "\"HTTPS\""},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":1,\"httpHeaders\":[{\"name\":\"a b\","
         "\"value\":\"\"}]}}",
         "readinessProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must "
         "consist of"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":1,\"httpHeaders\":[{\"name\":\"a\","
         "\"value\":\"b\\r\\nHost: c\"}]}}",
         "httpHeaders[0].value: Invalid value"},
        {",\"readinessProbe\":{\"httpGet\":{\"port\":1,\"host\":\"a/b@c\"}}",
         "readinessProbe.httpGet.host: Invalid value"},
        {",\"readinessProbe\":{" EXEC ",\"periodSeconds\":-1}",
         "readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"},
        {",\"readinessProbe\":{" EXEC ",\"terminationGracePeriodSeconds\":3}",
         "readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for "
         "readinessProbes"},
        {",\"livenessProbe\":{" EXEC ",\"terminationGracePeriodSeconds\":0}",
         "livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"},
        {",\"livenessProbe\":{" EXEC ",\"successThreshold\":2}",
         "livenessProbe.successThreshold: Invalid value: 2: must be 1"},
        {",\"startupProbe\":{" EXEC ",\"successThreshold\":3}",
         "startupProbe.successThreshold: Invalid value: 3: must be 1"},
        {",\"lifecycle\":{\"postStart\":{}}",
         "lifecycle.postStart: Required value: must specify a handler type"},
        {",\"lifecycle\":{\"preStop\":{\"sleep\":{\"seconds\":31}}}",
         "lifecycle.preStop.sleep.seconds: Invalid value: 31: must be non-negative and less than "
         "terminationGracePeriodSeconds (30)"},
        {",\"terminationMessagePath\":\"log\"",
         "terminationMessagePath: Invalid value: \"log\": must be the absolute path of a file"},
        {",\"terminationMessagePath\":\"/dev/../etc/passwd\"",
         "terminationMessagePath: Invalid value: \"/dev/../etc/passwd\": must not contain '..'"},
        {",\"terminationMessagePolicy\":\"Log\"",
         "terminationMessagePolicy: Unsupported value: \"Log\": supported values: \"File\", "
         "\"FallbackToLogsOnError\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make("c", cases[i].part, &pod);

        if (!e)
            fail_msg("%s was accepted", cases[i].part);
        if (!strstr(err_message(e), cases[i].message))
            fail_msg("%s: %s", cases[i].part, err_message(e));
        assert_int_equal(err_http(e), 422);
    }
}

static void init_containers_have_none(void **state)
{
    static const char *const keys[] = {"livenessProbe", "readinessProbe", "startupProbe"};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        AUTO_FREE char *part = mem_format(",\"%s\":{" EXEC "}", keys[i]);
        AUTO_FREE char *want = mem_format("spec.initContainers[0].%s: Forbidden: may not be set "
                                          "for init containers without restartPolicy=Always",
                                          keys[i]);
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make("i", part, &pod);

        assert_non_null(e);
        assert_non_null(strstr(err_message(e), want));
    }
}

static void fills_in_what_kubernetes_does(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(err_freep)
    struct err *e =
        make("c", ",\"livenessProbe\":{\"httpGet\":{\"port\":80},\"periodSeconds\":0}", &pod);
    const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
    AUTO_FREE char *text = json_format(json_object_get(container, "livenessProbe"));

    (void)state;
    assert_null(e);
    assert_string_equal(text, "{\"httpGet\":{\"port\":80,\"path\":\"/\",\"scheme\":\"HTTP\"},"
                              "\"periodSeconds\":10,\"timeoutSeconds\":1,\"successThreshold\":1,"
                              "\"failureThreshold\":3}");
    assert_string_equal(json_text(container, "terminationMessagePath"), "/dev/termination-log");
    assert_string_equal(json_text(container, "terminationMessagePolicy"), "File");
}

static void takes_what_is_right(void **state)
{
    static const char *const parts[] = {
        ",\"livenessProbe\":{\"tcpSocket\":{\"port\":\"web\"},\"terminationGracePeriodSeconds\":1}",
        ",\"readinessProbe\":{" EXEC ",\"successThreshold\":5}",
        ",\"startupProbe\":{\"httpGet\":{\"port\":1,\"scheme\":\"HTTPS\",\"host\":\"::1\"}}",
        ",\"lifecycle\":{\"postStart\":{\"sleep\":{\"seconds\":0}},\"preStop\":{" EXEC "}}",
        (",\"terminationMessagePath\":\"/dev/last\",\"terminationMessagePolicy\":"
         "\"FallbackToLogsOnError\""),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(parts); i++) {
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make("c", parts[i], &pod);

        if (e)
            fail_msg("%s: %s", parts[i], err_message(e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(init_containers_have_none),
        cmocka_unit_test(fills_in_what_kubernetes_does),
        cmocka_unit_test(takes_what_is_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
