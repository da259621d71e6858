/* test_scheduler.c - the scheduler through objects: placement, ledger, reasons, restarts */

#include "base/arena.h"
#include "base/mem.h"
#include "control/control.h"
#include "control/events.h"
#include "control/report/views.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct world w;
static struct control *control;
static struct cluster *cluster; /* late; NULL: the store's own */

static void start(void)
{
    struct control_options options = {.loop = w.loop, .store = w.store, .objects = w.objects};

    cluster = sched_world_cluster(&w);
    options.cluster = cluster;
    world_must(control_new(&options, &control));
    sim_loop_run(w.loop);
}

static void stop(void)
{
    control_free(control);
    control = NULL;
    cluster_free(cluster);
    cluster = NULL;
}

static int setup(void **state)
{
    (void)state;
    world_init(&w, 7);
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    world_must(ledger_check(w.store));
    world_done(&w);
    return 0;
}

static void beat(const char *name)
{
    world_must(world_patch(
        &w, (struct target){.kind = "nodes", .name = name, .sub = "status", .who = &ours},
        "{'status':{'allocatable':{'cpu':'8','memory':'16Gi','pods':'20','nvidia.com/gpu':'8'},"
        "'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime':'2026-01-01T00:00:01Z'}]"
        "}}",
        NULL));
}

static void add_node(const char *name, int gpus)
{
    world_add_node(&w, name, gpus);
    beat(name);
    sim_loop_run(w.loop);
}

static void add_pod(const char *name, int gpus)
{
    world_must(world_add_pod(&w, "default", name, gpus));
    sim_loop_run(w.loop);
}

static json_t *get_pod(const char *name)
{
    return world_get(&w, (struct target){.kind = "pods", .name = name});
}

/* Borrowed from `pod`; "": the pod waits. */
static const char *node_of(const json_t *pod)
{
    return pod_node(pod);
}

static void assert_on(const char *name, const char *node)
{
    AUTO(json_freep) json_t *pod = get_pod(name);

    assert_non_null(pod);
    assert_string_equal(node_of(pod), node);
}

static void assert_waits(const char *name, const char *message)
{
    AUTO(json_freep) json_t *pod = get_pod(name);
    const json_t *condition = object_condition(pod, "PodScheduled");

    assert_string_equal(node_of(pod), "");
    assert_string_equal(json_text(condition, "status"), "False");
    assert_string_equal(json_text(condition, "reason"), "Unschedulable");
    assert_string_equal(json_text(condition, "message"), message);
}

/* Ends the pod as its node does. */
static void end_pod(const char *name, const char *phase)
{
    AUTO_FREE char *text = mem_format("{'status':{'phase':'%s'}}", phase);

    world_must(world_patch(
        &w, (struct target){.kind = "pods", .name = name, .sub = "status", .who = &ours}, text,
        NULL));
    sim_loop_run(w.loop);
}

static void a_pod_gets_its_node_and_its_gpus(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *holder = NULL;

    (void)state;
    add_node("a", 2);
    add_pod("one", 1);
    pod = get_pod("one");
    assert_string_equal(node_of(pod), "a");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL),
                        "{\"containers\":{\"main\":[\"GPU-a-1\"]}}");
    holder = ledger_holder(w.store, "GPU-a-1");
    assert_string_equal(holder, "default/one");
}

static void a_pod_without_gpus_is_placed_too(void **state)
{
    (void)state;
    add_node("a", 0);
    add_pod("none", 0);
    assert_on("none", "a");
}

static void gpus_are_dealt_to_containers_in_order_and_init_containers_share_them(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_node("a", 4);
    world_must(world_create(
        &w, (struct target){.kind = "pods"},
        "{'metadata':{'name':'p'},'spec':{"
        "'initContainers':[{'name':'i','image':'host','resources':{'limits':{'nvidia.com/"
        "gpu':'2'}}}],"
        "'containers':[{'name':'m','image':'host','resources':{'limits':{'nvidia.com/gpu':'1'}}},"
        "{'name':'n','image':'host'},"
        "{'name':'o','image':'host','resources':{'limits':{'nvidia.com/gpu':'2'}}}]}}",
        NULL));
    sim_loop_run(w.loop);
    pod = get_pod("p");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL),
                        "{\"containers\":{\"i\":[\"GPU-a-3\",\"GPU-a-2\"],\"m\":[\"GPU-a-3\"],"
                        "\"o\":[\"GPU-a-2\",\"GPU-a-1\"]}}");
}

static void one_that_waits_says_why_and_starts_when_another_ends(void **state)
{
    (void)state;
    add_node("a", 2);
    add_pod("first", 2);
    add_pod("second", 2);
    assert_waits("second", "needs 2 gpus; none of 2 is free");
    end_pod("first", "Succeeded");
    assert_on("second", "a");
}

static void one_that_can_never_fit_says_so(void **state)
{
    (void)state;
    add_pod("early", 1);
    assert_waits("early", "there are no nodes");
    add_node("a", 2);
    assert_on("early", "a");
    add_pod("large", 3);
    assert_waits("large", "needs 3 gpus on one node; the largest has 2 (a)");
}

static void a_cordoned_node_is_the_reason_until_it_is_uncordoned(void **state)
{
    const struct target node = {.kind = "nodes", .name = "a", .who = &root};

    (void)state;
    add_node("a", 1);
    world_must(world_patch(&w, node, "{'spec':{'unschedulable':true}}", NULL));
    add_pod("p", 1);
    assert_waits("p", "needs 1 gpu; fits only on a, which is cordoned");
    world_must(world_patch(&w, node, "{'spec':{'unschedulable':null}}", NULL));
    sim_loop_run(w.loop);
    assert_on("p", "a");
}

static void a_taint_keeps_off_those_who_do_not_tolerate_it(void **state)
{
    const struct target node = {.kind = "nodes", .name = "a", .who = &root};

    (void)state;
    add_node("a", 1);
    world_must(world_patch(
        &w, node, "{'spec':{'taints':[{'key':'dedicated','value':'ml','effect':'NoSchedule'}]}}",
        NULL));
    add_pod("p", 0);
    assert_waits("p", "does not tolerate the taint dedicated=ml:NoSchedule (a)");
    world_must(world_create(
        &w, (struct target){.kind = "pods"},
        "{'metadata':{'name':'q'},'spec':{'tolerations':[{'key':'dedicated','operator':'Exists'}],"
        "'containers':[{'name':'main','image':'host'}]}}",
        NULL));
    sim_loop_run(w.loop);
    assert_on("q", "a");
}

/* Sums that overflow, and more host ports than are counted. */
static void what_no_node_can_ever_have_waits_with_a_reason(void **state)
{
    AUTO(buf_done) struct buf ports = {0};

    (void)state;
    add_node("a", 2);
    world_must(world_create(
        &w, (struct target){.kind = "pods"},
        "{'metadata':{'name':'p'},'spec':{'containers':["
        "{'name':'x','image':'host','resources':{'limits':{'nvidia.com/gpu':'9e15'}}},"
        "{'name':'y','image':'host','resources':{'limits':{'nvidia.com/gpu':'9e15'}}}]}}",
        NULL));
    sim_loop_run(w.loop);
    assert_waits("p", "needs 16384 gpus on one node; the largest has 2 (a)");
    buf_add_text(&ports, "{'metadata':{'name':'q'},'spec':{'containers':[{'name':'x',"
                         "'image':'host','ports':[");
    for (int i = 1; i <= 65; i++)
        buf_printf(&ports, "%s{'containerPort':%d,'hostPort':%d}", i > 1 ? "," : "", i, i);
    buf_add_text(&ports, "]}]}}");
    world_must(world_create(&w, (struct target){.kind = "pods"}, ports.at, NULL));
    sim_loop_run(w.loop);
    assert_waits("q", "needs 1 mete.dev/too-many-host-ports on one node; the largest has 0 (a)");
}

static void another_schedulers_pods_are_left_alone_and_counted_once_bound(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_node("a", 2);
    world_must(world_create(&w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'theirs'},'spec':{'schedulerName':'other','"
                            "containers':[{'name':'main',"
                            "'image':'host','resources':{'limits':{'nvidia.com/gpu':'2'}}}]}}",
                            NULL));
    sim_loop_run(w.loop);
    pod = get_pod("theirs");
    assert_string_equal(node_of(pod), "");
    assert_waits("theirs", "waits for the scheduler 'other', which its schedulerName names; Mete "
                           "places pods of default-scheduler, mete, volcano, "
                           "scheduler-plugins-scheduler, kai-scheduler, koord-scheduler");
    world_must(world_bind(&w, "default", "theirs", "a"));
    add_pod("ours", 1);
    assert_waits("ours", "needs 1 gpu; none of 2 is free");
    end_pod("theirs", "Failed");
    assert_on("ours", "a");
}

static void what_another_scheduler_says_is_left_alone(void **state)
{
    (void)state;
    add_node("a", 2);
    world_must(world_create(&w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'p'},'spec':{'schedulerName':'other','"
                            "containers':[{'name':'main','image':'host'}]}}",
                            NULL));
    sim_loop_run(w.loop);
    world_must(
        world_patch(&w, (struct target){.kind = "pods", .name = "p", .sub = "status", .who = &ours},
                    "{'status':{'conditions':[{'type':'PodScheduled','status':'False','reason':"
                    "'Unschedulable','message':'0/1 nodes are available'}]}}",
                    NULL));
    stop();
    start();
    sim_loop_advance(w.loop, 60 * NS_PER_SEC);
    assert_waits("p", "0/1 nodes are available");
}

static void pods_of_schedulers_whose_manifests_are_taken_are_placed(void **state)
{
    static const char *const names[] = {"volcano", "kai-scheduler", "koord-scheduler",
                                        "scheduler-plugins-scheduler"};

    (void)state;
    add_node("a", 2);
    for (size_t i = 0; i < COUNT(names); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'p%zu'},'spec':{'schedulerName':"
                                          "'%s','containers':[{'name':'m','image':'host'}]}}",
                                          i, names[i]);
        AUTO_FREE char *name = mem_format("p%zu", i);

        world_must(world_create(&w, (struct target){.kind = "pods"}, text, NULL));
        sim_loop_run(w.loop);
        assert_on(name, "a");
    }
}

static void a_bound_pod_is_still_held_after_a_restart(void **state)
{
    (void)state;
    add_node("a", 2);
    add_pod("first", 1);
    add_pod("second", 2);
    stop();
    world_restart(&w);
    start();
    beat("a");
    assert_waits("second", "needs 2 gpus on one node; most free is 1 (a)");
    add_pod("third", 1);
    assert_waits("third", "needs 1 gpu; the room on a is kept for job 2");
    end_pod("first", "Succeeded");
    assert_on("second", "a");
}

/* The ledger entries: a whole gpu in the format of older versions, a whole gpu, and a share. */
static void a_gpu_that_the_ledger_says_is_held_is_not_given(void **state)
{
    static const char *const entries[] = {
        "{\"placement\":\"x/y\",\"pod\":\"x/y\",\"podUid\":\"1\",\"node\":\"a\"}",
        "{\"node\":\"a\",\"holders\":[{\"placement\":\"x/y\",\"pod\":\"x/y\",\"podUid\":\"1\","
        "\"device\":\"GPU-a-0\"}]}",
        "{\"node\":\"a\",\"holders\":[{\"placement\":\"x/y\",\"pod\":\"x/y\",\"podUid\":\"1\","
        "\"device\":\"GPU-a-0/share:300,1\"}]}",
    };

    (void)state;
    add_node("a", 1);
    for (size_t i = 0; i < COUNT(entries); i++) {
        const struct store_op hold = {
            .type = STORE_PUT,
            .key = {.group = "mete.dev", .resource = "ledger", .ns = "", .name = "GPU-a-0"},
            .bytes = str_of(entries[i]),
            .if_version = STORE_ABSENT,
        };
        const struct store_op release = {
            .type = STORE_DELETE, .key = hold.key, .if_version = STORE_ANY};
        AUTO_FREE char *pod = mem_format("p%zu", i);

        world_must(store_commit(w.store, &hold, 1, NULL, NULL, NULL));
        sim_loop_run(w.loop);
        add_pod(pod, 1);
        assert_waits(pod, "needs 1 gpu; none of 1 is free");
        world_must(store_commit(w.store, &release, 1, NULL, NULL, NULL));
        sim_loop_run(w.loop);
        assert_on(pod, "a");
        end_pod(pod, "Succeeded");
    }
}

static void a_gpu_that_gets_sick_is_not_given(void **state)
{
    (void)state;
    add_node("a", 1);
    world_must(
        world_patch(&w, (struct target){.kind = "nodes", .name = "a", .who = &ours},
                    "{'metadata':{'annotations':{'mete.dev/"
                    "gpus':'[{\\\"uuid\\\":\\\"GPU-a-0\\\",\\\"health\\\":\\\"lost\\\"}]'}}}",
                    NULL));
    add_pod("p", 1);
    assert_waits("p", "needs 1 gpu; would fit if 1 more gpu was in service (a: gpu 0 is lost)");
}

static void a_gpu_that_moved_to_another_node_is_used_once_the_old_node_is_gone(void **state)
{
    (void)state;
    add_node("a", 1);
    world_add_node(&w, "b", 0);
    world_must(world_patch(&w, (struct target){.kind = "nodes", .name = "b", .who = &ours},
                           "{'metadata':{'annotations':{'mete.dev/gpus':'[{\\\"uuid\\\":\\\"GPU-a-0"
                           "\\\",\\\"health\\\":\\\"healthy\\\"}]'}}}",
                           NULL));
    beat("b");
    sim_loop_run(w.loop);
    world_must(
        world_delete(&w, (struct target){.kind = "nodes", .name = "a", .who = &root}, NULL, NULL));
    add_pod("p", 1);
    assert_on("p", "b");
}

static void a_deleted_pod_gives_up_its_place(void **state)
{
    (void)state;
    add_node("a", 1);
    add_pod("first", 1);
    add_pod("second", 1);
    add_pod("third", 1);
    world_must(world_delete(&w, (struct target){.kind = "pods", .name = "second"}, NULL, NULL));
    end_pod("first", "Failed");
    assert_on("third", "a");
}

static void host_ports_keep_pods_apart(void **state)
{
    static const char *const manifests[] = {
        "{'metadata':{'name':'x'},'spec':{'containers':[{'name':'main','image':'host','ports':"
        "[{'containerPort':80,'hostPort':80}]}]}}",
        "{'metadata':{'name':'y'},'spec':{'containers':[{'name':'main','image':'host','ports':"
        "[{'containerPort':80,'hostPort':80}]}]}}",
    };

    (void)state;
    add_node("a", 0);
    for (size_t i = 0; i < COUNT(manifests); i++) {
        world_must(world_create(&w, (struct target){.kind = "pods"}, manifests[i], NULL));
        sim_loop_run(w.loop);
    }
    assert_on("x", "a");
    assert_on("y", "");
    end_pod("x", "Succeeded");
    assert_on("y", "a");
}

static size_t count_events(const char *reason, int64_t *ret_count)
{
    struct store_range range = {.group = "", .resource = "events"};
    struct store_list list = {0};
    size_t n = 0;

    *ret_count = 0;
    world_must(store_list(w.store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *event = NULL;

        world_must(objects_decode(list.at[i], &event));
        if (!text_equal(json_text(event, "reason"), reason))
            continue;
        n++;
        *ret_count += json_int(event, "count", 0);
    }
    store_list_done(&list);
    return n;
}

static void an_event_is_written_when_the_reason_changes_and_counted_when_it_returns(void **state)
{
    int64_t count = 0;

    (void)state;
    add_pod("p", 1);
    assert_int_equal(count_events("FailedScheduling", &count), 1);
    for (int i = 0; i < 5; i++) {
        add_pod(i % 2 ? "q" : "r", 1); /* no change for p */
        world_must(world_delete(&w, (struct target){.kind = "pods", .name = i % 2 ? "q" : "r"},
                                NULL, NULL));
    }
    sim_loop_advance(w.loop, 60 * INT64_C(1000000000));
    assert_int_equal(count_events("Scheduled", &count), 0);
    add_node("a", 1);
    assert_int_equal(count_events("Scheduled", &count), 1);
}

static void repeated_events_are_one_that_counts(void **state)
{
    struct cluster *over_store = cluster_store_new(w.store, w.objects);
    struct events *events = events_new(w.loop, over_store);
    const struct event what = {.kind = "Pod",
                               .ns = "default",
                               .name = "p",
                               .uid = "u",
                               .reason = "Test",
                               .message = "again",
                               .component = "test"};
    int64_t count = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        events_record(events, &what);
        sim_loop_run(w.loop);
    }
    assert_int_equal(count_events("Test", &count), 1);
    assert_int_equal(count, 3);
    events_free(events);
    cluster_free(over_store);
}

static size_t count_told(size_t n)
{
    size_t told = 0;

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *name = mem_format("p%zu", i);
        AUTO(json_freep) json_t *pod = get_pod(name);

        told += object_condition(pod, "PodScheduled") != NULL;
    }
    return told;
}

static void many_that_wait_are_told_at_a_bounded_rate(void **state)
{
    enum {
        PODS = 300
    };

    (void)state;
    for (size_t i = 0; i < PODS; i++) {
        AUTO_FREE char *name = mem_format("p%zu", i);

        world_must(world_add_pod(&w, "default", name, 1));
    }
    assert_true(count_told(PODS) >= 1);
    assert_true(count_told(PODS) <= 110);
    sim_loop_advance(w.loop, 10 * INT64_C(1000000000));
    assert_int_equal(count_told(PODS), PODS);
}

static void the_views_say_what_is_so(void **state)
{
    AUTO(json_freep) json_t *waits = NULL;
    AUTO(json_freep) json_t *all = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(json_freep) json_t *gpu = NULL;
    const json_t *reason;

    (void)state;
    add_node("a", 2);
    add_pod("first", 1);
    add_pod("second", 2);
    waits = control_workload(control, "default", "second");
    assert_string_equal(json_text_at(waits, "status", "phase", NULL), "waiting");
    assert_int_equal(json_int_at(waits, "spec", "jobId", NULL), 2);
    reason = json_at(waits, "status", "reason", NULL);
    assert_string_equal(json_text(reason, "code"), "NoNodeFits");
    assert_string_equal(json_text(reason, "class"), "place");
    assert_string_equal(json_text(reason, "message"),
                        "needs 2 gpus on one node; most free is 1 (a)");
    assert_int_equal(json_int(reason, "position", 0), 1);
    assert_int_equal(json_int(reason, "queueLength", 0), 1);
    assert_true(json_is_null(json_object_get(reason, "estimate")));
    assert_string_equal(json_text(json_array_get(json_object_get(reason, "nodes"), 0), "text"),
                        "1 short; job 1 holds 1");
    assert_int_equal(json_int(json_array_get(json_object_get(reason, "blocking"), 0), "best", -1),
                     1);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(reason, "wouldStartIf"), 0)),
        "it asks for 1 gpu, not 2 (on a)");
    all = control_workloads(control, NULL);
    assert_int_equal(json_array_size(all), 2);
    assert_string_equal(json_text_at(json_array_get(all, 0), "status", "phase", NULL), "starting");
    gpus = control_gpus(control, NULL);
    assert_int_equal(json_array_size(gpus), 2);
    gpu = control_gpu(control, "", "GPU-a-1");
    assert_string_equal(json_text_at(gpu, "status", "holder", "pod", NULL), "first");
    assert_int_equal(json_int_at(gpu, "status", "holder", "jobId", NULL), 1);
    assert_string_equal(json_text_at(gpu, "status", "holder", "user", NULL), "ann");
    assert_null(control_gpu(control, "", "GPU-b-0"));
    assert_null(control_workload(control, "default", "third"));
}

/* The engine's next change overwrites the texts of a decision. */
static void a_copied_placement_points_nowhere_into_the_engine(void **state)
{
    char node[] = "a";
    char uuid[] = "GPU-a-0";
    char profile[] = "1g.10gb";
    char slice[] = "MIG-1";
    const char *const gpus[] = {uuid};
    const struct mete_device device = {.gpu = uuid, .profile = profile, .slice = slice};
    const struct mete_pod_placement pod = {
        .node = node, .gpus = gpus, .n_gpus = 1, .devices = &device, .n_devices = 1};
    const struct mete_placement from = {.workload = 7, .pods = &pod, .n_pods = 1};
    struct arena *a = arena_new();
    struct mete_placement to = {0};

    (void)state;
    sched_placement_copy(a, &from, &to);
    node[0] = uuid[0] = profile[0] = slice[0] = '-';
    assert_int_equal(to.workload, 7);
    assert_string_equal(to.pods[0].node, "a");
    assert_string_equal(to.pods[0].gpus[0], "GPU-a-0");
    assert_int_equal(to.pods[0].n_devices, 1);
    assert_ptr_not_equal(to.pods[0].devices, &device);
    assert_string_equal(to.pods[0].devices[0].gpu, "GPU-a-0");
    assert_string_equal(to.pods[0].devices[0].profile, "1g.10gb");
    assert_string_equal(to.pods[0].devices[0].slice, "MIG-1");
    arena_free(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_pod_gets_its_node_and_its_gpus),
        TEST(a_pod_without_gpus_is_placed_too),
        TEST(gpus_are_dealt_to_containers_in_order_and_init_containers_share_them),
        TEST(one_that_waits_says_why_and_starts_when_another_ends),
        TEST(one_that_can_never_fit_says_so),
        TEST(a_cordoned_node_is_the_reason_until_it_is_uncordoned),
        TEST(a_taint_keeps_off_those_who_do_not_tolerate_it),
        TEST(what_no_node_can_ever_have_waits_with_a_reason),
        TEST(another_schedulers_pods_are_left_alone_and_counted_once_bound),
        TEST(what_another_scheduler_says_is_left_alone),
        TEST(pods_of_schedulers_whose_manifests_are_taken_are_placed),
        TEST(a_bound_pod_is_still_held_after_a_restart),
        TEST(a_gpu_that_the_ledger_says_is_held_is_not_given),
        TEST(a_gpu_that_gets_sick_is_not_given),
        TEST(a_gpu_that_moved_to_another_node_is_used_once_the_old_node_is_gone),
        TEST(a_deleted_pod_gives_up_its_place),
        TEST(host_ports_keep_pods_apart),
        TEST(an_event_is_written_when_the_reason_changes_and_counted_when_it_returns),
        TEST(repeated_events_are_one_that_counts),
        TEST(many_that_wait_are_told_at_a_bounded_rate),
        TEST(the_views_say_what_is_so),
        TEST(a_copied_placement_points_nowhere_into_the_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
