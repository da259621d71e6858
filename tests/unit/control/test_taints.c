/* test_taints.c - NoExecute taints end pods: who, when, and after a restart */
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "mem_storage.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

#define NODE ((struct target){.kind = "nodes", .name = "a", .who = &root})

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 31);
    sched_world_add_node(&s, "a", 8);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

/* Runs a pod. `tolerations` is a list; NULL: only the default ones. */
static void run(const char *name, const char *tolerations)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'%s'},'spec':{'restartPolicy':'Never','terminationGracePeriodSeconds':"
        "20,'tolerations':%s,'containers':[{'name':'main','image':'host'}]}}",
        name, tolerations ? tolerations : "[]");

    sched_world_create(&s, (struct target){.kind = "pods"}, text);
    sched_world_assert_on(&s, name, "a");
    sched_world_run_pod(&s, name);
}

static void taint(const char *taints)
{
    AUTO_FREE char *text = mem_format("{'spec':{'taints':%s}}", taints);

    world_must(world_patch(&s.w, NODE, text, NULL));
    sim_loop_run(s.w.loop);
}

static bool is_ending(const char *name)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);
    const json_t *condition = object_condition(pod, "DisruptionTarget");

    if (!pod_is_deleting(pod))
        return false;
    assert_string_equal(json_text(condition, "reason"), "DeletionByTaintManager");
    assert_string_equal(json_text(condition, "message"),
                        "Taint manager: deleting due to NoExecute taint");
    return true;
}

static bool has_event(const char *message)
{
    struct store_range range = {.group = "", .resource = "events"};
    const struct store_object *o = NULL;
    bool is_there = false;

    while ((o = store_next(s.w.store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *event = NULL;

        world_must(objects_decode(o, &event));
        is_there = is_there || (text_equal(json_text(event, "reason"), "TaintManagerEviction") &&
                                text_equal(json_text(event, "message"), message));
    }
    return is_there;
}

static void a_pod_ends_that_does_not_tolerate_it(void **state)
{
    (void)state;
    run("none", NULL);
    run("other", "[{'key':'k','operator':'Equal','value':'w','effect':'NoExecute'}]");
    run("always", "[{'key':'k','operator':'Equal','value':'v','effect':'NoExecute'}]");
    run("all", "[{'operator':'Exists'}]");
    taint("[{'key':'k','value':'v','effect':'NoSchedule'}]");
    assert_false(is_ending("none"));
    taint("[{'key':'k','value':'v','effect':'NoExecute'}]");
    assert_true(is_ending("none"));
    assert_true(is_ending("other"));
    assert_true(has_event("Marking for deletion Pod default/none"));
    sched_world_advance(&s, 100000);
    assert_false(is_ending("always"));
    assert_false(is_ending("all"));
}

static void a_pod_that_no_controller_makes_anew_comes_back(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    run("p", NULL);
    taint("[{'key':'k','effect':'NoExecute'}]");
    sched_world_finish_deletion(&s, "p");
    sched_world_advance(&s, 1);
    pod = sched_world_pod(&s, "p");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_REQUEUES, NULL), "1");
    assert_string_equal(pod_node(pod), "");
    taint("null");
    sched_world_assert_on(&s, "p", "a");
}

static void the_shortest_toleration_counts_from_the_taint_on(void **state)
{
    (void)state;
    run("p", "[{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':60},"
             "{'key':'l','operator':'Exists','effect':'NoExecute','tolerationSeconds':30},"
             "{'key':'m','operator':'Exists','effect':'NoExecute','tolerationSeconds':0}]");
    taint("[{'key':'k','effect':'NoExecute'}]");
    sched_world_advance(&s, 20);
    taint("[{'key':'k','effect':'NoExecute','timeAdded':'2026-01-01T00:00:01Z'},"
          "{'key':'l','effect':'NoExecute'}]");
    sched_world_advance(&s, 28);
    assert_false(is_ending("p"));
    sched_world_advance(&s, 4);
    assert_true(is_ending("p"));
}

static void a_restart_does_not_begin_anew(void **state)
{
    (void)state;
    run("p", "[{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':60}]");
    taint("[{'key':'k','effect':'NoExecute'}]");
    sched_world_advance(&s, 40);
    sched_world_restart(&s);
    sched_world_advance(&s, 15);
    assert_false(is_ending("p"));
    sched_world_advance(&s, 10);
    assert_true(is_ending("p"));
}

static void a_pod_stays_where_the_taint_goes_in_time(void **state)
{
    (void)state;
    run("p", "[{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':60}]");
    taint("[{'key':'k','effect':'NoExecute'}]");
    sched_world_advance(&s, 40);
    taint("null");
    assert_true(has_event("Cancelling deletion of Pod default/p"));
    sched_world_advance(&s, 1000);
    assert_false(is_ending("p"));
}

/* The pod's tolerationSeconds begin with its own start, not with the taint. */
static void a_pod_that_comes_later_has_its_seconds(void **state)
{
    (void)state;
    taint("[{'key':'k','effect':'NoExecute'}]");
    sched_world_advance(&s, 100);
    run("p", "[{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':60}]");
    sched_world_advance(&s, 50);
    assert_false(is_ending("p"));
    sched_world_advance(&s, 15);
    assert_true(is_ending("p"));
}

static void an_end_that_is_taken_back_is_tried_again(void **state)
{
    (void)state;
    run("p", NULL);
    mem_storage_refuse_once(s.w.disk, "requeues", STORE_CREATED);
    taint("[{'key':'k','effect':'NoExecute'}]");
    assert_false(is_ending("p"));
    sched_world_advance(&s, 10);
    assert_true(is_ending("p"));
}

/* Every pod tolerates an unreachable node for 300 s; pods of a cluster's only node have no other
 * node. */
static void a_silent_node_gives_up_its_pods_where_another_is_ready(void **state)
{
    (void)state;
    run("p", NULL);
    sched_world_advance(&s, 3700); /* the grace of these worlds is an hour */
    sched_world_advance(&s, 400);
    assert_false(is_ending("p"));
    sched_world_add_node(&s, "b", 1);
    sched_world_advance(&s, 290);
    assert_false(is_ending("p"));
    sched_world_advance(&s, 20);
    assert_true(is_ending("p"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_pod_ends_that_does_not_tolerate_it),
        TEST(a_pod_that_no_controller_makes_anew_comes_back),
        TEST(the_shortest_toleration_counts_from_the_taint_on),
        TEST(a_restart_does_not_begin_anew),
        TEST(a_pod_stays_where_the_taint_goes_in_time),
        TEST(a_pod_that_comes_later_has_its_seconds),
        TEST(an_end_that_is_taken_back_is_tried_again),
        TEST(a_silent_node_gives_up_its_pods_where_another_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
