/* test_pod_view.c - a pod's status as kubectl shows it */

#include "base/mem.h"
#include "kinds/pod/pod_view.h"
#include "test.h"

static json_t *read_json(const char *text)
{
    json_t *j = NULL;
    struct err *e = json_parse(str_of(text), &j);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

#define TERMINATED(code, reason) \
    "{\"state\":{\"terminated\":{\"exitCode\":" #code ",\"reason\":\"" reason "\"}}}"
#define WAITING(reason) "{\"state\":{\"waiting\":{\"reason\":\"" reason "\"}}}"
#define READY           "{\"ready\":true,\"state\":{\"running\":{}}}"

static void status_reads_as_in_kubectl(void **state)
{
    static const struct {
        const char *pod;
        const char *text;
    } cases[] = {
        {"{}", "Pending"},
        {"{\"status\":{\"phase\":\"Running\"}}", "Running"},
        {"{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}", "Evicted"},
        {"{\"status\":{\"phase\":\"Succeeded\",\"containerStatuses\":[" TERMINATED(
             0, "Completed") "]}}",
         "Completed"},
        {"{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" TERMINATED(1, "Error") "]}}",
         "Error"},
        {"{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" TERMINATED(137,
                                                                                "OOMKilled") "]}}",
         "OOMKilled"},
        {"{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" TERMINATED(3, "") "]}}",
         "ExitCode:3"},
        {"{\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":{\"signal\":9}}}]}}",
         "Signal:9"},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[" WAITING(
             "CrashLoopBackOff") "]}}",
         "CrashLoopBackOff"},
        {"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[" WAITING(
             "ContainerCreating") "]}}",
         "ContainerCreating"},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[" TERMINATED(
             0, "Completed") "," READY
                             "],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
         "Running"},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[" TERMINATED(
             0, "Completed") "," READY "]}}",
         "NotReady"},
        {"{\"spec\":{\"initContainers\":[{},{}]},\"status\":{\"initContainerStatuses\":"
         "[" TERMINATED(0, "Completed") "," WAITING("PodInitializing") "]}}",
         "Init:1/2"},
        {"{\"spec\":{\"initContainers\":[{}]},\"status\":{\"initContainerStatuses\":[" TERMINATED(
             2, "Error") "]}}",
         "Init:Error"},
        {"{\"spec\":{\"initContainers\":[{}]},\"status\":{\"initContainerStatuses\":[" WAITING(
             "CrashLoopBackOff") "]}}",
         "Init:CrashLoopBackOff"},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-11-21T08:43:00Z\"},\"status\":{\"phase\":"
         "\"Running\"}}",
         "Terminating"},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-11-21T08:43:00Z\"},\"status\":{\"phase\":"
         "\"Running\",\"reason\":\"NodeLost\"}}",
         "Unknown"},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-11-21T08:43:00Z\"},\"status\":{\"phase\":"
         "\"Failed\"}}",
         "Failed"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = read_json(cases[i].pod);
        char text[POD_STATUS_TEXT_SIZE];

        pod_status_text(pod, text);
        if (!text_equal(text, cases[i].text))
            fail_msg("%s: %s", cases[i].pod, text);
    }
}

static void quality_of_service_follows_limits(void **state)
{
    static const struct {
        const char *resources;
        const char *qos;
    } cases[] = {
        {"{}", "BestEffort"},
        {"{\"limits\":{\"nvidia.com/gpu\":\"1\"}}", "BestEffort"},
        {"{\"requests\":{\"cpu\":\"1\"}}", "Burstable"},
        {"{\"limits\":{\"cpu\":\"1\"}}", "Burstable"},
        {"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}", "Guaranteed"},
        {"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"500m\"}}",
         "Burstable"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{\"spec\":{\"containers\":[{\"resources\":%s}]}}", cases[i].resources);
        AUTO(json_freep) json_t *pod = read_json(text);

        assert_string_equal(pod_qos_class(pod), cases[i].qos);
    }
}

static void progress_counts_ready_containers_and_restarts(void **state)
{
    AUTO(json_freep)
    json_t *pod =
        read_json("{\"spec\":{\"containers\":[{},{},{}]},\"status\":{\"containerStatuses\":["
                  "{\"ready\":true,\"restartCount\":2,\"state\":{\"running\":{}},\"lastState\":"
                  "{\"terminated\":{\"finishedAt\":\"1970-01-01T00:00:05Z\"}}},"
                  "{\"ready\":true,\"restartCount\":1,\"state\":{\"waiting\":{}},\"lastState\":"
                  "{\"terminated\":{\"finishedAt\":\"1970-01-01T00:00:03Z\"}}}]}}");
    struct pod_progress p = pod_progress(pod);

    (void)state;
    assert_int_equal(p.n_containers, 3);
    assert_int_equal(p.n_ready, 1);
    assert_int_equal(p.restarts, 3);
    assert_int_equal(p.restarted_at_ns, INT64_C(5000000000));
}

static void phases_and_readiness_are_read(void **state)
{
    AUTO(json_freep) json_t *ended = read_json("{\"status\":{\"phase\":\"Succeeded\"}}");
    AUTO(json_freep)
    json_t *ready = read_json(
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
        "\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}");

    (void)state;
    assert_true(pod_is_terminal(ended));
    assert_false(pod_is_ready(ended));
    assert_false(pod_is_terminal(ready));
    assert_true(pod_is_ready(ready));
    assert_string_equal(pod_phase(ready), "Running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_reads_as_in_kubectl),
        cmocka_unit_test(quality_of_service_follows_limits),
        cmocka_unit_test(progress_counts_ready_containers_and_restarts),
        cmocka_unit_test(phases_and_readiness_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
