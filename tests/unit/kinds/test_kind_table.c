/* test_kind_table.c - Tables of kubectl, kind by kind */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/kind.h"
#include "test.h"

static const int64_t now_ns = INT64_C(1000) * NS_PER_SEC; /* 1970-01-01T00:16:40Z */

static json_t *read_json(const char *text)
{
    json_t *j = NULL;
    struct err *e = json_parse(str_of(text), &j);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

static void rows_are_what_people_know_from_kubectl(void **state)
{
    static const struct {
        const char *group;
        const char *plural;
        const char *object;
        const char *cells;
    } cases[] = {
        {"", "namespaces",
         "{\"metadata\":{\"name\":\"ns\",\"creationTimestamp\":\"1970-01-01T00:15:40Z\"},"
         "\"status\":{\"phase\":\"Active\"}}",
         "[\"ns\",\"Active\",\"60s\"]"},
        {"", "configmaps",
         "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"\"},\"binaryData\":{\"b\":\"\"}}",
         "[\"m\",2,\"<unknown>\"]"},
        {"", "secrets",
         "{\"metadata\":{\"name\":\"s\",\"creationTimestamp\":\"never\"},\"type\":\"Opaque\"}",
         "[\"s\",\"Opaque\",0,\"<invalid>\"]"},
        {"", "nodes",
         "{\"metadata\":{\"name\":\"n\",\"creationTimestamp\":\"1970-01-01T00:00:00Z\",\"labels\":"
         "{\"node-role.kubernetes.io/gpu\":\"\"}},\"spec\":{\"unschedulable\":true},\"status\":"
         "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],\"addresses\":[{\"type\":"
         "\"InternalIP\",\"address\":\"10.0.0.1\"}],\"nodeInfo\":{\"kubeletVersion\":\"v1\","
         "\"osImage\":\"Debian\",\"kernelVersion\":\"6.1\"}}}",
         "[\"n\",\"Ready,SchedulingDisabled\",\"gpu\",\"16m\",\"v1\",\"10.0.0.1\",\"<none>\","
         "\"Debian\",\"6.1\",\"<unknown>\"]"},
        {"", "pods",
         "{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"1970-01-01T00:16:39Z\"},\"spec\":"
         "{\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":"
         "\"2\"}}}]},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\","
         "\"containerStatuses\":[{\"ready\":true,\"restartCount\":3,\"state\":{\"running\":{}},"
         "\"lastState\":{\"terminated\":{\"finishedAt\":\"1970-01-01T00:15:40Z\"}}}]}}",
         "[\"p\",\"1/1\",\"Running\",\"3 (60s ago)\",\"1s\",\"10.0.0.1\",\"n\",\"<none>\","
         "\"<none>\",\"2\"]"},
        {"", "pods", "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{}]}}",
         "[\"p\",\"0/1\",\"Pending\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\","
         "\"<none>\",\"0\"]"},
        {"", "events",
         "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},"
         "\"type\":\"Warning\",\"reason\":\"FailedScheduling\",\"message\":\"no room\","
         "\"firstTimestamp\":\"1970-01-01T00:00:00Z\",\"lastTimestamp\":"
         "\"1970-01-01T00:16:30Z\",\"count\":4,\"source\":{\"component\":\"mete\"}}",
         "[\"10s\",\"Warning\",\"FailedScheduling\",\"pod/p\",\"\",\"mete\",\"no room\",\"16m\",4,"
         "\"e\"]"},
        {"mete.dev", "gpus",
         "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"node\":\"n\",\"index\":1,\"model\":\"h100\","
         "\"memoryBytes\":85899345920,\"emulated\":true,\"product\":\"P\",\"pci\":\"0:1\"},"
         "\"status\":{\"health\":\"healthy\",\"holder\":{\"namespace\":\"d\",\"pod\":\"p\","
         "\"user\":\"ann\"}}}",
         "[\"g\",\"n\",1,\"h100 (emulated)\",\"81920Mi\",\"healthy\",\"d/p\",\"ann\","
         "\"<unknown>\",\"P\",\"0:1\"]"},
        {"mete.dev", "workloads",
         "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"jobId\":7,\"user\":\"ann\",\"queue\":\"q\","
         "\"gpus\":8,\"priority\":5},\"status\":{\"phase\":\"waiting\",\"reason\":{\"message\":"
         "\"needs 8\"}}}",
         "[\"w\",7,\"ann\",\"q\",\"waiting\",8,\"<unknown>\",\"needs 8\",5,\"<none>\"]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct kind *k = kind_find(cases[i].group, cases[i].plural);
        AUTO(json_freep) json_t *list = json_pack("[o]", read_json(cases[i].object));
        AUTO(json_freep) json_t *table = table_format(k, list, 5, "Metadata", now_ns);
        const json_t *row = json_array_get(json_object_get(table, "rows"), 0);
        AUTO_FREE char *cells = json_format(json_object_get(row, "cells"));

        assert_string_equal(cells, cases[i].cells);
        assert_int_equal(json_array_size(json_object_get(row, "cells")),
                         json_array_size(json_object_get(table, "columnDefinitions")));
    }
}

static void a_table_is_what_kubectl_asks_for(void **state)
{
    const struct kind *k = kind_find("", "namespaces");
    AUTO(json_freep)
    json_t *list =
        read_json("[{\"metadata\":{\"name\":\"ns\"},\"status\":{\"phase\":\"Active\"}}]");
    AUTO(json_freep) json_t *table = table_format(k, list, 42, "Metadata", now_ns);
    AUTO_FREE char *text = json_format(table);

    (void)state;
    assert_string_equal(
        text,
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":"
        "\"42\"},\"columnDefinitions\":[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\","
        "\"description\":\"The name of the namespace.\",\"priority\":0},{\"name\":\"Status\","
        "\"type\":\"string\",\"format\":\"\",\"description\":\"Active or Terminating.\","
        "\"priority\":0},{\"name\":\"Age\",\"type\":\"string\",\"format\":\"\",\"description\":"
        "\"Time since the creation.\",\"priority\":0}],\"rows\":[{\"cells\":[\"ns\",\"Active\","
        "\"<unknown>\"],\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
        "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"ns\"}}}]}");
}

static void rows_carry_as_much_of_the_object_as_asked(void **state)
{
    const struct kind *k = kind_find("", "namespaces");
    AUTO(json_freep) json_t *list = read_json("[{\"metadata\":{\"name\":\"ns\"}}]");
    AUTO(json_freep) json_t *none = table_format(k, list, 1, "None", now_ns);
    AUTO(json_freep) json_t *all = table_format(k, list, 1, "Object", now_ns);

    (void)state;
    assert_true(
        json_is_null(json_object_get(json_array_get(json_object_get(none, "rows"), 0), "object")));
    assert_ptr_equal(json_object_get(json_array_get(json_object_get(all, "rows"), 0), "object"),
                     json_array_get(list, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_people_know_from_kubectl),
        cmocka_unit_test(a_table_is_what_kubectl_asks_for),
        cmocka_unit_test(rows_carry_as_much_of_the_object_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
