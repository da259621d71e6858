/*
 * test_scheduler_topology.c - gangs in one rack, from the words of three APIs to the nodes of their
 * pods
 */

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
    /* the domain is only preferred now */
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
    add_member("g", "p3", 1, ""); /* an extra of the gang: b0 and b1 are full */
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
    for (size_t i = 0; i < COUNT(cases); i++) {
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

/* A single pod is always together. */
static void a_pod_by_itself_is_in_one_rack(void **state)
{
    (void)state;
    sched_world_create(&s, pods,
                       "{'metadata':{'name':'p','annotations':{" REQUIRED
                       "}},'spec':{'containers':[{'name':'main','image':'host'}]}}");
    sched_world_assert_on(&s, "p", "a0");
}

/* Emulated gpus have no link groups: test_engine_linked.c tests their choice. */
static void gpus_that_are_to_be_linked_wait_for_a_group(void **state)
{
    (void)state;
    sched_world_create(&s, pods,
                       "{'metadata':{'name':'p','annotations':{'mete.dev/gpu-link':'required'}},"
                       "'spec':{'containers':[{'name':'main','image':'host','resources':"
                       "{'limits':{'nvidia.com/gpu':'2'}}}]}}");
    sched_world_assert_waits(&s, "p", "needs 2 linked gpus on one node; the largest has 0 (a0)");
}

static const struct target volcano = {.group = "scheduling.volcano.sh", .kind = "podgroups"};

static struct err *add_volcano(int min, const char *topology)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'v'},'spec':{'minMember':%d,"
                                      "'networkTopology':{%s}}}",
                                      min, topology);
    struct err *e = world_create(&s.w, volcano, text, NULL);

    sim_loop_run(s.w.loop);
    return e;
}

static void add_volcano_member(const char *name, int gpus)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','annotations':{'scheduling.k8s.io/group-name':'v'}},"
                   "'spec':{'containers':[{'name':'main','image':'host',"
                   "'resources':{'limits':{'nvidia.com/gpu':'%d'}}}]}}",
                   name, gpus);

    sched_world_create(&s, pods, text);
}

/* Adds a tier above the racks: both racks are in one block. */
static void add_tiers(void)
{
    static const char *const names[] = {"a0", "a1", "b0", "b1"};

    world_must(network_tiers_parse("rack,block", &s.w.network_tiers));
    for (size_t i = 0; i < 4; i++)
        world_must(world_patch(&s.w, (struct target){.kind = "nodes", .name = names[i]},
                               "{'metadata':{'labels':{'block':'k0'}}}", NULL));
    sim_loop_run(s.w.loop);
}

static void volcanos_tiers_are_labels(void **state)
{
    (void)state;
    add_tiers();
    add_pod("other", 1);
    world_must(add_volcano(2, "'mode':'hard','highestTierAllowed':1"));
    add_volcano_member("p0", 4);
    add_volcano_member("p1", 4);
    sched_world_assert_on(&s, "p0", "b0");
    sched_world_assert_on(&s, "p1", "b1");
}

static void volcanos_hard_mode_waits_for_a_tier_and_is_told_so(void **state)
{
    (void)state;
    add_tiers();
    add_pod("other", 1);
    world_must(add_volcano(3, "'highestTierAllowed':1"));
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        add_volcano_member(name, 4);
    }
    sched_world_assert_waits(&s, "p0",
                             "needs 12 gpus in one rack; the most there are in one is 8 (r0)");
    /* the block has room */
    world_must(world_patch(
        &s.w, (struct target){.group = volcano.group, .kind = volcano.kind, .name = "v"},
        "{'spec':{'networkTopology':{'highestTierAllowed':null,'highestTierName':'block'}}}",
        NULL));
    sim_loop_run(s.w.loop);
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);
        AUTO_FREE char *node = sched_world_node_of(&s, name);

        assert_string_not_equal(node, "");
    }
}

static void volcanos_soft_mode_is_rather_near(void **state)
{
    (void)state;
    add_tiers();
    add_pod("o1", 4);
    add_pod("o2", 1);
    add_pod("o3", 4); /* free: a1 3, b1 4 */
    world_must(add_volcano(2, "'mode':'soft'"));
    add_volcano_member("p0", 2);
    add_volcano_member("p1", 2);
    sched_world_assert_on(&s, "p0", "b1");
    sched_world_assert_on(&s, "p1", "b1");
    sched_world_end_pod(&s, "p0", "Succeeded");
    sched_world_end_pod(&s, "p1", "Succeeded");
    add_volcano_member("p2", 2);
    sched_world_assert_on(&s, "p2", "a1"); /* single pods go to any free gpus */
}

/* The tiers at admission stay, whatever the configuration or a client says later. */
static void tiers_are_kept_with_the_group(void **state)
{
    const struct target v = {.group = volcano.group, .kind = volcano.kind, .name = "v"};
    AUTO(json_freep) json_t *group = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    add_tiers();
    world_must(add_volcano(2, "'mode':'hard','highestTierAllowed':2"));
    network_tiers_done(&s.w.network_tiers);
    e = world_patch(&s.w, v, "{'metadata':{'annotations':{'mete.dev/network-tier-1':'other'}}}",
                    NULL);
    assert_non_null(e);
    assert_non_null(strstr(err_message(e), "are set by the system only"));
    world_must(world_patch(&s.w, v, "{'metadata':{'labels':{'x':'y'}}}", NULL));
    group = world_get(&s.w, v);
    assert_string_equal(
        json_text_at(group, "metadata", "annotations", "mete.dev/network-tier-1", NULL), "rack");
    assert_string_equal(
        json_text_at(group, "metadata", "annotations", "mete.dev/network-tier-2", NULL), "block");
    assert_string_equal(
        json_text_at(group, "metadata", "annotations", "mete.dev/network-tier-required", NULL),
        "block");
    world_must(world_patch(&s.w, v, "{'spec':{'networkTopology':null}}", NULL));
    json_decref(group);
    group = world_get(&s.w, v);
    assert_null(json_at(group, "metadata", "annotations", "mete.dev/network-tier-1", NULL));
}

static void tiers_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *topology;
        const char *part;
    } cases[] = {
        {"'mode':'near'", "spec.networkTopology.mode: Unsupported value"},
        {"'mode':'hard'", "spec.networkTopology.highestTierAllowed: Required value: in mode hard"},
        {"'highestTierAllowed':3",
         "spec.networkTopology.highestTierAllowed: Invalid value: 3: there "
         "are 2 tiers"},
        {"'highestTierAllowed':0", "spec.networkTopology.highestTierAllowed: Invalid value"},
        {"'highestTierName':'zone'", "spec.networkTopology.highestTierName: Not found"},
        {"'highestTierName':'rack','highestTierAllowed':1",
         "spec.networkTopology.highestTierName: Forbidden: highestTierAllowed is set already"},
    };
    AUTO(err_freep) struct err *refused = add_volcano(1, "'mode':'soft'");
    AUTO(err_freep) struct err *twice = NULL;

    (void)state;
    assert_non_null(refused);
    assert_non_null(strstr(err_message(refused),
                           "spec.networkTopology: Forbidden: not implemented without tiers"));
    add_tiers();
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = add_volcano(1, cases[i].topology);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
        if (!strstr(err_message(e), cases[i].part))
            fail_msg("'%s' does not say '%s'", err_message(e), cases[i].part);
    }
    twice = world_create(&s.w, volcano,
                         "{'metadata':{'name':'v','annotations':{" REQUIRED
                         "}},'spec':{'networkTopology':{'mode':'soft'}}}",
                         NULL);
    assert_non_null(twice);
    assert_non_null(
        strstr(err_message(twice), "the annotations have topology constraints already"));
}

static void tiers_are_read_from_a_text(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"rack,rack", "\"rack\" is tier 1 already"},
        {"a,b,c,d,e", "more than 4 tiers"},
        {"rack,,block", "tier 2, \"\": "},
        {"no key", "tier 1, \"no key\": "},
    };
    struct network_tiers t = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = network_tiers_parse(cases[i].text, &t);

        assert_non_null(e);
        if (!text_starts_with(err_message(e), cases[i].message))
            fail_msg("'%s' does not begin with '%s'", err_message(e), cases[i].message);
        assert_int_equal(t.n, 0);
    }
    world_must(network_tiers_parse("", &t));
    assert_int_equal(t.n, 0);
    world_must(network_tiers_parse("nvidia.com/gpu.clique,rack", &t));
    assert_int_equal(t.n, 2);
    assert_string_equal(t.keys[0], "nvidia.com/gpu.clique");
    network_tiers_done(&t);
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
        TEST(volcanos_tiers_are_labels),
        TEST(volcanos_hard_mode_waits_for_a_tier_and_is_told_so),
        TEST(volcanos_soft_mode_is_rather_near),
        TEST(tiers_are_kept_with_the_group),
        TEST(tiers_that_cannot_be_are_refused),
        cmocka_unit_test(tiers_are_read_from_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
