/* test_scheduler_gangs.c - gangs of five APIs through objects */

#include <stdlib.h>

#include "base/mem.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "prop.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 11);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

enum door {
    NATIVE,
    COSCHEDULING,
    VOLCANO,
    DOORS
};

static const char *const group_names[DOORS] = {"scheduling.k8s.io", "scheduling.x-k8s.io",
                                               "scheduling.volcano.sh"};

static void add_group(enum door door, const char *name, int min)
{
    const struct target t = {.group = group_names[door], .kind = "podgroups"};
    AUTO_FREE char *text = NULL;

    switch (door) {
    case NATIVE:
        text = mem_format(
            "{'metadata':{'name':'%s'},'spec':{'schedulingPolicy':{'gang':{'minCount':%d}}}}", name,
            min);
        break;
    case COSCHEDULING:
    case VOLCANO:
    case DOORS:
        text = mem_format("{'metadata':{'name':'%s'},'spec':{'minMember':%d}}", name, min);
        break;
    }
    sched_world_create(&s, t, text);
}

static void add_member_with(enum door door, const char *group, const char *name, int gpus,
                            const char *metadata)
{
    AUTO_FREE char *of_metadata =
        door == COSCHEDULING ? mem_format(",'labels':{'scheduling.x-k8s.io/pod-group':'%s'}", group)
        : door == VOLCANO
            ? mem_format(",'annotations':{'scheduling.k8s.io/group-name':'%s'%s}", group, metadata)
            : mem_strdup("");
    AUTO_FREE char *of_spec = door == NATIVE
                                  ? mem_format("'schedulingGroup':{'podGroupName':'%s'},", group)
                                  : mem_strdup("");
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'%s},'spec':{%s'containers':[{'name':'main',"
                   "'image':'host','resources':{'limits':{'nvidia.com/gpu':'%d'}}}]}}",
                   name, of_metadata, of_spec, gpus);

    sched_world_create(&s, (struct target){.kind = "pods"}, text);
}

static void add_member(enum door door, const char *group, const char *name, int gpus)
{
    add_member_with(door, group, name, gpus, "");
}

static void add_pod(const char *name, int gpus)
{
    world_must(world_add_pod(&s.w, "default", name, gpus));
    sim_loop_run(s.w.loop);
}

static void a_gang_starts_when_all_of_it_is_there(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 8);
    for (enum door door = NATIVE; door < DOORS; door++) {
        add_group(door, "g", 3);
        add_member(door, "g", "p0", 1);
        sched_world_assert_waits(&s, "p0", "waits for 3 pods of its group; 1 is there");
        add_member(door, "g", "p1", 1);
        sched_world_advance(&s, 20);
        sched_world_assert_waits(&s, "p1", "waits for 3 pods of its group; 2 are there");
        add_member(door, "g", "p2", 1);
        for (int i = 0; i < 3; i++) {
            AUTO_FREE char *name = mem_format("p%d", i);

            sched_world_assert_on(&s, name, "a");
            sched_world_end_pod(&s, name, "Succeeded");
            world_must(
                world_delete(&s.w, (struct target){.kind = "pods", .name = name}, NULL, NULL));
        }
    }
}

enum {
    LARGE_PODS = 1024,
    LARGE_GPUS = 8
};

/* A transaction of over 10,000 entries has one revision. */
static void a_gang_of_a_thousand_pods_is_bound_at_once(void **state)
{
    const int pods = (int)prop_share(LARGE_PODS);
    int64_t version = 0;

    (void)state;
    for (int i = 0; i < pods - 1; i++) {
        AUTO_FREE char *name = mem_format("n%04d", i);

        sched_world_add_node(&s, name, LARGE_GPUS);
    }
    add_group(COSCHEDULING, "g", pods);
    for (int i = 0; i < pods; i++) {
        AUTO_FREE char *name = mem_format("p%04d", i);

        add_member(COSCHEDULING, "g", name, LARGE_GPUS);
    }
    sched_world_advance(&s, 20);
    sched_world_assert_on(&s, "p0000", "");
    sched_world_add_node(&s, "last", LARGE_GPUS);
    for (int i = 0; i < pods; i++) {
        AUTO_FREE char *name = mem_format("p%04d", i);
        const struct store_object *o = store_get(
            s.w.store,
            (struct store_key){.group = "", .resource = "pods", .ns = "default", .name = name});
        AUTO_FREE char *on = sched_world_node_of(&s, name);

        assert_non_null(o);
        assert_string_not_equal(on, "");
        assert_true(i == 0 || o->version == version);
        version = o->version;
    }
    world_must(ledger_check(s.w.store));
    sched_world_restart(&s);
    world_must(ledger_check(s.w.store));
}

static void a_gang_that_does_not_fit_whole_does_not_start(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 4);
    add_pod("other", 1);
    add_group(COSCHEDULING, "g", 2);
    add_member(COSCHEDULING, "g", "p0", 2);
    add_member(COSCHEDULING, "g", "p1", 2);
    sched_world_assert_on(&s, "p0", "");
    sched_world_assert_on(&s, "p1", "");
    sched_world_end_pod(&s, "other", "Succeeded");
    sched_world_assert_on(&s, "p0", "a");
    sched_world_assert_on(&s, "p1", "a");
}

static void pods_that_differ_are_one_gang(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 8);
    add_group(NATIVE, "train", 4);
    add_member(NATIVE, "train", "master", 0);
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("worker-%d", i);

        sched_world_assert_on(&s, "master", "");
        add_member(NATIVE, "train", name, 2);
    }
    sched_world_assert_on(&s, "master", "a");
    sched_world_assert_on(&s, "worker-2", "a");
}

static void later_pods_of_a_group_start_by_themselves(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 3);
    add_group(VOLCANO, "g", 2);
    add_member(VOLCANO, "g", "p0", 1);
    add_member(VOLCANO, "g", "p1", 1);
    add_member(VOLCANO, "g", "p2", 1);
    add_member(VOLCANO, "g", "p3", 1);
    sched_world_assert_on(&s, "p2", "a");
    sched_world_assert_waits(&s, "p3",
                             "beyond the minimum of its group; needs 1 gpu; none of 3 is free");
    sched_world_end_pod(&s, "p0", "Succeeded");
    sched_world_assert_on(&s, "p3", "a");
}

static void volcanos_tasks_are_all_in_the_gang(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 8);
    sched_world_create(&s, (struct target){.group = "scheduling.volcano.sh", .kind = "podgroups"},
                       "{'metadata':{'name':'g'},'spec':{'minMember':2,'minTaskMember':{'ps':1,"
                       "'worker':1}}}");
    add_member_with(VOLCANO, "g", "w0", 1, ",'volcano.sh/task-spec':'worker'");
    add_member_with(VOLCANO, "g", "w1", 1, ",'volcano.sh/task-spec':'worker'");
    sched_world_assert_waits(&s, "w0", "waits for 1 pod of task ps of its group; 0 are there");
    add_member_with(VOLCANO, "g", "ps", 1, ",'volcano.sh/task-spec':'ps'");
    sched_world_assert_on(&s, "w0", "a");
    sched_world_assert_on(&s, "ps", "a");
    sched_world_assert_on(&s, "w1", "a");
}

static void a_group_that_is_not_there_is_the_reason(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 1);
    add_member(COSCHEDULING, "g", "p0", 1);
    sched_world_assert_waits(&s, "p0",
                             "waits for its group: there is no podgroups.scheduling.x-k8s.io g");
    add_group(COSCHEDULING, "g", 1);
    sched_world_assert_on(&s, "p0", "a");
}

static void a_pod_group_in_a_workload_is_a_gang_for_each_replica(void **state)
{
    static const char pod[] = "{'metadata':{'name':'%s'},'spec':{'workloadRef':{'name':'w',"
                              "'podGroup':'%s','podGroupReplicaKey':'%d'},'containers':[{'name':"
                              "'main','image':'host'}]}}";
    static const struct {
        const char *name;
        const char *part;
        int replica;
    } pods[] = {
        {"a0", "workers", 0}, {"b0", "workers", 1}, {"c0", "none", 0}, {"a1", "workers", 0}};

    (void)state;
    sched_world_add_node(&s, "a", 1);
    sched_world_create(&s, (struct target){.group = "scheduling.k8s.io", .kind = "workloads"},
                       "{'metadata':{'name':'w'},'spec':{'podGroupTemplates':[{'name':'workers',"
                       "'schedulingPolicy':{'gang':{'minCount':2}}}]}}");
    for (size_t i = 0; i < COUNT(pods); i++) {
        AUTO_FREE char *text = mem_format(pod, pods[i].name, pods[i].part, pods[i].replica);

        sched_world_create(&s, (struct target){.kind = "pods"}, text);
    }
    sched_world_assert_on(&s, "a0", "a");
    sched_world_assert_on(&s, "a1", "a");
    sched_world_assert_waits(&s, "b0", "waits for 2 pods of its group; 1 is there");
    sched_world_assert_waits(&s, "c0", "waits for its group: the Workload w has no pod group none");
}

static void a_gang_that_no_transaction_holds_is_refused(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 1);
    add_group(COSCHEDULING, "g", 2);
    add_member(COSCHEDULING, "g", "p0", 32000);
    add_member(COSCHEDULING, "g", "p1", 1000);
    sched_world_advance(&s, 15);
    sched_world_assert_waits(&s, "p1",
                             "is a gang of 2 pods, with their gpus and nodes 33005 entries to bind "
                             "at once; at most 32768");
}

/* 64 MiB may wait for the disk at once. Takes a minute: METE_TEST_LARGE=1 runs it alone. */
static void a_gang_of_very_large_pods_is_refused_and_holds_nothing(void **state)
{
    enum {
        ARGUMENT = 1040000,
        MANY = 70
    };
    AUTO_FREE char *argument = NULL;
    AUTO_FREE char *on = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    const char *message;

    (void)state;
    argument = mem_alloc(ARGUMENT + 1);
    memset(argument, 'x', ARGUMENT);
    sched_world_add_node(&s, "a", 8);
    for (int i = 0; i < MANY; i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'p%d','labels':{'scheduling.x-k8s.io/pod-group':'g'}},"
                       "'spec':{'containers':[{'name':'main','image':'host','args':['%s']}]}}",
                       i, argument);

        world_must(world_create(&s.w, (struct target){.kind = "pods"}, text, NULL));
    }
    add_group(COSCHEDULING, "g", MANY);
    sched_world_advance(&s, 40);
    pod = sched_world_pod(&s, "p7");
    message = json_text(object_condition(pod, "PodScheduled"), "message");
    assert_true(text_starts_with(message, "cannot be bound at once: transaction of "));
    sched_world_assert_on(&s, "p7", "");
    add_pod("other", 8);
    on = sched_world_node_of(&s, "other");
    assert_string_equal(on, "a");
    world_must(world_delete(
        &s.w, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups", .name = "g"},
        NULL, NULL));
    sched_world_advance(&s, 20);
    sched_world_assert_waits(&s, "p7",
                             "waits for its group: there is no podgroups.scheduling.x-k8s.io g");
}

static void two_ways_to_name_a_group_are_refused(void **state)
{
    (void)state;
    world_refused(
        world_create(&s.w, (struct target){.kind = "pods"},
                     "{'metadata':{'name':'p','labels':{'scheduling.x-k8s.io/pod-group':'g'}},"
                     "'spec':{'schedulingGroup':{'podGroupName':'g'},'containers':[{'name':'main',"
                     "'image':'host'}]}}",
                     NULL),
        422,
        "Pod \"p\" is invalid: spec: Forbidden: a pod can be in one group only: "
        "spec.schedulingGroup and the label scheduling.x-k8s.io/pod-group both name one");
}

static void a_member_that_goes_is_replaced_by_the_next(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 4);
    add_pod("other", 2);
    add_group(NATIVE, "g", 2);
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        add_member(NATIVE, "g", name, 2);
    }
    world_must(world_delete(&s.w, (struct target){.kind = "pods", .name = "p0"}, NULL, NULL));
    sched_world_end_pod(&s, "other", "Succeeded");
    sched_world_assert_on(&s, "p1", "a");
    sched_world_assert_on(&s, "p2", "a");
}

static void a_gang_is_a_gang_after_a_restart(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    sched_world_add_node(&s, "a", 4);
    sched_world_add_node(&s, "b", 4);
    add_group(COSCHEDULING, "g", 4);
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        add_member(COSCHEDULING, "g", name, 2);
    }
    pod = sched_world_pod(&s, "p2");
    assert_true(text_starts_with(json_text_at(pod, "metadata", "annotations", POD_PLACEMENT, NULL),
                                 "coscheduling:g:"));
    sched_world_restart(&s);
    add_pod("next", 1);
    sched_world_assert_on(&s, "next", "");
    sched_world_end_pod(&s, "p0", "Succeeded");
    sched_world_assert_on(&s, "next", "a");
    sched_world_restart(&s);
    add_pod("another", 2);
    sched_world_assert_on(&s, "another", "");
    for (int i = 1; i < 4; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        sched_world_end_pod(&s, name, "Failed");
    }
    sched_world_assert_on(&s, "another", "a");
}

static json_t *get_group(enum door door)
{
    return world_get(&s.w,
                     (struct target){.group = group_names[door], .kind = "podgroups", .name = "g"});
}

static void assert_phase(enum door door, const char *phase, int running)
{
    AUTO(json_freep) json_t *g = NULL;

    sched_world_advance(&s, 1);
    g = get_group(door);
    assert_string_equal(json_text_at(g, "status", "phase", NULL), phase);
    assert_int_equal(json_int_at(g, "status", "running", NULL), running);
}

static void a_group_tells_what_has_become_of_it(void **state)
{
    static const char *const phases[DOORS][4] = {
        {0},
        {"Pending", "Scheduling", "Running", "Finished"},
        {"Inqueue", "Inqueue", "Running", "Completed"},
    };

    (void)state;
    for (enum door door = COSCHEDULING; door < DOORS; door++) {
        AUTO_FREE char *node = mem_format("node-%d", (int)door);

        add_group(door, "g", 2);
        assert_phase(door, phases[door][0], 0);
        add_member(door, "g", "p0", 1);
        add_member(door, "g", "p1", 1);
        assert_phase(door, phases[door][1], 0);
        sched_world_add_node(&s, node, 2);
        sched_world_run_pod(&s, "p0");
        sched_world_run_pod(&s, "p1");
        assert_phase(door, phases[door][2], 2);
        sched_world_end_pod(&s, "p0", "Succeeded");
        sched_world_end_pod(&s, "p1", "Succeeded");
        assert_phase(door, phases[door][3], 0);
        for (int i = 0; i < 2; i++)
            world_must(world_delete(&s.w, (struct target){.kind = "pods", .name = i ? "p1" : "p0"},
                                    NULL, NULL));
        world_must(world_delete(&s.w, (struct target){.kind = "nodes", .name = node, .who = &root},
                                NULL, NULL));
    }
}

static void a_native_group_says_that_it_was_scheduled(void **state)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    add_group(NATIVE, "g", 1);
    add_member(NATIVE, "g", "p", 1);
    sched_world_advance(&s, 1);
    before = get_group(NATIVE);
    assert_string_equal(json_text(object_condition(before, "PodGroupScheduled"), "reason"),
                        "Unschedulable");
    assert_string_equal(json_text(object_condition(before, "PodGroupScheduled"), "message"),
                        "there are no nodes");
    sched_world_add_node(&s, "a", 1);
    sched_world_advance(&s, 1);
    after = get_group(NATIVE);
    assert_string_equal(json_text(object_condition(after, "PodGroupInitiallyScheduled"), "status"),
                        "True");
}

/* Another holder takes the gang's first gpu without the engine: no pod of the gang is bound. */
static void a_gang_that_cannot_be_bound_is_taken_back_whole(void **state)
{
    const struct store_op hold = {
        .type = STORE_PUT,
        .key = {.group = "mete.dev", .resource = "ledger", .ns = "", .name = "GPU-a-0"},
        .bytes = STR("{\"placement\":\"x/y\",\"pod\":\"x/y\",\"podUid\":\"1\",\"node\":\"a\"}"),
        .if_version = STORE_ABSENT,
    };
    const struct store_op release = {
        .type = STORE_DELETE, .key = hold.key, .if_version = STORE_ANY};

    (void)state;
    add_group(NATIVE, "g", 2);
    add_member(NATIVE, "g", "p0", 1);
    add_member(NATIVE, "g", "p1", 1);
    world_add_node(&s.w, "a", 2);
    world_must(store_commit(s.w.store, &hold, 1, NULL, NULL, NULL));
    sched_world_advance(&s, 1);
    world_must(world_patch(
        &s.w, (struct target){.kind = "nodes", .name = "a", .sub = "status", .who = &ours},
        "{'status':{'allocatable':{'pods':'20'},'conditions':[{'type':'Ready','status':'True',"
        "'lastHeartbeatTime':'2099-01-01T00:00:01Z'}]}}",
        NULL));
    sched_world_assert_on(&s, "p0", "");
    sched_world_assert_on(&s, "p1", "");
    world_must(store_commit(s.w.store, &release, 1, NULL, NULL, NULL));
    sched_world_advance(&s, 60);
    sched_world_assert_on(&s, "p0", "a");
    sched_world_assert_on(&s, "p1", "a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_gang_starts_when_all_of_it_is_there),
        TEST(a_gang_of_a_thousand_pods_is_bound_at_once),
        TEST(a_gang_that_does_not_fit_whole_does_not_start),
        TEST(pods_that_differ_are_one_gang),
        TEST(later_pods_of_a_group_start_by_themselves),
        TEST(volcanos_tasks_are_all_in_the_gang),
        TEST(a_group_that_is_not_there_is_the_reason),
        TEST(a_pod_group_in_a_workload_is_a_gang_for_each_replica),
        TEST(a_gang_that_no_transaction_holds_is_refused),
        TEST(two_ways_to_name_a_group_are_refused),
        TEST(a_member_that_goes_is_replaced_by_the_next),
        TEST(a_gang_is_a_gang_after_a_restart),
        TEST(a_group_tells_what_has_become_of_it),
        TEST(a_native_group_says_that_it_was_scheduled),
        TEST(a_gang_that_cannot_be_bound_is_taken_back_whole),
    };
    const struct CMUnitTest large[] = {
        TEST(a_gang_of_very_large_pods_is_refused_and_holds_nothing),
    };

    if (getenv("METE_TEST_LARGE"))
        return cmocka_run_group_tests(large, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
