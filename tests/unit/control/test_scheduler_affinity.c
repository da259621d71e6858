/*
 * test_scheduler_affinity.c - affinity and spread of pods through the objects, on nodes of two
 * racks
 */

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static void add_node(const char *name, const char *rack)
{
    AUTO_FREE char *labels = mem_format(
        "{'metadata':{'labels':{'kubernetes.io/hostname':'%s','rack':'%s'}}}", name, rack);

    sched_world_add_node(&s, name, 2);
    world_must(world_patch(&s.w, (struct target){.kind = "nodes", .name = name, .who = &ours},
                           labels, NULL));
    sim_loop_run(s.w.loop);
}

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 13);
    add_node("a1", "a");
    add_node("a2", "a");
    add_node("b1", "b");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

/* `spec` is the beginning of the pod's spec, with a comma at its end. */
static void add_pod_of(const char *ns, const char *name, const char *labels, const char *spec)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'%s','labels':{%s}},'spec':{%s'containers':[{'name':'main','image':"
        "'host','resources':{'limits':{'nvidia.com/gpu':'1'}}}]}}",
        name, labels, spec);

    sched_world_create(&s, (struct target){.kind = "pods", .ns = ns}, text);
}

static void add_pod(const char *name, const char *labels, const char *spec)
{
    add_pod_of("default", name, labels, spec);
}

#define REQUIRED  "'requiredDuringSchedulingIgnoredDuringExecution'"
#define PREFERRED "'preferredDuringSchedulingIgnoredDuringExecution'"
#define APART                                                                                 \
    "'affinity':{'podAntiAffinity':{" REQUIRED                                                \
    ":[{'labelSelector':{'matchLabels':{'app':'x'}},'topologyKey':'kubernetes.io/hostname'}]" \
    "}},"
#define TOGETHER                                                                      \
    "'affinity':{'podAffinity':{" REQUIRED                                            \
    ":[{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':[" \
    "'x','y']}]},'topologyKey':'rack'}]}},"
#define SPREAD                                                                            \
    "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'rack','whenUnsatisfiable':" \
    "'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}}],"
#define IN_RACK_B                                                                          \
    "'affinity':{'nodeAffinity':{" REQUIRED                                                \
    ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'rack','operator':'In','values':[" \
    "'b']}]}]}}},"
#define RATHER_B                                                                    \
    "'affinity':{'nodeAffinity':{" PREFERRED                                        \
    ":[{'weight':5,'preference':{'matchFields':[{'key':'metadata.name','operator':" \
    "'In','values':['b1']}]}}]}},"

static void node_affinity_is_kept(void **state)
{
    (void)state;
    add_pod("must", "", IN_RACK_B);
    sched_world_assert_on(&s, "must", "b1");
    add_pod("rather", "", RATHER_B);
    sched_world_assert_on(&s, "rather", "b1");
    add_pod("elsewhere", "", RATHER_B); /* b1 is full */
    sched_world_assert_on(&s, "elsewhere", "a1");
    add_pod("waits", "", IN_RACK_B);
    sched_world_assert_on(&s, "waits", "");
    sched_world_end_pod(&s, "rather", "Succeeded");
    sched_world_assert_on(&s, "waits", "b1");
}

static void one_on_each_node(void **state)
{
    (void)state;
    add_pod("x0", "'app':'x'", APART);
    add_pod("x1", "'app':'x'", APART);
    add_pod("x2", "'app':'x'", APART);
    add_pod("x3", "'app':'x'", APART);
    sched_world_assert_on(&s, "x0", "a1");
    sched_world_assert_on(&s, "x1", "a2");
    sched_world_assert_on(&s, "x2", "b1");
    sched_world_advance(&s, 10);
    sched_world_assert_waits(
        &s, "x3", "pod anti-affinity of job 1 keeps away app=x on kubernetes.io/hostname (a1)");
    add_pod_of("kube-system", "other", "'app':'x'", ""); /* in another namespace */
    sched_world_end_pod(&s, "x1", "Succeeded");
    sched_world_assert_on(&s, "x3", "a2");
}

static void rules_see_labels_as_they_are_now(void **state)
{
    (void)state;
    add_pod("x0", "'app':'x'", "");
    add_pod("y0", "'app':'y'", APART);
    sched_world_assert_on(&s, "y0", "a2"); /* fuller nodes first, except for x0 */
    world_must(world_patch(&s.w, (struct target){.kind = "pods", .name = "x0"},
                           "{'metadata':{'labels':{'app':'z'}}}", NULL));
    sim_loop_run(s.w.loop);
    add_pod("y1", "'app':'y'", APART);
    sched_world_assert_on(&s, "y1", "a1");
}

static void pods_go_where_others_are(void **state)
{
    (void)state;
    add_pod("first", "'app':'z'", TOGETHER);
    sched_world_advance(&s, 10);
    sched_world_assert_waits(&s, "first",
                             "pod affinity app in (x, y) on rack: no such pod is "
                             "there (a1)");
    add_pod("y", "'app':'y'", IN_RACK_B);
    sched_world_assert_on(&s, "y", "b1");
    sched_world_assert_on(&s, "first", "b1");
}

static void spread_holds_after_a_restart(void **state)
{
    (void)state;
    add_pod("x0", "'app':'x'", SPREAD);
    add_pod("x1", "'app':'x'", SPREAD);
    sched_world_assert_on(&s, "x0", "a1");
    sched_world_assert_on(&s, "x1", "b1");
    sched_world_restart(&s);
    add_pod("x2", "'app':'x'", SPREAD);
    add_pod("x3", "'app':'x'", SPREAD);
    sched_world_assert_on(&s, "x2", "a1");
    sched_world_assert_on(&s, "x3", "b1");
    add_pod("x4", "'app':'x'", SPREAD);
    add_pod("x5", "'app':'x'", SPREAD);
    sched_world_assert_on(&s, "x4", "a2");
    sched_world_advance(&s, 10);
    sched_world_assert_waits(&s, "x5",
                             "topology spread app=x on rack: skew would be 2 of at most "
                             "1 (a2)");
}

static void the_pods_of_a_gang_count_for_each_other(void **state)
{
    (void)state;
    sched_world_create(
        &s, (struct target){.group = "scheduling.k8s.io", .kind = "podgroups"},
        "{'metadata':{'name':'g'},'spec':{'schedulingPolicy':{'gang':{'minCount':3}}}}");
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("g%d", i);
        AUTO_FREE char *labels =
            mem_format("'app':'x','batch.kubernetes.io/job-completion-index':'%d'", i);

        add_pod(name, labels, "'schedulingGroup':{'podGroupName':'g'}," APART);
    }
    sched_world_assert_on(&s, "g0", "a1");
    sched_world_assert_on(&s, "g1", "a2");
    sched_world_assert_on(&s, "g2", "b1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(node_affinity_is_kept),
        TEST(one_on_each_node),
        TEST(rules_see_labels_as_they_are_now),
        TEST(pods_go_where_others_are),
        TEST(spread_holds_after_a_restart),
        TEST(the_pods_of_a_gang_count_for_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
