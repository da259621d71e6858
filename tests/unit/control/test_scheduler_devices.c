/* test_scheduler_devices.c - replicas, shares and slices: from manifests to the ledger */

#include "base/mem.h"
#include "control/report/views.h"
#include "kinds/account/account.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

/* "GPU-a-0", healthy h100s with 80 GiB; `mode` is the end of the gpu's tree. */
#define GPU(uuid, mode) \
    "{'uuid':'" uuid    \
    "','index':0,'health':'healthy','model':'h100','memoryBytes':85899345920" mode "}"
#define REPLICAS(n) ",'mode':'replicas','replicas':" #n ",'renamed':false"
#define RENAMED(n)  ",'mode':'replicas','replicas':" #n ",'renamed':true"

static void set_gpus(const char *name, const char *gpus, bool is_new)
{
    AUTO(json_freep) json_t *node = json_object();
    AUTO_FREE char *list = mem_format("[%s]", gpus);
    AUTO_FREE char *text = NULL;
    json_t *metadata = json_object_at(node, "metadata");

    for (char *c = list; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_put_text(metadata, "name", name);
    json_put_text(json_object_at(metadata, "annotations"), NODE_GPUS, list);
    text = json_format(node);
    if (is_new) {
        world_must(world_create(&s.w, (struct target){.kind = "nodes", .who = &ours}, text, NULL));
        world_must(world_patch(
            &s.w, (struct target){.kind = "nodes", .name = name, .sub = "status", .who = &ours},
            "{'status':{'allocatable':{'cpu':'64','memory':'512Gi','pods':'200',"
            "'nvidia.com/gpu':'8','nvidia.com/gpu.shared':'8'},'conditions':[{'type':'Ready',"
            "'status':'True','lastHeartbeatTime':'2099-01-01T00:00:01Z'}]}}",
            NULL));
    } else {
        world_must(world_patch(&s.w, (struct target){.kind = "nodes", .name = name, .who = &ours},
                               text, NULL));
    }
    sim_loop_run(s.w.loop);
}

static void add_pod(const char *name, const char *annotations, const char *limits)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','annotations':{%s}},'spec':{'restartPolicy':'Never',"
                   "'containers':[{'name':'main','image':'host','resources':{'limits':{%s}}}]}}",
                   name, annotations, limits);

    sched_world_create(&s, (struct target){.kind = "pods"}, text);
}

static void assert_has(const char *name, const char *devices)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);
    const char *text = json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL);
    AUTO_FREE char *want = mem_format("{\"containers\":{\"main\":[%s]}}", devices);

    for (char *c = want; *c; c++)
        if (*c == '\'')
            *c = '"';
    assert_non_null(text);
    assert_string_equal(text, want);
}

static void replicas_take_pods_until_all_are_held(void **state)
{
    char name[16];

    (void)state;
    set_gpus("a",
             GPU("GPU-0", REPLICAS(4)) "," GPU("GPU-1", REPLICAS(4)) "," GPU(
                 "GPU-2", REPLICAS(4)) "," GPU("GPU-3", REPLICAS(4)),
             true);
    for (int i = 0; i < 16; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_pod(name, "", i % 2 ? "'nvidia.com/gpu':'1'" : "'nvidia.com/gpu.shared':'1'");
        sched_world_assert_on(&s, name, "a");
    }
    add_pod("late", "", "'nvidia.com/gpu':'1'");
    sched_world_assert_waits(&s, "late", "needs 1 gpu; no such device is free");
    sched_world_end_pod(&s, "p7", "Succeeded");
    sched_world_assert_on(&s, "late", "a");
    world_must(ledger_check(s.w.store));
}

static void pods_that_waited_for_whole_gpus_take_replicas_that_come_later(void **state)
{
    (void)state;
    set_gpus("a", GPU("GPU-0", ""), true);
    add_pod("one", "", "'nvidia.com/gpu':'1'");
    add_pod("two", "", "'nvidia.com/gpu':'1'");
    assert_has("one", "'GPU-0'");
    sched_world_assert_waits(&s, "two", "needs 1 gpu; none of 1 is free");
    set_gpus("b", GPU("GPU-1", RENAMED(2)), true);
    sched_world_assert_on(&s, "two", "");
    set_gpus("c", GPU("GPU-2", REPLICAS(2)), true);
    assert_has("two", "'GPU-2/replica:2'");
    sched_world_end_pod(&s, "one", "Succeeded");
    add_pod("three", "", "'nvidia.com/gpu':'1'");
    assert_has("three", "'GPU-2/replica:2'");
}

#define OTHER(uuid, vendor_model, resource)                                  \
    "{'uuid':'" uuid "','index':0,'health':'healthy','model':'" vendor_model \
    "','memoryBytes':206158430208,'vendor':'amd','resource':'" resource "'}"

static void pods_get_gpus_of_the_vendor_that_they_ask_for(void **state)
{
    (void)state;
    add_pod("early", "", "'amd.com/gpu':'1'");
    sched_world_assert_on(&s, "early", "");
    set_gpus("a", GPU("GPU-0", "") "," OTHER("GPU-1", "mi300x", "amd.com/gpu"), true);
    assert_has("early", "'GPU-1'");
    add_pod("nvidia", "", "'nvidia.com/gpu':'2'");
    sched_world_assert_waits(&s, "nvidia", "needs 2 H100 on one node; the largest has 1 (a)");
    add_pod("share", "'gpu-fraction':'0.5'", "");
    assert_has("share", "'GPU-0/share:500,42949672960'");
    add_pod("late", "", "'amd.com/gpu':'1'");
    sched_world_assert_waits(&s, "late", "needs 1 MI300X; none of 1 is free");
    sched_world_restart(&s);
    assert_has("early", "'GPU-1'");
    sched_world_assert_waits(&s, "late", "needs 1 MI300X; none of 1 is free");
    sched_world_end_pod(&s, "early", "Succeeded");
    assert_has("late", "'GPU-1'");
    add_pod("half", "'gpu-fraction':'0.6'", ""); /* the gpu of AMD is not shared */
    sched_world_assert_on(&s, "half", "");
    add_pod("intel", "", "'gpu.intel.com/xe':'1'");
    sched_world_assert_on(&s, "intel", "");
    set_gpus("b", OTHER("GPU-2", "flex170", "gpu.intel.com/xe") "," GPU("GPU-3", ""), true);
    assert_has("intel", "'GPU-2'");
    assert_has("half", "'GPU-3/share:600,51539607552'");
    world_must(ledger_check(s.w.store));
}

static void shares_have_compute_and_memory_of_a_gpu(void **state)
{
    (void)state;
    set_gpus("a", GPU("GPU-0", ""), true);
    add_pod("half", "'gpu-fraction':'0.5'", "");
    assert_has("half", "'GPU-0/share:500,42949672960'");
    add_pod("quarter", "'gpu-memory':'20480'", "");
    assert_has("quarter", "'GPU-0/share:250,21474836480'");
    add_pod("hami", "",
            "'nvidia.com/gpu':'1','nvidia.com/gpumem':'10240','nvidia.com/gpucores':'20'");
    assert_has("hami", "'GPU-0/share:200,10737418240'");
    add_pod("large", "", "'nvidia.com/gpumem':'20480'");
    sched_world_assert_waits(&s, "large", "needs 1 x 20480 MiB of a gpu; no such device is free");
    sched_world_end_pod(&s, "half", "Succeeded");
    assert_has("large", "'GPU-0/share:250,21474836480'");
    world_must(ledger_check(s.w.store));
}

static void slices_are_the_instances_that_the_node_has(void **state)
{
    (void)state;
    set_gpus("a",
             GPU("GPU-0",
                 ",'mode':'slices','slices':[{'profile':'1g.10gb','start':0,'uuid':'MIG-0'},"
                 "{'profile':'3g.40gb','start':4,'uuid':'MIG-4'}]"),
             true);
    add_pod("small", "", "'nvidia.com/mig-1g.10gb':'1'");
    assert_has("small", "'GPU-0/slice:1g.10gb@0,MIG-0'");
    add_pod("large", "", "'nvidia.com/mig-3g.40gb':'1'");
    assert_has("large", "'GPU-0/slice:3g.40gb@4,MIG-4'");
    add_pod("more", "", "'nvidia.com/mig-1g.10gb':'1'");
    sched_world_assert_waits(&s, "more", "needs mig 1g.10gb; no such device is free");
    add_pod("whole", "", "'nvidia.com/gpu':'1'");
    sched_world_assert_on(&s, "whole", "");
    sched_world_end_pod(&s, "small", "Succeeded");
    assert_has("more", "'GPU-0/slice:1g.10gb@0,MIG-0'");
}

static void a_flexible_gpu_is_cut_as_pods_ask(void **state)
{
    (void)state;
    set_gpus("a", GPU("GPU-0", ",'flexible':true"), true);
    add_pod("small", "", "'nvidia.com/mig-1g.10gb':'1'");
    assert_has("small", "'GPU-0/slice:1g.10gb@6'");
    add_pod("two", "", "'nvidia.com/mig-2g.20gb':'2'");
    assert_has("two", "'GPU-0/slice:2g.20gb@4','GPU-0/slice:2g.20gb@0'");
    world_must(ledger_check(s.w.store));
}

static void containers_get_what_each_asks_for(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    set_gpus("a",
             GPU("GPU-0", "") "," GPU("GPU-1", RENAMED(2)) "," GPU(
                 "GPU-2",
                 ",'mode':'slices','slices':[{'profile':'1g.10gb','start':0,'uuid':'MIG-0'},"
                 "{'profile':'1g.10gb','start':1,'uuid':'MIG-1'}]"),
             true);
    sched_world_create(
        &s, (struct target){.kind = "pods"},
        "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'i','image':'host','resources':"
        "{'limits':{'nvidia.com/mig-1g.10gb':'1'}}}],'containers':["
        "{'name':'x','image':'host','resources':{'limits':{'nvidia.com/mig-1g.10gb':'1',"
        "'nvidia.com/gpu':'1'}}},"
        "{'name':'y','image':'host','resources':{'limits':{'nvidia.com/mig-1g.10gb':'1',"
        "'nvidia.com/gpu.shared':'1'}}}]}}");
    pod = sched_world_pod(&s, "p");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL),
                        "{\"containers\":{\"i\":[\"GPU-2/slice:1g.10gb@0,MIG-0\"],"
                        "\"x\":[\"GPU-0\",\"GPU-2/slice:1g.10gb@0,MIG-0\"],"
                        "\"y\":[\"GPU-2/slice:1g.10gb@1,MIG-1\",\"GPU-1/replica:2\"]}}");
}

static void a_restart_knows_what_is_held(void **state)
{
    (void)state;
    set_gpus("a",
             GPU("GPU-0", REPLICAS(2)) "," GPU("GPU-1", "") "," GPU("GPU-2", ",'flexible':true"),
             true);
    add_pod("half", "'gpu-fraction':'0.5'", "");
    add_pod("slice", "", "'nvidia.com/mig-4g.40gb':'1'");
    add_pod("replica", "", "'nvidia.com/gpu.shared':'1'");
    sched_world_restart(&s);
    add_pod("other", "", "'nvidia.com/gpu.shared':'1'");
    assert_has("other", "'GPU-0/replica:2'");
    add_pod("third", "", "'nvidia.com/gpu.shared':'1'");
    sched_world_assert_waits(&s, "third", "needs 1 replica; no such device is free");
    add_pod("rest", "'gpu-fraction':'0.6'", "");
    sched_world_assert_on(&s, "rest", "");
    sched_world_end_pod(&s, "half", "Failed");
    assert_has("rest", "'GPU-1/share:600,51539607552'");
    world_must(ledger_check(s.w.store));
}

static void a_binding_gives_devices_too(void **state)
{
    (void)state;
    set_gpus(
        "a",
        GPU("GPU-0", REPLICAS(2)) "," GPU(
            "GPU-2", ",'mode':'slices','slices':[{'profile':'1g.10gb','start':0,'uuid':'MIG-0'}]"),
        true);
    set_gpus("b", GPU("GPU-3", ""), true);
    sched_world_create(&s, (struct target){.kind = "pods"},
                       "{'metadata':{'name':'other'},'spec':{'schedulerName':'x','containers':[{"
                       "'name':'main','image':'host','resources':{'limits':{'nvidia.com/gpu':'1',"
                       "'nvidia.com/mig-1g.10gb':'1'}}}]}}");
    sched_world_create(&s, (struct target){.kind = "pods"},
                       "{'metadata':{'name':'part','annotations':{'gpu-memory':'20480'}},'spec':{"
                       "'schedulerName':'x','containers':[{'name':'main','image':'host'}]}}");
    sched_world_create(&s, (struct target){.kind = "pods"},
                       "{'metadata':{'name':'more'},'spec':{'schedulerName':'x','containers':[{"
                       "'name':'main','image':'host','resources':{'limits':{"
                       "'nvidia.com/mig-1g.10gb':'1'}}}]}}");
    world_must(world_bind(&s.w, "default", "other", "a"));
    assert_has("other", "'GPU-0/replica:2','GPU-2/slice:1g.10gb@0,MIG-0'");
    world_must(world_bind(&s.w, "default", "part", "b"));
    assert_has("part", "'GPU-3/share:250,21474836480'");
    world_refused(world_bind(&s.w, "default", "more", "a"), 409,
                  "Operation cannot be fulfilled on pods \"more\": node \"a\" has 0 free devices "
                  "such as the pod asks for with mig-1g.10gb");
}

static void add_pod_in(const char *ns, const char *name, const char *limits)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'restartPolicy':'Never','containers':[{"
                   "'name':'main','image':'host','resources':{'limits':{%s}}}]}}",
                   name, limits);

    sched_world_create(&s, (struct target){.kind = "pods", .ns = ns}, text);
}

static const char *node_in(const char *ns, const char *name)
{
    AUTO(json_freep)
    json_t *pod = world_get(&s.w, (struct target){.kind = "pods", .ns = ns, .name = name});

    return *pod_node(pod) ? "placed" : "waits";
}

static void gpus_are_not_shared_across_namespaces_unless_the_node_says_so(void **state)
{
    (void)state;
    set_gpus("a", GPU("GPU-0", REPLICAS(4)), true);
    world_must(world_create(&s.w, (struct target){.kind = "namespaces", .who = &root},
                            "{'metadata':{'name':'team-b'}}", NULL));
    add_pod_in("default", "mine", "'nvidia.com/gpu.shared':'1'");
    add_pod_in("team-b", "theirs", "'nvidia.com/gpu.shared':'1'");
    assert_string_equal(node_in("default", "mine"), "placed");
    assert_string_equal(node_in("team-b", "theirs"), "waits");
    sched_world_restart(&s);
    add_pod_in("team-b", "more", "'nvidia.com/gpu.shared':'1'");
    assert_string_equal(node_in("team-b", "more"), "waits");
    world_refused(world_bind(&s.w, "team-b", "more", "a"), 409,
                  "Operation cannot be fulfilled on pods \"more\": node \"a\" has 0 free devices "
                  "such as the pod asks for with shared");
    world_must(world_patch(
        &s.w, (struct target){.kind = "nodes", .name = "a", .who = &root},
        "{'metadata':{'annotations':{'mete.dev/share-across-namespaces':'true'}}}", NULL));
    sim_loop_run(s.w.loop);
    assert_string_equal(node_in("team-b", "theirs"), "placed");
    assert_string_equal(node_in("team-b", "more"), "placed");
}

static void a_container_gets_one_replica_where_the_gpu_says_so(void **state)
{
    (void)state;
    set_gpus(
        "a",
        GPU("GPU-0", REPLICAS(4) ",'single':true") "," GPU("GPU-1", REPLICAS(4) ",'single':true"),
        true);
    add_pod("two", "", "'nvidia.com/gpu':'2'");
    sched_world_assert_waits(&s, "two",
                             "needs 2 gpus on one node; no node that matches has that, even empty");
    sched_world_create(
        &s, (struct target){.kind = "pods"},
        "{'metadata':{'name':'each'},'spec':{'containers':["
        "{'name':'x','image':'host','resources':{'limits':{'nvidia.com/gpu':'1'}}},"
        "{'name':'y','image':'host','resources':{'limits':{'nvidia.com/gpu':'1'}}}]}}");
    sched_world_assert_on(&s, "each", "a");
}

static void what_a_pod_asks_for_does_not_change(void **state)
{
    (void)state;
    set_gpus("a", GPU("GPU-0", ""), true);
    add_pod("half", "'gpu-fraction':'0.5'", "");
    world_refused(world_patch(&s.w, (struct target){.kind = "pods", .name = "half"},
                              "{'metadata':{'annotations':{'gpu-fraction':'0.25'}}}", NULL),
                  422,
                  "Pod \"half\" is invalid: metadata.annotations: Forbidden: the gpus that a pod "
                  "asks for do not change");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(replicas_take_pods_until_all_are_held),
        TEST(pods_that_waited_for_whole_gpus_take_replicas_that_come_later),
        TEST(pods_get_gpus_of_the_vendor_that_they_ask_for),
        TEST(shares_have_compute_and_memory_of_a_gpu),
        TEST(slices_are_the_instances_that_the_node_has),
        TEST(a_flexible_gpu_is_cut_as_pods_ask),
        TEST(containers_get_what_each_asks_for),
        TEST(a_restart_knows_what_is_held),
        TEST(a_binding_gives_devices_too),
        TEST(gpus_are_not_shared_across_namespaces_unless_the_node_says_so),
        TEST(a_container_gets_one_replica_where_the_gpu_says_so),
        TEST(what_a_pod_asks_for_does_not_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
