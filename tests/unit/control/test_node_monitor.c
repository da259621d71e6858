/* test_node_monitor.c - tests of the server's monitor of nodes */

#include "base/mem.h"
#include "control/node_monitor.h"
#include "kinds/pod/pod_state.h"
#include "test.h"
#include "world.h"

#define SEC  INT64_C(1000000000)
#define NODE ((struct target){.kind = "nodes", .name = "n", .who = &ours})
#define LEASE                                        \
    ((struct target){.group = "coordination.k8s.io", \
                     .kind = "leases",               \
                     .ns = "kube-node-lease",        \
                     .name = "n",                    \
                     .who = &ours})
#define STATUS ((struct target){.kind = "nodes", .name = "n", .sub = "status", .who = &ours})

static struct node_monitor *start(struct world *w)
{
    struct node_monitor_options options = {.loop = w->loop, .objects = w->objects};
    struct node_monitor *m = NULL;

    world_must(node_monitor_new(&options, &m));
    sim_loop_run(w->loop);
    return m;
}

/* The node reports its condition Ready. */
static void report(struct world *w, const char *ready)
{
    AUTO_FREE char *text =
        mem_format("{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}", ready);

    world_must(world_patch(w, STATUS, text, NULL));
    sim_loop_run(w->loop);
}

/* The node renews its Lease; `n` makes the stamp. */
static void renew(struct world *w, int n)
{
    AUTO_FREE char *spec = mem_format("'spec':{'holderIdentity':'n','leaseDurationSeconds':40,"
                                      "'renewTime':'2001-01-01T00:00:%02d.000000Z'}}",
                                      n);
    AUTO_FREE char *patch = mem_format("{%s", spec);
    AUTO_FREE char *whole =
        mem_format("{'metadata':{'name':'n','namespace':'kube-node-lease'},%s", spec);
    AUTO(json_freep) json_t *had = world_get(w, LEASE);

    if (had)
        world_must(world_patch(w, LEASE, patch, NULL));
    else
        world_must(world_create(w, LEASE, whole, NULL));
    sim_loop_run(w->loop);
}

static void beat(struct world *w, const char *ready, int n)
{
    renew(w, n);
    report(w, ready);
}

static void prepare(struct world *w)
{
    const struct target ns = {.kind = "namespaces", .name = "kube-node-lease", .who = &ours};

    world_must(world_create(w, ns, "{'metadata':{'name':'kube-node-lease'}}", NULL));
    world_add_node(w, "n", 0);
}

static void is_now(struct world *w, const char *ready, const char *taints)
{
    AUTO(json_freep) json_t *node = world_get(w, NODE);
    const json_t *list = json_at(node, "spec", "taints", NULL);
    const char *status = json_text(object_condition(node, "Ready"), "status");
    struct buf text = {0};

    buf_add_text(&text, "");
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&text, "%s%s:%s", i > 0 ? "," : "", json_text(json_array_get(list, i), "key"),
                   json_text(json_array_get(list, i), "effect"));
    assert_string_equal(status ? status : "", ready);
    assert_string_equal(text.at ? text.at : "", taints);
    buf_done(&text);
}

static void a_silent_node_becomes_unknown_and_comes_back(void **state)
{
    struct world w;
    struct node_monitor *m;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    is_now(&w, "", "node.kubernetes.io/not-ready:NoSchedule");
    beat(&w, "True", 0);
    is_now(&w, "True", "");
    for (int i = 1; i < 12; i++) {
        sim_loop_advance(w.loop, 10 * SEC);
        renew(&w, i);
    }
    is_now(&w, "True", "");
    sim_loop_advance(w.loop, 39 * SEC);
    is_now(&w, "True", "");
    sim_loop_advance(w.loop, 2 * SEC);
    is_now(&w, "Unknown", "node.kubernetes.io/unreachable:NoSchedule");
    beat(&w, "True", 30);
    is_now(&w, "True", "");
    node_monitor_free(m);
    world_done(&w);
}

/* Reports and writes of others are none. */
static void only_a_renewal_is_a_sign_of_life(void **state)
{
    struct world w;
    struct node_monitor *m;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    beat(&w, "True", 1);
    for (int i = 0; i < 5; i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'labels':{'x':'%d'}}}", i);

        sim_loop_advance(w.loop, 9 * SEC);
        world_must(world_patch(&w, NODE, text, NULL));
        world_must(world_patch(&w, LEASE, text, NULL)); /* the same renewTime */
        report(&w, "True");
    }
    is_now(&w, "Unknown", "node.kubernetes.io/unreachable:NoSchedule");
    node_monitor_free(m);
    world_done(&w);
}

static void nobodys_wall_clock_counts(void **state)
{
    struct world w;
    struct node_monitor *m;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    beat(&w, "True", 30);
    sim_loop_step_wall(w.loop, 86400 * SEC);
    sim_loop_advance(w.loop, 10 * SEC);
    beat(&w, "True", 2); /* the node's clock went back */
    sim_loop_step_wall(w.loop, INT64_C(-2) * 86400 * SEC);
    sim_loop_advance(w.loop, 35 * SEC);
    is_now(&w, "True", "");
    node_monitor_free(m);
    world_done(&w);
}

/* A second node, without a Lease of the test's, which is ready for as long as the test says so. */
static void other_is_ready(struct world *w, int n)
{
    const struct target other = {.kind = "nodes", .name = "m", .sub = "status", .who = &ours};
    const struct target lease = {.group = "coordination.k8s.io",
                                 .kind = "leases",
                                 .ns = "kube-node-lease",
                                 .name = "m",
                                 .who = &ours};
    AUTO_FREE char *spec = mem_format("'spec':{'renewTime':'2001-01-01T00:00:%02d.000000Z'}}", n);
    AUTO_FREE char *patch = mem_format("{%s", spec);
    AUTO_FREE char *whole =
        mem_format("{'metadata':{'name':'m','namespace':'kube-node-lease'},%s", spec);

    if (n == 0) {
        world_add_node(w, "m", 0);
        world_must(world_create(w, lease, whole, NULL));
    } else {
        world_must(world_patch(w, lease, patch, NULL));
    }
    world_must(world_patch(w, other, "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
                           NULL));
    sim_loop_run(w->loop);
}

/* Lets `seconds` pass, in which the other node renews its Lease. */
static void pass(struct world *w, int seconds, int *n)
{
    for (int i = 0; i < seconds; i++) {
        sim_loop_advance(w->loop, SEC);
        if (i % 10 == 0)
            other_is_ready(w, ++*n % 60);
    }
}

static void a_fenced_node_is_evicted_from_once_its_pods_have_surely_ended(void **state)
{
    static const struct {
        const char *annotation;
        const char *early; /* after the lease */
    } cases[] = {
        {"null", "node.kubernetes.io/unreachable:NoSchedule,node.kubernetes.io/unreachable:"
                 "NoExecute"},
        {"'true'", "node.kubernetes.io/unreachable:NoSchedule"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *mark =
            mem_format("{'metadata':{'annotations':{'mete.dev/fenced':%s}}}", cases[i].annotation);
        struct world w;
        struct node_monitor *m;
        int n = 0;

        world_init(&w, 1);
        prepare(&w);
        other_is_ready(&w, 0);
        world_must(world_patch(&w, NODE, mark, NULL));
        m = start(&w);
        beat(&w, "True", 1);
        pass(&w, 42, &n);
        is_now(&w, "Unknown", cases[i].early);
        pass(&w, 36, &n); /* 78 s */
        is_now(&w, "Unknown", cases[i].early);
        pass(&w, 4, &n);
        is_now(&w, "Unknown", cases[0].early);
        node_monitor_free(m); /* a restart takes nothing back */
        world_restart(&w);
        m = start(&w);
        pass(&w, 5, &n);
        is_now(&w, "Unknown", cases[0].early);
        beat(&w, "True", 30);
        is_now(&w, "True", "");
        node_monitor_free(m);
        world_done(&w);
    }
}

static void a_restart_gives_the_nodes_their_time_again(void **state)
{
    struct world w;
    struct node_monitor *m;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    beat(&w, "True", 1);
    sim_loop_advance(w.loop, 30 * SEC);
    node_monitor_free(m);
    world_restart(&w);
    m = start(&w);
    sim_loop_advance(w.loop, 30 * SEC);
    is_now(&w, "True", "");
    sim_loop_advance(w.loop, 11 * SEC);
    is_now(&w, "Unknown", "node.kubernetes.io/unreachable:NoSchedule");
    node_monitor_free(m);
    world_done(&w);
}

static void a_cordon_is_a_taint_and_others_stay(void **state)
{
    struct world w;
    struct node_monitor *m;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    beat(&w, "True", 1);
    world_must(world_patch(
        &w, NODE, "{'spec':{'taints':[{'key':'mine','value':'v','effect':'NoExecute'}]}}", NULL));
    world_must(world_patch(&w, NODE, "{'spec':{'unschedulable':true}}", NULL));
    sim_loop_run(w.loop);
    is_now(&w, "True", "mine:NoExecute,node.kubernetes.io/unschedulable:NoSchedule");
    beat(&w, "False", 2);
    is_now(&w, "False",
           "mine:NoExecute,node.kubernetes.io/not-ready:NoSchedule,"
           "node.kubernetes.io/unschedulable:NoSchedule");
    world_must(world_patch(&w, NODE, "{'spec':{'unschedulable':null}}", NULL));
    beat(&w, "True", 3);
    is_now(&w, "True", "mine:NoExecute");
    node_monitor_free(m);
    world_done(&w);
}

static void nothing_is_written_while_nothing_changes(void **state)
{
    struct world w;
    struct node_monitor *m;
    int64_t revision;

    (void)state;
    world_init(&w, 1);
    prepare(&w);
    m = start(&w);
    sim_loop_advance(w.loop, 60 * SEC);
    is_now(&w, "Unknown", "node.kubernetes.io/unreachable:NoSchedule");
    revision = store_revision(w.store);
    sim_loop_advance(w.loop, 3600 * SEC);
    assert_int_equal(store_revision(w.store), revision);
    node_monitor_free(m);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_node_becomes_unknown_and_comes_back),
        cmocka_unit_test(only_a_renewal_is_a_sign_of_life),
        cmocka_unit_test(nobodys_wall_clock_counts),
        cmocka_unit_test(a_fenced_node_is_evicted_from_once_its_pods_have_surely_ended),
        cmocka_unit_test(a_restart_gives_the_nodes_their_time_again),
        cmocka_unit_test(a_cordon_is_a_taint_and_others_stay),
        cmocka_unit_test(nothing_is_written_while_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
