/* Gangs that are to be in one rack, from the words of three APIs to the nodes of their pods. */
#include "base/mem.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static const struct target native = {.group = "scheduling.k8s.io", .kind = "podgroups"};
static const struct target coscheduling = {.group = "scheduling.x-k8s.io", .kind = "podgroups"};
static const struct target pods = {.kind = "pods"};

/* Two racks of two nodes of 4 gpus: a0 a1 | b0 b1. */
static int setup(void **state)
{
    static const char *const names[] = {"a0", "a1", "b0", "b1"};

    (void)state;
    sched_world_init(&s, 12);
    for (size_t i = 0; i < 4; i++) {
        AUTO_FREE char *labels = mem_format("{'metadata':{'labels':{'rack':'r%zu'}}}", i / 2);

        sched_world_add_node(&s, names[i], 4);
        world_must(
            world_patch(&s.w, (struct target){.kind = "nodes", .name = names[i]}, labels, NULL));
    }
    sim_loop_run(s.w.loop);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

static void add_member(const char *group, const char *name, int gpus, const char *annotations)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','labels':{'scheduling.x-k8s.io/pod-group':'%s'},"
                   "'annotations':{%s}},'spec':{'containers':[{'name':'main','image':'host',"
                   "'resources':{'limits':{'nvidia.com/gpu':'%d'}}}]}}",
                   name, group, annotations, gpus);

    sched_world_create(&s, pods, text);
}

static void add_pod(const char *name, int gpus)
{
    world_must(world_add_pod(&s.w, "default", name, gpus));
    sim_loop_run(s.w.loop);
}

static void add_group(int min, const char *annotations)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'g','annotations':{%s}},'spec':{'minMember':%d}}", annotations, min);

    sched_world_create(&s, coscheduling, text);
}

#define REQUIRED  "'kueue.x-k8s.io/podset-required-topology':'rack'"
#define PREFERRED "'kueue.x-k8s.io/podset-preferred-topology':'rack'"

static void pods_of_one_set_are_in_one_rack(void **state)
{
    (void)state;
    add_pod("other", 1); /* on a0: 7 gpus are free in r0, and 8 in r1 */
    add_group(2, "");
    add_member("g", "p0", 4, REQUIRED);
    add_member("g", "p1", 4, REQUIRED);
    sched_world_assert_on(&s, "p0", "b0");
    sched_world_assert_on(&s, "p1", "b1");
}

static void a_rack_that_is_full_is_the_reason(void **state)
{
    (void)state;
    add_pod("o1", 4);
    add_pod("o2", 1);
    add_pod("o3", 4); /* free: a1 3, b1 4 */
    add_group(3, REQUIRED);
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        add_member("g", name, 2, "");
    }
    sched_world_assert_waits(&s, "p0", "needs 6 gpus in one rack; the most free in one is 4 (r1)");
    /* now it would rather be together, no more */
    world_must(world_patch(
        &s.w, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups", .name = "g"},
        "{'metadata':{'annotations':{'kueue.x-k8s.io/podset-required-topology':null," PREFERRED
        "}}}",
        NULL));
    sim_loop_run(s.w.loop);
    sched_world_assert_on(&s, "p0", "a1");
    sched_world_assert_on(&s, "p1", "b1");
    sched_world_assert_on(&s, "p2", "b1");
}

static void a_native_group_says_it_in_its_spec(void **state)
{
    (void)state;
    add_pod("other", 1);
    sched_world_create(
        &s, native,
        "{'metadata':{'name':'n'},'spec':{'schedulingPolicy':{'gang':{'minCount':2}},"
        "'schedulingConstraints':{'topology':[{'key':'rack'}]}}}");
    for (int i = 0; i < 2; i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'p%d'},'spec':{'schedulingGroup':{'podGroupName':'n'},"
                       "'containers':[{'name':'main','image':'host','resources':{'limits':{"
                       "'nvidia.com/gpu':'4'}}}]}}",
                       i);

        sched_world_create(&s, pods, text);
    }
    sched_world_assert_on(&s, "p0", "b0");
    sched_world_assert_on(&s, "p1", "b1");
}

static void pods_that_differ_share_a_rack(void **state)
{
    (void)state;
    add_pod("other", 1);
    add_group(2, REQUIRED);
    add_member("g", "p0", 4, "");
    sched_world_assert_waits(&s, "p0", "waits for 2 pods of its group; 1 is there");
    add_member("g", "p1", 2, "");
    sched_world_assert_on(&s, "p0", "a1"); /* 7 are free in r0: enough */
    sched_world_assert_on(&s, "p1", "a0");
}

static void one_that_is_replaced_stays_in_the_rack(void **state)
{
    (void)state;
    add_pod("other", 1);
    add_group(2, REQUIRED);
    add_member("g", "p0", 4, "");
    add_member("g", "p1", 4, "");
    sched_world_assert_on(&s, "p0", "b0");
    sched_world_assert_on(&s, "p1", "b1");
    sched_world_end_pod(&s, "p1", "Failed");
    add_pod("thief", 4);
    sched_world_assert_on(&s, "thief", "a1");
    sched_world_restart(&s);
    add_member("g", "p2", 4, "");
    sched_world_assert_on(&s, "p2", "b1");
    add_member("g", "p3", 1, ""); /* more than the gang needs, but of it: b0 and b1 are full */
    sched_world_advance(&s, 20);
    sched_world_assert_on(&s, "p3", "");
    sched_world_end_pod(&s, "p0", "Succeeded");
    sched_world_assert_on(&s, "p3", "b0");
}

static void what_cannot_be_a_domain_is_refused(void **state)
{
    static const struct {
        const char *annotations;
        const char *part;
    } cases[] = {
        {"'kueue.x-k8s.io/podset-required-topology':'no key'",
         "metadata.annotations[kueue.x-k8s.io/podset-required-topology]: Invalid value"},
        {"'mete.dev/gpu-link':'yes'", "metadata.annotations[mete.dev/gpu-link]: Unsupported value"},
        {"'kueue.x-k8s.io/podset-slice-size':'2'",
         "metadata.annotations[kueue.x-k8s.io/podset-slice-size]: Forbidden: is not implemented"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'p','annotations':{%s}},'spec':{'containers':["
                       "{'name':'main','image':'host'}]}}",
                       cases[i].annotations);
        AUTO(err_freep) struct err *e = world_create(&s.w, pods, text, NULL);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
        if (!strstr(err_message(e), cases[i].part))
            fail_msg("'%s' does not say '%s'", err_message(e), cases[i].part);
    }
}

/* A pod by itself is together. */
static void a_pod_by_itself_is_in_one_rack(void **state)
{
    (void)state;
    sched_world_create(&s, pods,
                       "{'metadata':{'name':'p','annotations':{" REQUIRED
                       "}},'spec':{'containers':[{'name':'main','image':'host'}]}}");
    sched_world_assert_on(&s, "p", "a0");
}

/* Emulated gpus of a test have no link groups: see test_engine_linked.c for where they go. */
static void gpus_that_are_to_be_linked_wait_for_a_group(void **state)
{
    (void)state;
    sched_world_create(&s, pods,
                       "{'metadata':{'name':'p','annotations':{'mete.dev/gpu-link':'required'}},"
                       "'spec':{'containers':[{'name':'main','image':'host','resources':"
                       "{'limits':{'nvidia.com/gpu':'2'}}}]}}");
    sched_world_assert_waits(&s, "p", "needs 2 linked gpus on one node; the largest has 0 (a0)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(pods_of_one_set_are_in_one_rack),
        TEST(a_rack_that_is_full_is_the_reason),
        TEST(a_native_group_says_it_in_its_spec),
        TEST(pods_that_differ_share_a_rack),
        TEST(one_that_is_replaced_stays_in_the_rack),
        TEST(what_cannot_be_a_domain_is_refused),
        TEST(a_pod_by_itself_is_in_one_rack),
        TEST(gpus_that_are_to_be_linked_wait_for_a_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
