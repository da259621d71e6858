/* test_kind_pod.c - pods: defaults, validation, updates */

#include <string.h>

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

/* Decodes the text and sets defaults, as the API does. */
static struct err *make(const char *text, json_t **ret)
{
    const struct kind_context c = {.user = "ann"};
    const struct kind *k = kind_find("", "pods");
    AUTO(json_freep) json_t *object = read_json(text);

    TRY(kind_decode(k, object, VALIDATION_STRICT, NULL));
    TRY(kind_default(k, object, &c));
    TRY(kind_validate(k, object));
    *ret = TAKE(object);
    return NULL;
}

/* A pod "x" with these members of its spec and of its one container "a". */
static char *pod_text(const char *spec, const char *container)
{
    return mem_format("{\"metadata\":{\"name\":\"x\"},\"spec\":{%s\"containers\":[{\"name\":\"a\","
                      "\"image\":\"host\"%s}]}}",
                      spec, container);
}

static json_t *make_right(const char *spec, const char *container)
{
    AUTO_FREE char *text = pod_text(spec, container);
    json_t *pod = NULL;
    struct err *e = make(text, &pod);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return pod;
}

static void fills_in_what_kubernetes_fills_in(void **state)
{
    AUTO(json_freep)
    json_t *pod = make_right("", ",\"resources\":{\"limits\":{\"cpu\":1,\"nvidia.com/gpu\":2}}");
    AUTO(json_freep)
    json_t *want = read_json(
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
        "\"host\",\"resources\":{\"limits\":{\"cpu\":\"1\",\"nvidia.com/gpu\":\"2\"},\"requests\":"
        "{\"cpu\":\"1\",\"nvidia.com/gpu\":\"2\"}},\"terminationMessagePath\":"
        "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
        "\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
        "\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"default\",\"securityContext\":{},"
        "\"schedulerName\":\"default-scheduler\","
        "\"enableServiceLinks\":true,\"tolerations\":[{\"key\":"
        "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
        "\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":"
        "\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},\"apiVersion\":\"v1\","
        "\"kind\":\"Pod\",\"status\":{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"}}");

    (void)state;
    if (!json_equal(pod, want)) {
        AUTO_FREE char *text = json_format(pod);

        fail_msg("%s", text);
    }
}

static void the_pull_policy_follows_the_tag(void **state)
{
    static const struct {
        const char *image;
        const char *policy;
    } cases[] = {
        {"busybox", "Always"},
        {"busybox:latest", "Always"},
        {"busybox:1.36", "IfNotPresent"},
        {"registry.local:5000/a/b", "Always"},
        {"registry.local:5000/a/b:v1", "IfNotPresent"},
        {"a@sha256:00", "IfNotPresent"},
        {"host", "IfNotPresent"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"a\","
                       "\"image\":\"%s\"}]}}",
                       cases[i].image);
        AUTO(json_freep) json_t *pod = read_json(text);
        const struct kind_context c = {.user = "ann"};
        AUTO(err_freep) struct err *e = kind_default(kind_find("", "pods"), pod, &c);
        const json_t *containers = json_at(pod, "spec", "containers", NULL);

        assert_null(e);
        assert_string_equal(json_text(json_array_get(containers, 0), "imagePullPolicy"),
                            cases[i].policy);
    }
}

static void gpus_have_requests_and_limits_alike(void **state)
{
    AUTO(json_freep)
    json_t *pod =
        make_right("", ",\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"3\",\"cpu\":\"1\"}}");
    const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);

    (void)state;
    assert_string_equal(json_text_at(container, "resources", "limits", "nvidia.com/gpu", NULL),
                        "3");
    assert_null(json_at(container, "resources", "limits", "cpu", NULL));
}

static void own_tolerations_are_not_doubled(void **state)
{
    AUTO(json_freep) json_t *all = make_right("\"tolerations\":[{\"operator\":\"Exists\"}],", "");
    AUTO(json_freep)
    json_t *one = make_right(
        "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}],",
        "");

    (void)state;
    assert_int_equal(json_array_size(json_at(all, "spec", "tolerations", NULL)), 1);
    assert_int_equal(json_array_size(json_at(one, "spec", "tolerations", NULL)), 2);
}

static void refuses_by_name_what_is_not_implemented(void **state)
{
    static const struct {
        const char *spec;
        const char *container;
        const char *field;
    } cases[] = {
        {"", ",\"securityContext\":{\"procMount\":\"Unmasked\"}",
         "spec.containers[0].securityContext.procMount"},
        {"", ",\"securityContext\":{\"seLinuxOptions\":{\"level\":\"s0\"}}",
         "spec.containers[0].securityContext.seLinuxOptions"},
        {"", ",\"securityContext\":{\"appArmorProfile\":{\"type\":\"Unconfined\"}}",
         "spec.containers[0].securityContext.appArmorProfile"},
        {"", ",\"lifecycle\":{\"preStop\":{\"tcpSocket\":{\"port\":1}}}",
         "spec.containers[0].lifecycle.preStop.tcpSocket"},
        {"", ",\"restartPolicyRules\":[{}]", "spec.containers[0].restartPolicyRules"},
        {"\"hostPID\":true,", "", "spec.hostPID"},
        {"\"hostIPC\":true,", "", "spec.hostIPC"},
        {"\"securityContext\":{\"seLinuxOptions\":{\"level\":\"s0\"}},", "",
         "spec.securityContext.seLinuxOptions"},
        {"\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
         "[{\"labelSelector\":{},\"topologyKey\":\"z\",\"namespaceSelector\":{\"matchLabels\":"
         "{\"a\":\"b\"}}}]}},",
         "",
         "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
         "namespaceSelector"},
        {"", ",\"resources\":{\"limits\":{\"nvidia.com/gpumem-percentage\":1}}",
         "spec.containers[0].resources.limits[nvidia.com/gpumem-percentage]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = pod_text(cases[i].spec, cases[i].container);
        AUTO_FREE char *want =
            mem_format("%s: Forbidden: is not implemented by mete yet", cases[i].field);
        json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make(text, &pod);

        if (!e)
            fail_msg("%s was accepted", text);
        if (!strstr(err_message(e), want))
            fail_msg("%s", err_message(e));
        assert_int_equal(err_http(e), 422);
    }
}

static void accepts_what_says_nothing(void **state)
{
    AUTO(json_freep)
    json_t *pod = make_right(
        "\"hostPID\":false,\"hostNetwork\":true,\"affinity\":{},\"ephemeralContainers\":[],"
        "\"securityContext\":{\"runAsUser\":1000,\"runAsNonRoot\":true},\"os\":{\"name\":"
        "\"linux\"},\"nodeSelector\":{\"a/b\":\"c\"},",
        ",\"securityContext\":{\"privileged\":false,\"capabilities\":{},"
        "\"allowPrivilegeEscalation\":true,\"runAsGroup\":5}");

    (void)state;
    assert_true(json_bool_at(pod, "spec", "hostNetwork", NULL));
}

static const struct {
    const char *spec;
    const char *container;
    const char *cause;
} at_odds[] = {
    {"", ",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]",
     "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
    {"\"volumes\":[{\"name\":\"v\"}],",
     ",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"},{\"name\":\"v\",\"mountPath\":"
     "\"/v\"}]",
     "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/v\": must be unique"},
    {"\"volumes\":[{\"name\":\"v\"}],",
     ",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/proc/self\"}]",
     "spec.containers[0].volumeMounts[0].mountPath: Invalid value: \"/proc/self\": must not be "
     "/, nor below /proc, /sys and /dev other than /dev/shm"},
    {"", ",\"workingDir\":\"../x\"",
     "spec.containers[0].workingDir: Invalid value: \"../x\": must be an absolute path"},
    {"\"volumes\":[{\"name\":\"v\"}],",
     ",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/a/../../etc\"}]",
     "spec.containers[0].volumeMounts[0].mountPath: Invalid value: \"/a/../../etc\": must not "
     "contain '..'"},
    {"\"volumes\":[{\"name\":\"v\"},{\"name\":\"v\"}],", "",
     "spec.volumes[1].name: Duplicate value: \"v\""},
    {"\"volumes\":[{\"name\":\"v\",\"emptyDir\":{},\"secret\":{\"secretName\":\"s\"}}],", "",
     "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type"},
    {"\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"m\",\"items\":[{\"key\":\"k\","
     "\"path\":\"../../etc/passwd\"}]}}],",
     "",
     "spec.volumes[0].configMap.items[0].path: Invalid value: \"../../etc/passwd\": must not "
     "contain '..'"},
    {"\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"m\",\"items\":[{\"key\":\"k\","
     "\"path\":\"/etc/passwd\"}]}}],",
     "",
     "spec.volumes[0].secret.items[0].path: Invalid value: \"/etc/passwd\": must be a relative "
     "path"},
    {"\"initContainers\":[{\"name\":\"a\",\"image\":\"host\"}],", "",
     "spec.initContainers[0].name: Duplicate value: \"a\""},
    {"",
     ",\"env\":[{\"name\":\"A\",\"value\":\"1\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
     "\"metadata.name\"}}}]",
     "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when "
     "`value` is not empty"},
    {"", ",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.x\"}}}]",
     "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: \"spec.x\": "
     "supported values: \"metadata.name\", "},
    {"", ",\"env\":[{\"name\":\"A=B\"}]",
     "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable "
     "name"},
    {"", ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":0.5}}",
     "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
     "integer"},
    {"", ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":-1}}",
     "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"-1\": must be "
     "greater than or equal to 0"},
    {"",
     ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":2},\"requests\":"
     "{\"nvidia.com/gpu\":1}}",
     "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to "
     "nvidia.com/gpu limit of 2"},
    {"", ",\"resources\":{\"limits\":{\"cpu\":1},\"requests\":{\"cpu\":2}}",
     "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
     "to cpu limit of 1"},
    {"", ",\"resources\":{\"limits\":{\"gpu\":1}}",
     "spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be a standard "
     "resource for containers"},
    {"\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\",\"value\":\"b\"}],", "",
     "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` "
     "is 'Exists'"},
    {"\"tolerations\":[{\"operator\":\"Equal\"}],", "",
     "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when "
     "`key` is empty"},
    {"\"tolerations\":[{\"key\":\"a\",\"effect\":\"NoSchedule\",\"tolerationSeconds\":1}],", "",
     "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute'"},
    {"\"priorityClassName\":\"Gold\",", "", "spec.priorityClassName: Invalid value: \"Gold\": "},
    {"\"hostNetwork\":true,", ",\"ports\":[{\"containerPort\":80,\"hostPort\":81}]",
     "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when "
     "`hostNetwork` is true"},
    {"",
     ",\"ports\":[{\"containerPort\":1,\"hostPort\":80},{\"containerPort\":2,"
     "\"hostPort\":80}]",
     "spec.containers[0].ports[1].hostPort: Duplicate value: \"80\""},
};

static void checks_fields_against_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(at_odds); i++) {
        AUTO_FREE char *text = pod_text(at_odds[i].spec, at_odds[i].container);
        json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make(text, &pod);

        if (!e)
            fail_msg("%s was accepted", text);
        if (!strstr(err_message(e), at_odds[i].cause))
            fail_msg("%s", err_message(e));
    }
}

static struct err *update(const char *path_text)
{
    const struct kind *k = kind_find("", "pods");
    const struct kind_context c = {.user = "ann"};
    AUTO(json_freep) json_t *before = make_right("\"activeDeadlineSeconds\":100,", "");
    AUTO(json_freep) json_t *patch = read_json(path_text);
    AUTO(json_freep) json_t *after = NULL;

    TRY(patch_strategic(k, before, patch, &after));
    return k->validate_update(before, after, &c);
}

static void few_fields_of_a_pod_may_change(void **state)
{
    static const struct {
        const char *patch;
        const char *cause; /* NULL: allowed */
    } cases[] = {
        {"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL},
        {"{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"b\"}]}}", NULL},
        {"{\"spec\":{\"activeDeadlineSeconds\":50}}", NULL},
        {"{\"spec\":{\"activeDeadlineSeconds\":200}}", "must be less than or equal to previous"},
        {"{\"spec\":{\"activeDeadlineSeconds\":null}}", "must not update from a positive integer"},
        {"{\"spec\":{\"nodeName\":\"n\"}}",
         "Pod \"x\" is invalid: spec: Forbidden: pod updates may not change fields other than "
         "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
         "`spec.tolerations` (only additions to existing tolerations),"
         "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
         "negative)"},
        {"{\"spec\":{\"containers\":[{\"name\":\"b\",\"image\":\"b\"}]}}",
         "pod updates may not change"},
        {"{\"spec\":{\"tolerations\":[]}}", "existing toleration can not be modified"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = update(cases[i].patch);

        if (!e != !cases[i].cause)
            fail_msg("%s: %s", cases[i].patch, e ? err_message(e) : "was accepted");
        if (e && cases[i].cause && !strstr(err_message(e), cases[i].cause))
            fail_msg("%s", err_message(e));
    }
}

static void tolerations_may_be_added(void **state)
{
    const struct kind *k = kind_find("", "pods");
    const struct kind_context c = {.user = "ann"};
    AUTO(json_freep) json_t *before = make_right("", "");
    AUTO(json_freep) json_t *after = json_deep_copy(before);
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    (void)json_array_append_new(json_at(after, "spec", "tolerations", NULL),
                                read_json("{\"key\":\"a\",\"operator\":\"Exists\"}"));
    e = k->validate_update(before, after, &c);
    assert_null(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_in_what_kubernetes_fills_in),
        cmocka_unit_test(the_pull_policy_follows_the_tag),
        cmocka_unit_test(gpus_have_requests_and_limits_alike),
        cmocka_unit_test(own_tolerations_are_not_doubled),
        cmocka_unit_test(refuses_by_name_what_is_not_implemented),
        cmocka_unit_test(accepts_what_says_nothing),
        cmocka_unit_test(checks_fields_against_each_other),
        cmocka_unit_test(few_fields_of_a_pod_may_change),
        cmocka_unit_test(tolerations_may_be_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
