/*
 * test_scheduler_elastic.c - groups with elastic pods: they grow as room comes, and their elastic
 * pods are evicted first
 */

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 29);
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

static void add_group(const char *name, int min)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'minMember':%d}}", name, min);

    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       text);
}

static void add(struct pod_ask a)
{
    sched_world_add_pod(&s, &a);
    sched_world_advance(&s, 1); /* orders their creation times */
}

static void add_members(const char *group, int n)
{
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *name = mem_format("%s%d", group, i);

        add((struct pod_ask){.name = name, .gpus = 1, .group = group});
    }
}

static void assert_placed(const char *group, int n)
{
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *name = mem_format("%s%d", group, i);
        AUTO_FREE char *node = sched_world_node_of(&s, name);

        assert_string_not_equal(node, "");
        assert_string_not_equal(node, "gone");
    }
}

static bool is_leaving(const char *name)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);

    return pod && pod_is_deleting(pod);
}

static void assert_leaves(const char *name, const char *why)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);

    assert_non_null(pod);
    assert_true(pod_is_deleting(pod));
    if (why)
        assert_string_equal(json_text(object_condition(pod, "DisruptionTarget"), "message"), why);
}

static void starts_with_its_minimum_and_grows_into_what_is_left_over(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    add_group("g", 3);
    add_members("g", 5);
    sched_world_assert_waits(&s, "g0", "needs 3 x 1 gpu; all nodes together hold 2");
    sched_world_assert_waits(&s, "g3", "waits for the first pods of its group to start");
    sched_world_add_node(&s, "b", 1);
    assert_placed("g", 3);
    sched_world_advance(&s, 20);
    sched_world_assert_waits(&s, "g3",
                             "beyond the minimum of its group; needs 1 gpu; none of 3 is free");
    add((struct pod_ask){.name = "other", .gpus = 1});
    sched_world_add_node(&s, "c", 1);
    sched_world_assert_on(&s, "other", "c"); /* every other pod goes before an elastic one */
    sched_world_add_node(&s, "d", 2);
    sched_world_assert_on(&s, "g3", "d");
    sched_world_assert_on(&s, "g4", "d");
}

static void gives_back_what_it_does_not_need_before_anybody_else(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 6);
    add((struct pod_ask){.name = "other", .gpus = 2});
    add_group("g", 2);
    add_members("g", 4);
    sched_world_assert_on(&s, "g3", "a");
    add((struct pod_ask){.name = "urgent", .gpus = 2, .class = "high"});
    assert_leaves("g2", "Preempted by job 6: its group goes on without it");
    assert_leaves("g3", "Preempted by job 6: its group goes on without it");
    assert_false(is_leaving("other"));
    assert_false(is_leaving("g0"));
    sched_world_finish_deletion(&s, "g2");
    sched_world_finish_deletion(&s, "g3");
    sched_world_assert_on(&s, "urgent", "a");
    sched_world_advance(&s, 20);
    sched_world_assert_waits(&s, "g2",
                             "beyond the minimum of its group; needs 1 gpu; none of 6 is free");
    sched_world_end_pod(&s, "urgent", "Succeeded");
    sched_world_assert_on(&s, "g2", "a"); /* recreated, and gone again */
    sched_world_assert_on(&s, "g3", "a");
}

static void one_that_is_needed_is_not_given_back(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 4);
    add_group("g", 2);
    add_members("g", 3);
    add((struct pod_ask){.name = "other", .gpus = 1});
    sched_world_assert_on(&s, "other", "a");
    sched_world_end_pod(&s, "g0", "Failed"); /* g2 is needed now */
    add((struct pod_ask){.name = "next", .gpus = 1});
    sched_world_assert_on(&s, "next", "a");
    add((struct pod_ask){.name = "later", .gpus = 1});
    sched_world_advance(&s, 20);
    assert_false(is_leaving("g1"));
    assert_false(is_leaving("g2"));
    sched_world_assert_waits(&s, "later", "needs 1 gpu; none of 4 is free");
    add((struct pod_ask){
        .name = "g3", .gpus = 1, .group = "g"}); /* replaces g0: one pod too many now */
    sched_world_end_pod(&s, "other", "Succeeded");
    sched_world_assert_on(&s, "later", "a");
    sched_world_end_pod(&s, "next", "Succeeded");
    sched_world_assert_on(&s, "g3", "a");
    add((struct pod_ask){.name = "last", .gpus = 1});
    assert_leaves("g3", "Preempted by job 8: its group goes on without it");
    assert_false(is_leaving("g1"));
    assert_false(is_leaving("g2"));
    sched_world_finish_deletion(&s, "g3");
    sched_world_assert_on(&s, "last", "a");
}

static void a_restart_knows_which_are_not_needed(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 4);
    add_group("g", 2);
    add_members("g", 4);
    sched_world_restart(&s);
    add((struct pod_ask){.name = "other", .gpus = 2});
    assert_leaves("g2", NULL);
    assert_leaves("g3", NULL);
    assert_false(is_leaving("g0"));
    sched_world_restart(&s);
    sched_world_finish_deletion(&s, "g2");
    sched_world_finish_deletion(&s, "g3");
    sched_world_assert_on(&s, "other", "a");
}

/* The extras of an evicted group end too, also with a restart in between. */
static void all_of_it_goes_where_what_it_needs_has_to(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    add_group("g", 2);
    add_members("g", 2);
    sched_world_add_node(&s, "b", 1);
    add((struct pod_ask){.name = "g2", .gpus = 1, .group = "g"});
    sched_world_assert_on(&s, "g2", "b");
    add((struct pod_ask){.name = "urgent", .gpus = 2, .class = "high"});
    assert_leaves("g0", "Preempted by job 4, which has a higher priority");
    assert_leaves("g1", "Preempted by job 4, which has a higher priority");
    sched_world_restart(&s);
    assert_leaves("g2", "Preempted by job 4, which has a higher priority");
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = mem_format("g%d", i);

        sched_world_finish_deletion(&s, name);
    }
    sched_world_assert_on(&s, "urgent", "a");
    sched_world_advance(&s, 20);
    sched_world_assert_waits(&s, "g0", "needs 2 x 1 gpu at once; there is room for 1");
    sched_world_assert_waits(&s, "g2", "waits for the first pods of its group to start");
    sched_world_end_pod(&s, "urgent", "Succeeded");
    assert_placed("g", 3);
}

static void who_may_not_be_preempted_is_not_given_back(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    add_group("g", 1);
    add((struct pod_ask){.name = "g0", .gpus = 1, .group = "g"});
    add((struct pod_ask){.name = "g1",
                         .gpus = 1,
                         .group = "g",
                         .annotation = "'mete.dev/preemptible':'false'",
                         .who = &root});
    sched_world_assert_on(&s, "g1", "a");
    add((struct pod_ask){.name = "other", .gpus = 1});
    sched_world_advance(&s, 20);
    assert_false(is_leaving("g1"));
    sched_world_assert_waits(&s, "other", "needs 1 gpu; none of 2 is free");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(starts_with_its_minimum_and_grows_into_what_is_left_over),
        TEST(gives_back_what_it_does_not_need_before_anybody_else),
        TEST(one_that_is_needed_is_not_given_back),
        TEST(a_restart_knows_which_are_not_needed),
        TEST(all_of_it_goes_where_what_it_needs_has_to),
        TEST(who_may_not_be_preempted_is_not_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
