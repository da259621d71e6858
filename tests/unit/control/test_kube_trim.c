/* test_kube_trim.c - what the cluster's scheduler keeps of pods and nodes */

#include "base/mem.h"
#include "control/kube/kube_trim.h"
#include "test.h"

static void check_trim(void (*trim)(json_t *), const char *from, const char *want)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO_FREE char *text = NULL;

    assert_null(json_parse(str_of(from), &object));
    trim(object);
    text = json_format(object);
    assert_string_equal(text, want);
}

static void a_pod_keeps_what_decisions_and_reports_read(void **state)
{
    (void)state;
    check_trim(
        kube_trim_pod,
        "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"y\"}},\"spec\":{\"dnsPolicy\":"
        "\"Default\","
        "\"containers\":[{\"name\":\"m\",\"env\":[{\"name\":\"A\"}],\"ports\":[{\"hostPort\":1}],"
        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}},\"livenessProbe\":{}}],"
        "\"initContainers\":[{\"name\":\"i\",\"args\":[\"x\"],\"restartPolicy\":\"Always\"}],"
        "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}},"
        "{\"name\":\"d\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]},"
        "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"containerStatuses\":"
        "[{\"name\":\"m\",\"image\":\"i:1\",\"imageID\":\"sha256:1\",\"ready\":true}]}}",
        "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"y\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"m\",\"ports\":[{\"hostPort\":1}],"
        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}],"
        "\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"}],"
        "\"volumes\":[{\"name\":\"d\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]},"
        "\"status\":{\"phase\":\"Running\",\"containerStatuses\":"
        "[{\"name\":\"m\",\"image\":\"i:1\",\"ready\":true}]}}");
}

static void a_node_keeps_its_amounts_conditions_and_version(void **state)
{
    (void)state;
    check_trim(kube_trim_node,
               "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"taints\":[]},"
               "\"status\":{\"images\":[{\"names\":[\"x\"]}],\"allocatable\":{\"cpu\":\"8\"},"
               "\"conditions\":[{\"type\":\"Ready\"}],"
               "\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\",\"osImage\":\"x\"}}}",
               "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"taints\":[]},"
               "\"status\":{\"allocatable\":{\"cpu\":\"8\"},"
               "\"conditions\":[{\"type\":\"Ready\"}],"
               "\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}");
}

static void objects_without_these_members_stay_as_they_are(void **state)
{
    (void)state;
    check_trim(kube_trim_pod, "{\"spec\":{\"containers\":3,\"volumes\":\"x\"},\"status\":[]}",
               "{\"spec\":{\"containers\":3,\"volumes\":\"x\"},\"status\":[]}");
    check_trim(kube_trim_node, "{}", "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_keeps_what_decisions_and_reports_read),
        cmocka_unit_test(a_node_keeps_its_amounts_conditions_and_version),
        cmocka_unit_test(objects_without_these_members_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
