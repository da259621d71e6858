/*
 * test_kind_affinity.c - affinity and spread of pods: accepted specs, and Kubernetes' messages for
 * others
 */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "kinds/pod/pod_rules.h"
#include "test.h"

#define REQUIRED  "\"requiredDuringSchedulingIgnoredDuringExecution\""
#define PREFERRED "\"preferredDuringSchedulingIgnoredDuringExecution\""
#define NODES(terms) \
    "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":" terms "}}}"
#define PODS(which, terms) "\"affinity\":{\"" which "\":{" REQUIRED ":" terms "}}"
#define SPREAD(list)       "\"topologySpreadConstraints\":" list
#define NODE_PATH          "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
#define POD_PATH           "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
#define CHOSEN_PATH        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"

static struct err *make(const char *spec, json_t **ret)
{
    const struct kind_context c = {.user = "ann"};
    const struct kind *k = kind_find("", "pods");
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *text = mem_format(
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{%s,\"containers\":[{\"name\":\"a\",\"image\":"
        "\"host\"}]}}",
        spec);

    TRY(json_parse(str_of(text), &pod));
    TRY(kind_decode(k, pod, VALIDATION_STRICT, NULL));
    TRY(kind_default(k, pod, &c));
    TRY(kind_validate(k, pod));
    *ret = TAKE(pod);
    return NULL;
}

static void takes_what_kubernetes_takes(void **state)
{
    static const char *const specs[] = {
        NODES("[{}]"),
        NODES("[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\","
              "\"b\"]},{\"key\":\"spot\",\"operator\":\"DoesNotExist\"},{\"key\":\"cores\","
              "\"operator\":\"Gt\",\"values\":[\"8\"]}]},{\"matchFields\":[{\"key\":"
              "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1.example.com\"]}]}]"),
        "\"affinity\":{\"nodeAffinity\":{" PREFERRED
        ":[{\"weight\":100,\"preference\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
        "\"Exists\"}]}}]},\"podAntiAffinity\":{" PREFERRED
        ":[{\"weight\":1,\"podAffinityTerm\":{\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}},"
        "\"topologyKey\":\"kubernetes.io/hostname\"}}]}}",
        PODS("podAffinity", "[{\"topologyKey\":\"zone\",\"namespaces\":[\"a\",\"b\"],"
                            "\"namespaceSelector\":{},\"labelSelector\":{\"matchExpressions\":"
                            "[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"x\"]}]},"
                            "\"matchLabelKeys\":[\"pod-template-hash\"],\"mismatchLabelKeys\":"
                            "[\"tenant\"]}]"),
        SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
               "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}},\"minDomains\":3,"
               "\"nodeAffinityPolicy\":\"Ignore\",\"nodeTaintsPolicy\":\"Honor\","
               "\"matchLabelKeys\":[\"pod-template-hash\"]},{\"maxSkew\":2,\"topologyKey\":"
               "\"zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}]"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++) {
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make(specs[i], &pod);

        if (e)
            fail_msg("%s: %s", specs[i], err_message(e));
    }
}

static const struct {
    const char *spec;
    const char *cause;
} wrong[] = {
    {NODES("[]"), NODE_PATH ".nodeSelectorTerms: Required value: must have at least one node "
                            "selector term"},
    {NODES("[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
               "specified when `operator` is 'In' or 'NotIn'"},
    {NODES("[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"b\"]}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified "
               "when `operator` is 'Exists' or 'DoesNotExist'"},
    {NODES("[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\","
           "\"2\"]}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
               "specified single value when `operator` is 'Lt' or 'Gt'"},
    {NODES("[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\",\"values\":[\"1\"]}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Like\": not a "
               "valid selector operator"},
    {NODES("[{\"matchFields\":[{\"key\":\"metadata.uid\",\"operator\":\"In\",\"values\":"
           "[\"1\"]}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"metadata.uid\": not a "
               "valid field selector key"},
    {NODES("[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"a\","
           "\"b\"]}]}]"),
     NODE_PATH ".nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one "
               "value when `operator` is 'In' or 'NotIn' for node field selector"},
    {"\"affinity\":{\"nodeAffinity\":{" PREFERRED ":[{\"weight\":0,\"preference\":{}}]}}",
     CHOSEN_PATH "[0].weight: Invalid value: 0: must be in the range 1-100"},
    {PODS("podAffinity", "[{\"labelSelector\":{}}]"),
     POD_PATH "[0].topologyKey: Required value: can not be empty"},
    {PODS("podAffinity", "[{\"topologyKey\":\"z\",\"namespaces\":[\"A b\"]}]"),
     POD_PATH "[0].namespaces[0]: Invalid value: \"A b\": "},
    {PODS("podAffinity", "[{\"topologyKey\":\"z\",\"matchLabelKeys\":[\"a\"]}]"),
     POD_PATH "[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"},
    {PODS("podAffinity", "[{\"topologyKey\":\"z\",\"matchLabelKeys\":[\"a\"],\"labelSelector\":"
                         "{\"matchLabels\":{\"a\":\"1\"}}}]"),
     POD_PATH "[0].matchLabelKeys[0]: Invalid value: \"a\": exists in both matchLabelKeys and "
              "labelSelector"},
    {PODS("podAffinity", "[{\"topologyKey\":\"z\",\"matchLabelKeys\":[\"a\"],\"mismatchLabelKeys\":"
                         "[\"a\"],\"labelSelector\":{}}]"),
     POD_PATH "[0].matchLabelKeys[0]: Invalid value: \"a\": exists in both matchLabelKeys and "
              "mismatchLabelKeys"},
    {PODS("podAffinity", "[{\"topologyKey\":\"z\",\"labelSelector\":{\"matchExpressions\":"
                         "[{\"key\":\"a\",\"operator\":\"In\"}]}}]"),
     POD_PATH "[0].labelSelector.matchExpressions[0].values: Required value: must be specified"},
    {SPREAD("[{\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\"}]"),
     "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"},
    {SPREAD("[{\"maxSkew\":1,\"whenUnsatisfiable\":\"DoNotSchedule\"}]"),
     "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty"},
    {SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"Never\"}]"),
     "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"Never\": supported "
     "values: \"DoNotSchedule\", \"ScheduleAnyway\""},
    {SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\","
            "\"minDomains\":0}]"),
     "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero"},
    {SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"ScheduleAnyway\","
            "\"minDomains\":2}]"),
     "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if "
     "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"},
    {SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\"},"
            "{\"maxSkew\":2,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\"}]"),
     "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "
     "\"{z, DoNotSchedule}\""},
    {SPREAD("[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\","
            "\"nodeTaintsPolicy\":\"Maybe\"}]"),
     "spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: \"Maybe\""},
};

static void says_what_is_wrong_as_kubernetes_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *e = make(wrong[i].spec, &pod);

        if (!e)
            fail_msg("%s was accepted", wrong[i].spec);
        if (!strstr(err_message(e), wrong[i].cause))
            fail_msg("%s", err_message(e));
        assert_int_equal(err_http(e), 422);
    }
}

static bool crosses(const char *spec)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(err_freep) struct err *e = make(spec, &pod);

    if (e)
        fail_msg("%s", err_message(e));
    return pod_crosses_namespaces(pod);
}

static void knows_which_terms_look_at_other_namespaces(void **state)
{
    (void)state;
    assert_false(crosses(PODS("podAffinity", "[{\"topologyKey\":\"z\",\"labelSelector\":{}}]")));
    assert_true(crosses(PODS("podAffinity", "[{\"topologyKey\":\"z\",\"namespaces\":[\"a\"]}]")));
    assert_true(
        crosses(PODS("podAntiAffinity", "[{\"topologyKey\":\"z\",\"namespaceSelector\":{}}]")));
    assert_true(crosses("\"affinity\":{\"podAntiAffinity\":{" PREFERRED
                        ":[{\"weight\":1,\"podAffinityTerm\":{\"topologyKey\":\"z\","
                        "\"namespaces\":[\"a\"]}}]}}"));
}

static void does_not_change_in_a_pod_that_is_there(void **state)
{
    const struct kind_context c = {.user = "ann"};
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;
    AUTO(err_freep)
    struct err *e =
        make(PODS("podAffinity", "[{\"topologyKey\":\"z\",\"labelSelector\":{}}]"), &before);
    AUTO(err_freep) struct err *refused = NULL;

    (void)state;
    assert_null(e);
    e = make(PODS("podAffinity", "[{\"topologyKey\":\"y\",\"labelSelector\":{}}]"), &after);
    assert_null(e);
    refused = pod_validate_update(before, after, &c);
    assert_non_null(refused);
    assert_non_null(strstr(err_message(refused), "spec: Forbidden: pod updates may not change"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_kubernetes_takes),
        cmocka_unit_test(says_what_is_wrong_as_kubernetes_does),
        cmocka_unit_test(knows_which_terms_look_at_other_namespaces),
        cmocka_unit_test(does_not_change_in_a_pod_that_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
