/* test_autoscale.c - looks at autoscalers, over objects, with samples that the test makes up */

#include "client/node_stats.h"
#include "control/autoscale/autoscale.h"
#include "control/cluster.h"
#include "test.h"
#include "world.h"

enum {
    PODS = 4,
    SECOND = 1000000000
};

/* The target: a ReplicationController "web" whose pods the test makes. */
struct autoscale_world {
    struct world w;
    struct cluster *cluster;
    struct events *events;
    struct autoscale *loop;
    char uids[PODS][STATS_TEXT_SIZE];
    struct container_sample samples[PODS];
};

static const struct container_sample *load_of(const void *arg, const char *node, const char *uid,
                                              size_t i, int64_t *ret_at_ns)
{
    const struct autoscale_world *a = arg;

    assert_string_equal(node, "n1");
    *ret_at_ns = loop_wall_ns(a->w.loop);
    for (size_t k = 0; k < PODS; k++)
        if (i == 0 && text_equal(a->uids[k], uid) && a->samples[k].load.cpu_nano >= 0)
            return &a->samples[k];
    return NULL;
}

static const struct target web = {.kind = "replicationcontrollers", .ns = "default", .name = "web"};
static const struct target hpa = {
    .group = "autoscaling", .kind = "horizontalpodautoscalers", .ns = "default", .name = "web"};

static void autoscale_world_init(struct autoscale_world *a)
{
    struct autoscale_options o = {.samples = {.container_load = load_of, .arg = a}};

    *a = (struct autoscale_world){0};
    world_init(&a->w, 1);
    a->cluster = cluster_store_new(a->w.store, a->w.objects);
    a->events = events_new(a->w.loop, a->cluster);
    o.loop = a->w.loop;
    o.objects = a->w.objects;
    o.events = a->events;
    world_must(autoscale_new(&o, &a->loop));
    world_add_node(&a->w, "n1", 0);
}

static void autoscale_world_done(struct autoscale_world *a)
{
    autoscale_free(a->loop);
    events_free(a->events);
    cluster_free(a->cluster);
    world_done(&a->w);
}

static void add_target(struct autoscale_world *a, int replicas)
{
    AUTO_FREE char *text =
        mem_format("{'metadata': {'name': 'web'}, 'spec': {'replicas': %d, 'selector': {'app': "
                   "'web'}, 'template': {'metadata': {'labels': {'app': 'web'}}, 'spec': "
                   "{'containers': [{'name': 'main', 'image': 'host'}]}}}}",
                   replicas);

    world_must(world_create(&a->w, web, text, NULL));
}

/* A running pod of the target that requests half a cpu and uses `cpu_milli` (-1: not known). */
static void add_pod(struct autoscale_world *a, size_t i, int64_t cpu_milli)
{
    AUTO_FREE char *name = mem_format("web-%zu", i);
    AUTO_FREE char *text = mem_format(
        "{'metadata': {'name': '%s', 'labels': {'app': 'web'}}, 'spec': {'containers': [{'name': "
        "'main', 'image': 'host', 'command': ['x'], 'resources': {'requests': {'cpu': '500m'}}}]}}",
        name);
    const struct target pod = {.kind = "pods", .ns = "default", .name = name};
    const struct target status = {
        .kind = "pods", .ns = "default", .name = name, .sub = "status", .who = &ours};
    AUTO(json_freep) json_t *made = NULL;

    world_must(world_create(&a->w, pod, text, &made));
    world_must(world_bind(&a->w, "default", name, "n1"));
    world_must(world_patch(&a->w, status,
                           "{'status': {'phase': 'Running', 'startTime': '2020-01-01T00:00:00Z', "
                           "'conditions': [{'type': 'Ready', 'status': 'True', "
                           "'lastTransitionTime': '2020-01-01T00:00:05Z'}]}}",
                           NULL));
    (void)snprintf(a->uids[i], sizeof(a->uids[i]), "%s",
                   json_text_at(made, "metadata", "uid", NULL));
    a->samples[i] =
        (struct container_sample){.name = "main",
                                  .load = {.cpu_nano = cpu_milli < 0 ? -1 : cpu_milli * 1000000,
                                           .memory_bytes = 1 << 20,
                                           .window_ns = 10 * (int64_t)SECOND}};
}

static void add_autoscaler(struct autoscale_world *a, const char *metrics)
{
    AUTO_FREE char *text =
        mem_format("{'apiVersion': 'autoscaling/v2', 'metadata': {'name': 'web'}, 'spec': "
                   "{'scaleTargetRef': {'apiVersion': 'v1', 'kind': 'ReplicationController', "
                   "'name': 'web'}, 'maxReplicas': 4, 'metrics': [%s]}}",
                   metrics);

    world_must(world_create(&a->w, hpa, text, NULL));
}

#define CPU                                                                              \
    "{'type': 'Resource', 'resource': {'name': 'cpu', 'target': {'type': 'Utilization'," \
    "'averageUtilization': 50}}}"

static void pass(struct autoscale_world *a, int seconds)
{
    for (int i = 0; i < seconds; i++)
        sim_loop_advance(a->w.loop, SECOND);
}

static void assert_replicas(struct autoscale_world *a, int64_t want)
{
    AUTO(json_freep) json_t *object = world_get(&a->w, web);

    assert_int_equal(json_int_at(object, "spec", "replicas", NULL), want);
}

static void assert_condition(struct autoscale_world *a, const char *type, const char *reason,
                             const char *message)
{
    AUTO(json_freep) json_t *object = world_get(&a->w, hpa);
    const json_t *conditions = json_at(object, "status", "conditions", NULL);
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(conditions); i++)
        if (text_equal(json_text(json_array_get(conditions, i), "type"), type))
            found = json_array_get(conditions, i);
    assert_non_null(found);
    assert_string_equal(json_text(found, "reason"), reason);
    if (message)
        assert_string_equal(json_text(found, "message"), message);
}

static void follows_the_cpu_of_the_pods(void **state)
{
    struct autoscale_world a;
    AUTO(json_freep) json_t *object = NULL;
    const json_t *current;

    (void)state;
    autoscale_world_init(&a);
    add_target(&a, 2);
    add_pod(&a, 0, 400);
    add_pod(&a, 1, 300);
    add_autoscaler(&a, CPU);
    pass(&a, 1);
    assert_replicas(&a, 3); /* 70 % of a target of 50 % */
    assert_condition(&a, "AbleToScale", "SucceededRescale", NULL);
    assert_condition(&a, "ScalingActive", "ValidMetricFound",
                     "the HPA was able to successfully calculate a replica count from cpu resource "
                     "utilization (percentage of request)");
    object = world_get(&a.w, hpa);
    current = json_at(object, "status", "currentMetrics", NULL);
    current = json_at(json_array_get(current, 0), "resource", "current", NULL);
    assert_int_equal(json_int(current, "averageUtilization", -1), 70);
    assert_string_equal(json_text(current, "averageValue"), "350m");
    a.samples[0].load.cpu_nano = 0;
    a.samples[1].load.cpu_nano = 0;
    pass(&a, 60);
    assert_replicas(&a, 3); /* for five minutes */
    assert_condition(&a, "AbleToScale", "ScaleDownStabilized", NULL);
    pass(&a, 300);
    assert_replicas(&a, 1);
    autoscale_world_done(&a);
}

static void a_pod_without_a_sample_keeps_the_target_from_shrinking(void **state)
{
    struct autoscale_world a;

    (void)state;
    autoscale_world_init(&a);
    add_target(&a, 2);
    add_pod(&a, 0, 200);
    add_pod(&a, 1, -1);
    add_autoscaler(&a, CPU);
    pass(&a, 400);
    assert_replicas(&a, 2); /* the other pod counts as using all that it requests */
    a.samples[0].load.cpu_nano = -1;
    pass(&a, 20);
    assert_condition(&a, "ScalingActive", "FailedGetResourceMetric",
                     "the HPA was unable to compute the replica count: failed to get cpu "
                     "utilization: unable to get metrics for resource cpu: no metrics returned "
                     "from resource metrics API");
    assert_replicas(&a, 2);
    autoscale_world_done(&a);
}

static void a_metric_that_cannot_be_had_allows_more_pods_and_not_fewer(void **state)
{
    struct autoscale_world a;

    (void)state;
    autoscale_world_init(&a);
    add_target(&a, 2);
    add_pod(&a, 0, 0);
    add_pod(&a, 1, 0);
    add_autoscaler(&a, CPU ", {'type': 'External', 'external': {'metric': {'name': 'jobs'}, "
                           "'target': {'type': 'Value', 'value': '5'}}}");
    pass(&a, 400);
    assert_replicas(&a, 2);
    assert_condition(&a, "ScalingActive", "FailedGetExternalMetric",
                     "the HPA was unable to compute the replica count: unable to get external "
                     "metric jobs: Mete serves no metrics of type External");
    a.samples[0].load.cpu_nano = a.samples[1].load.cpu_nano = INT64_C(500000000);
    pass(&a, 20);
    assert_replicas(&a, 4);
    autoscale_world_done(&a);
}

static void a_stopped_target_stays_stopped(void **state)
{
    struct autoscale_world a;

    (void)state;
    autoscale_world_init(&a);
    add_target(&a, 0);
    add_autoscaler(&a, CPU);
    pass(&a, 60);
    assert_replicas(&a, 0);
    assert_condition(&a, "ScalingActive", "ScalingDisabled", NULL);
    world_must(world_patch(&a.w, web, "{'spec': {'replicas': 9}}", NULL));
    pass(&a, 20);
    assert_replicas(&a, 4);
    world_must(world_delete(&a.w, web, NULL, NULL));
    pass(&a, 20);
    assert_condition(&a, "AbleToScale", "FailedGetScale",
                     "the HPA controller was unable to get the target's current scale: "
                     "replicationcontrollers \"web\" not found");
    autoscale_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_cpu_of_the_pods),
        cmocka_unit_test(a_pod_without_a_sample_keeps_the_target_from_shrinking),
        cmocka_unit_test(a_metric_that_cannot_be_had_allows_more_pods_and_not_fewer),
        cmocka_unit_test(a_stopped_target_stays_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
