/* test_scheduler_deadline.c - bindings and evictions that the cluster loses, or does not answer */
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "mete/engine.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    s = (struct sched_world){.faults = {.turns_max = 6}};
    sched_world_init(&s, 37);
    sched_world_add_node(&s, "a", 2);
    sched_world_create(
        &s, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        "{'metadata':{'name':'high'},'value':1000}");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

static void add(struct pod_ask a)
{
    sched_world_add_pod(&s, &a);
}

static size_t count_events(const char *reason, const char *message)
{
    struct store_range range = {.group = "", .resource = "events"};
    struct store_list list = {0};
    size_t n = 0;

    world_must(store_list(s.w.store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *event = NULL;

        world_must(objects_decode(list.at[i], &event));
        n += text_equal(json_text(event, "reason"), reason) &&
             text_equal(json_text(event, "message"), message);
    }
    store_list_done(&list);
    return n;
}

static void a_lost_binding_is_given_back_and_made_again(void **state)
{
    AUTO_FREE char *holder = NULL;

    (void)state;
    mem_cluster_lose(s.cluster, 0, 100);
    add((struct pod_ask){.name = "p", .gpus = 2});
    sched_world_advance(&s, 59);
    sched_world_assert_on(&s, "p", "");
    assert_int_not_equal(mete_gpu_holder(control_engine(s.control), "GPU-a-0"), 0);
    mem_cluster_lose(s.cluster, 0, 0);
    sched_world_advance(&s, 10);
    sched_world_assert_on(&s, "p", "a");
    holder = ledger_holder(s.w.store, "GPU-a-0");
    assert_string_equal(holder, "default/p");
    assert_int_equal(count_events("FailedBinding", "The binding to a was taken back and is tried "
                                                   "again: no answer came within 60 s"),
                     1);
    assert_int_equal(count_events("Scheduled", "Successfully assigned default/p to a"), 1);
}

static void a_lost_gang_is_given_back_as_a_whole(void **state)
{
    (void)state;
    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       "{'metadata':{'name':'g'},'spec':{'minMember':2}}");
    mem_cluster_lose(s.cluster, 0, 100);
    add((struct pod_ask){.name = "p", .gpus = 1, .group = "g"});
    add((struct pod_ask){.name = "q", .gpus = 1, .group = "g"});
    sched_world_advance(&s, 59);
    mem_cluster_lose(s.cluster, 0, 0);
    sched_world_advance(&s, 10);
    sched_world_assert_on(&s, "p", "a");
    sched_world_assert_on(&s, "q", "a");
}

/* The watch tells of the binding: nothing is given back. */
static void a_lost_answer_does_no_harm(void **state)
{
    (void)state;
    mem_cluster_lose(s.cluster, 100, 0);
    add((struct pod_ask){.name = "p", .gpus = 2});
    sched_world_assert_on(&s, "p", "a");
    sched_world_advance(&s, 200);
    sched_world_assert_on(&s, "p", "a");
    assert_int_equal(count_events("FailedBinding", "The binding to a was taken back and is tried "
                                                   "again: no answer came within 60 s"),
                     0);
    assert_int_equal(count_events("Scheduled", "Successfully assigned default/p to a"), 1);
}

static void a_pod_that_is_deleted_meanwhile_leaves_the_room_to_others(void **state)
{
    (void)state;
    mem_cluster_lose(s.cluster, 0, 100);
    add((struct pod_ask){.name = "p", .gpus = 2});
    mem_cluster_lose(s.cluster, 0, 0);
    add((struct pod_ask){.name = "q", .gpus = 2});
    sched_world_assert_on(&s, "q", "");
    world_must(world_delete(&s.w, (struct target){.kind = "pods", .ns = "default", .name = "p"},
                            NULL, NULL));
    sched_world_assert_on(&s, "q", "a");
}

static void a_lost_eviction_is_asked_for_again(void **state)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 2});
    sched_world_run_pod(&s, "low");
    mem_cluster_lose(s.cluster, 0, 100);
    add((struct pod_ask){.name = "p", .gpus = 2, .class = "high"});
    sched_world_advance(&s, 59);
    before = sched_world_pod(&s, "low");
    assert_false(pod_is_deleting(before));
    mem_cluster_lose(s.cluster, 0, 0);
    sched_world_advance(&s, 10);
    after = sched_world_pod(&s, "low");
    assert_true(pod_is_deleting(after));
    assert_int_equal(count_events("FailedPreemption",
                                  "The preemption is tried again: no answer came within 60 s"),
                     1);
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "p", "a");
}

static void a_lost_eviction_by_a_taint_is_asked_for_again(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add((struct pod_ask){.name = "p", .gpus = 2});
    sched_world_run_pod(&s, "p");
    mem_cluster_lose(s.cluster, 0, 100);
    world_must(world_patch(&s.w, (struct target){.kind = "nodes", .name = "a", .who = &root},
                           "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}", NULL));
    sched_world_advance(&s, 30);
    mem_cluster_lose(s.cluster, 0, 0);
    sched_world_advance(&s, 61);
    pod = sched_world_pod(&s, "p");
    assert_true(pod_is_deleting(pod));
}

/* The class may come after the group that names it. */
static void a_gang_takes_the_priority_of_a_class_that_comes_late(void **state)
{
    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 2});
    sched_world_create(
        &s, (struct target){.group = "scheduling.volcano.sh", .kind = "podgroups"},
        "{'metadata':{'name':'g'},'spec':{'minMember':2,'priorityClassName':'top'}}");
    for (int i = 0; i < 2; i++) {
        AUTO_FREE char *text = mem_format(
            "{'metadata':{'name':'g%d','annotations':{'scheduling.k8s.io/group-name':'g'}},'spec':{"
            "'containers':[{'name':'m','image':'host','resources':{'limits':{'nvidia.com/gpu':'1'}}"
            "}]}}",
            i);

        sched_world_create(&s, (struct target){.kind = "pods"}, text);
    }
    sched_world_assert_on(&s, "g0", "");
    sched_world_create(
        &s, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        "{'metadata':{'name':'top'},'value':5000}");
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "g0", "a");
    sched_world_assert_on(&s, "g1", "a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lost_binding_is_given_back_and_made_again),
        TEST(a_lost_gang_is_given_back_as_a_whole),
        TEST(a_lost_answer_does_no_harm),
        TEST(a_pod_that_is_deleted_meanwhile_leaves_the_room_to_others),
        TEST(a_lost_eviction_is_asked_for_again),
        TEST(a_lost_eviction_by_a_taint_is_asked_for_again),
        TEST(a_gang_takes_the_priority_of_a_class_that_comes_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
