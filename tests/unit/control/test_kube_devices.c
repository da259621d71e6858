/* test_kube_devices.c - gpus of nodes and devices of pods that say only their number */

#include "base/mem.h"
#include "control/kube/kube_devices.h"
#include "kinds/pod/pod_state.h"
#include "test.h"

static json_t *tree_of(const char *text)
{
    json_t *tree = NULL;

    assert_null(json_parse(str_of(text), &tree));
    return tree;
}

/* Puts a node of so many gpus; the annotation, which the caller frees. */
static json_t *put_node(struct kube_devices *d, const char *labels, const char *resource,
                        int capacity, int allocatable)
{
    AUTO_FREE char *text = mem_format(
        "{\"metadata\":{\"name\":\"n\",\"labels\":{%s}},\"status\":{\"capacity\":{\"%s\":\"%d\"},"
        "\"allocatable\":{\"%s\":\"%d\"}}}",
        labels, resource, capacity, resource, allocatable);
    AUTO(json_freep) json_t *node = tree_of(text);
    AUTO(json_freep) json_t *told = kube_devices_put_node(d, node);
    const char *gpus = json_text_at(told, "metadata", "annotations", NODE_GPUS, NULL);

    assert_non_null(gpus);
    return tree_of(gpus);
}

/* Puts a pod; its devices as JSON, which the caller frees. */
static char *put_pod(struct kube_devices *d, const char *name, const char *node, int gpus,
                     const char *devices)
{
    AUTO_FREE char *text = mem_format(
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u-%s\"},\"spec\":{"
        "\"nodeName\":\"%s\",\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"
        "\"nvidia.com/gpu\":\"%d\"}}}]}}",
        name, name, node, gpus);
    AUTO(json_freep) json_t *pod = tree_of(text);
    AUTO(json_freep) json_t *told = NULL;

    if (devices)
        json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"), POD_DEVICES,
                      devices);
    told = kube_devices_put_pod(d, pod);
    return mem_strdup(
        text_or_empty(json_text_at(told, "metadata", "annotations", POD_DEVICES, NULL)));
}

static void names_the_gpus_of_a_number(void **state)
{
    struct kube_devices *d = kube_devices_new();
    AUTO(json_freep)
    json_t *gpus =
        put_node(d,
                 "\"nvidia.com/gpu.product\":\"NVIDIA-H100-80GB-HBM3\",\"nvidia.com/gpu.memory\":"
                 "\"81559\"",
                 "nvidia.com/gpu", 2, 2);

    (void)state;
    assert_int_equal(json_array_size(gpus), 2);
    assert_string_equal(json_text(json_array_get(gpus, 1), "uuid"), "n-gpu-1");
    assert_string_equal(json_text(json_array_get(gpus, 1), "model"), "h100");
    assert_int_equal(json_int(json_array_get(gpus, 1), "memoryBytes", 0), INT64_C(81559) << 20);
    kube_devices_free(d);
}

static void counts_what_other_schedulers_bound(void **state)
{
    struct kube_devices *d = kube_devices_new();
    AUTO(json_freep) json_t *gpus = put_node(d, "", "nvidia.com/gpu", 3, 3);
    AUTO_FREE char *mine = put_pod(d, "mine", "n", 1, "{\"containers\":{\"main\":[\"n-gpu-0\"]}}");
    AUTO_FREE char *waiting = put_pod(d, "waiting", "", 1, NULL);
    AUTO_FREE char *other = put_pod(d, "other", "n", 1, NULL);
    AUTO_FREE char *again = put_pod(d, "other", "n", 1, NULL);
    AUTO_FREE char *late = NULL;

    (void)state;
    assert_string_equal(mine, "{\"containers\":{\"main\":[\"n-gpu-0\"]}}");
    assert_string_equal(waiting, "");
    assert_string_equal(other, "{\"containers\":{\"main\":[\"n-gpu-1\"]}}");
    assert_string_equal(again, other);
    kube_devices_remove_pod(d, "ns", "mine");
    late = put_pod(d, "late", "n", 3, NULL); /* the node has no more */
    assert_string_equal(late, "{\"containers\":{\"main\":[\"n-gpu-0\",\"n-gpu-2\"]}}");
    kube_devices_free(d);
}

static void takes_free_gpus_out_of_service_first(void **state)
{
    struct kube_devices *d = kube_devices_new();
    AUTO(json_freep) json_t *before = put_node(d, "", "nvidia.com/gpu", 2, 2);
    AUTO_FREE char *held = put_pod(d, "held", "n", 1, "{\"containers\":{\"main\":[\"n-gpu-1\"]}}");
    AUTO(json_freep) json_t *after = put_node(d, "", "nvidia.com/gpu", 2, 1);

    (void)state;
    assert_string_equal(json_text(json_array_get(before, 0), "health"), "healthy");
    assert_string_equal(json_text(json_array_get(after, 0), "health"), "unhealthy");
    assert_string_equal(json_text(json_array_get(after, 1), "health"), "healthy");
    kube_devices_free(d);
}

static void deals_replicas(void **state)
{
    struct kube_devices *d = kube_devices_new();
    AUTO(json_freep)
    json_t *gpus = put_node(
        d, "\"nvidia.com/gpu.replicas\":\"2\",\"nvidia.com/gpu.sharing-strategy\":\"time-slicing\"",
        "nvidia.com/gpu", 4, 4);
    AUTO_FREE char *pod = put_pod(d, "two", "n", 2, NULL);

    (void)state;
    assert_int_equal(json_array_size(gpus), 2);
    assert_string_equal(json_text(json_array_get(gpus, 0), "mode"), "replicas");
    assert_string_equal(
        pod, "{\"containers\":{\"main\":[\"n-gpu-0/replica:2\",\"n-gpu-1/replica:2\"]}}");
    kube_devices_free(d);
}

static void promise_gpu(struct kube_devices *d, const char *gpu)
{
    const struct device devices[] = {device_whole(gpu)};
    const struct ledger_container main = {.name = "main", .devices = devices, .n_devices = 1};

    kube_devices_promise(
        d, "ns/ours",
        &(struct ledger_pod){.name = "ours", .node = "n", .containers = &main, .n_containers = 1});
}

static void names_the_gpus_of_a_binding_on_its_way_last(void **state)
{
    struct kube_devices *d = kube_devices_new();
    AUTO(json_freep) json_t *gpus = put_node(d, "", "nvidia.com/gpu", 3, 3);
    AUTO_FREE char *first = NULL;
    AUTO_FREE char *other = NULL;
    AUTO_FREE char *ours = NULL;
    AUTO_FREE char *last = NULL;

    (void)state;
    promise_gpu(d, "n-gpu-1");
    promise_gpu(d, "n-gpu-0"); /* in the place of the one before */
    first = put_pod(d, "first", "n", 1, NULL);
    assert_string_equal(first, "{\"containers\":{\"main\":[\"n-gpu-1\"]}}");
    other = put_pod(d, "other", "n", 1, NULL);
    assert_string_equal(other, "{\"containers\":{\"main\":[\"n-gpu-2\"]}}");
    ours = put_pod(d, "ours", "n", 1, "{\"containers\":{\"main\":[\"n-gpu-0\"]}}");
    assert_null(kube_devices_moved(d));
    kube_devices_remove_pod(d, "ns", "ours");
    promise_gpu(d, "n-gpu-0");
    last = put_pod(d, "last", "n", 1, NULL); /* the node has no other */
    assert_string_equal(last, "{\"containers\":{\"main\":[\"n-gpu-0\"]}}");
    kube_devices_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_gpus_of_a_number),
        cmocka_unit_test(counts_what_other_schedulers_bound),
        cmocka_unit_test(takes_free_gpus_out_of_service_first),
        cmocka_unit_test(deals_replicas),
        cmocka_unit_test(names_the_gpus_of_a_binding_on_its_way_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
