/* test_scheduler_preempt.c - preemption through objects, and pods that come back */

#include "base/mem.h"
#include "kinds/ledger.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static void add_class(const char *name, int value, const char *policy)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'},'value':%d,'preemptionPolicy':"
                                      "'%s'}",
                                      name, value, policy);

    sched_world_create(
        &s, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        text);
}

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 23);
    sched_world_add_node(&s, "a", 8);
    add_class("high", 1000, "PreemptLowerPriority");
    add_class("polite", 1000, "Never");
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

static void add_group(const char *name, int min)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'minMember':%d}}", name, min);

    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       text);
}

static char *uid_of(const char *name)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);

    return mem_strdup(json_text_at(pod, "metadata", "uid", NULL));
}

static bool is_leaving(const char *name)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(&s, name);
    const json_t *condition = object_condition(pod, "DisruptionTarget");

    return pod && pod_is_deleting(pod) &&
           text_equal(json_text(condition, "reason"), "PreemptionByScheduler");
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

/* One cycle places the workload in the room of its victims, and evicts it again. */
static void one_that_is_passed_before_it_was_bound_goes_on_waiting(void **state)
{
    AUTO_FREE char *uid = NULL;
    AUTO_FREE char *same = NULL;

    (void)state;
    add_class("middle", 500, "PreemptLowerPriority");
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "middle", .gpus = 8, .class = "middle"});
    assert_true(is_leaving("low"));
    uid = uid_of("middle");
    world_must(world_create(&s.w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'high'},'spec':{'priorityClassName':'high',"
                            "'containers':[{'name':'main','image':'host','resources':{'limits':{"
                            "'nvidia.com/gpu':'8'}}}]}}",
                            NULL));
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "high", "a");
    sched_world_assert_on(&s, "middle", "");
    same = uid_of("middle");
    assert_string_equal(same, uid);
    assert_false(is_leaving("middle"));
    sched_world_end_pod(&s, "high", "Succeeded");
    sched_world_assert_on(&s, "middle", "a");
}

static void a_higher_priority_ends_a_lower_one_which_comes_back(void **state)
{
    AUTO(json_freep) json_t *leaves = NULL;
    AUTO(json_freep) json_t *back = NULL;
    AUTO_FREE char *uid = NULL;
    AUTO_FREE char *job = NULL;

    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    sched_world_run_pod(&s, "low");
    uid = uid_of("low");
    sched_world_advance(&s, 10);
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    leaves = sched_world_pod(&s, "low");
    assert_true(is_leaving("low"));
    assert_string_equal(json_text(object_condition(leaves, "DisruptionTarget"), "message"),
                        "Preempted by job 2, which has a higher priority");
    assert_int_equal(json_int_at(leaves, "metadata", "deletionGracePeriodSeconds", NULL), 20);
    assert_int_equal(count_events("Preempted", "Preempted by job 2, which has a higher priority"),
                     1);
    sched_world_advance(&s, 5);
    sched_world_assert_waits(&s, "high", "job 1 was evicted for it and has not ended yet");
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "high", "a");
    back = sched_world_pod(&s, "low");
    assert_string_equal(pod_node(back), "");
    assert_string_not_equal(json_text_at(back, "metadata", "uid", NULL), uid);
    assert_string_equal(json_text_at(back, "metadata", "labels", POD_JOB_ID, NULL), "1");
    assert_string_equal(json_text_at(back, "metadata", "annotations", POD_USER, NULL), "ann");
    assert_string_equal(json_text_at(back, "metadata", "annotations", POD_REQUEUES, NULL), "1");
    assert_null(json_text_at(back, "metadata", "annotations", POD_DEVICES, NULL));
    assert_string_equal(json_text_at(back, "status", "phase", NULL), "Pending");
    sched_world_end_pod(&s, "high", "Succeeded");
    sched_world_assert_on(&s, "low", "a");
}

static void a_class_that_never_preempts_waits(void **state)
{
    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "polite"});
    sched_world_advance(&s, 10);
    assert_false(is_leaving("low"));
    sched_world_assert_on(&s, "high", "");
}

static void what_an_administrator_protects_is_not_ended(void **state)
{
    (void)state;
    world_refused(world_create(&s.w, (struct target){.kind = "pods"},
                               "{'metadata':{'name':'p','annotations':{'mete.dev/preemptible':"
                               "'false'}},'spec':{'containers':[{'name':'m','image':'host'}]}}",
                               NULL),
                  422,
                  "Pod \"p\" is invalid: metadata.annotations[mete.dev/preemptible]: Forbidden: "
                  "names under mete.dev/ are set by the system only");
    sched_world_create(&s, (struct target){.kind = "pods", .who = &root},
                       "{'metadata':{'name':'low','annotations':{'mete.dev/preemptible':'false'}},"
                       "'spec':{'securityContext':{'runAsUser':0},'containers':[{'name':'m',"
                       "'image':'host','resources':{'limits':{'nvidia.com/gpu':'8'}}}]}}");
    sched_world_assert_on(&s, "low", "a");
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    sched_world_advance(&s, 10);
    assert_false(is_leaving("low"));
}

static void one_that_opted_out_does_not_come_back(void **state)
{
    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8, .annotation = "'mete.dev/requeue':'never'"});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "high", "a");
    sched_world_assert_on(&s, "low", "gone");
}

static void who_deletes_it_meanwhile_means_it(void **state)
{
    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    world_must(world_delete(&s.w, (struct target){.kind = "pods", .name = "low"}, NULL, NULL));
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "low", "gone");
    sched_world_assert_on(&s, "high", "a");
}

static void a_gang_goes_whole_and_its_room_is_kept(void **state)
{
    (void)state;
    add_group("g", 4);
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *name = mem_format("g%d", i);

        add((struct pod_ask){.name = name, .gpus = 2, .group = "g"});
    }
    add((struct pod_ask){.name = "high", .gpus = 4, .class = "high"});
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *name = mem_format("g%d", i);

        assert_true(is_leaving(name));
    }
    sched_world_finish_deletion(&s, "g0");
    sched_world_finish_deletion(&s, "g1");
    add((struct pod_ask){.name = "small", .gpus = 1});
    sched_world_assert_on(&s, "high", "");
    sched_world_assert_on(&s, "small", "");
    sched_world_finish_deletion(&s, "g2");
    sched_world_finish_deletion(&s, "g3");
    sched_world_assert_on(&s, "high", "a");
    if (s.cluster)
        return; /* late, the gang may come back before the small pod starts, and goes first */
    sched_world_assert_on(&s, "small", "a");
    sched_world_advance(&s, 20);
    sched_world_assert_waits(&s, "g0", "needs 4 x 2 gpus at once; there is room for 1");
    sched_world_end_pod(&s, "high", "Succeeded");
    sched_world_end_pod(&s, "small", "Succeeded");
    sched_world_assert_on(&s, "g0", "a");
    sched_world_assert_on(&s, "g3", "a");
}

static void a_budget_spares_where_others_can_go(void **state)
{
    (void)state;
    sched_world_create(&s, (struct target){.group = "policy", .kind = "poddisruptionbudgets"},
                       "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':"
                       "{'matchLabels':{'scheduling.x-k8s.io/pod-group':'g'}}}}");
    add_group("g", 1);
    add((struct pod_ask){.name = "other", .gpus = 4});
    sched_world_run_pod(&s, "other");
    sched_world_advance(&s, 20); /* more work to lose */
    add((struct pod_ask){.name = "spared", .gpus = 4, .group = "g"});
    world_must(world_patch(
        &s.w, (struct target){.kind = "pods", .name = "spared", .sub = "status", .who = &ours},
        "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}", NULL));
    sched_world_advance(&s, 1);
    add((struct pod_ask){.name = "high", .gpus = 4, .class = "high"});
    assert_true(is_leaving("other"));
    assert_false(is_leaving("spared"));
    sched_world_finish_deletion(&s, "other");
    sched_world_assert_on(&s, "high", "a");
    add((struct pod_ask){.name = "higher", .gpus = 4, .class = "high"});
    sched_world_advance(&s, 1);
    assert_true(is_leaving("spared")); /* no other victim */
}

/* Resources other than gpus count as before. */
static void one_that_was_spared_still_holds_what_it_did(void **state)
{
    static const char pod[] =
        "{'metadata':{'name':'%s','labels':{'app':'%s'}},'spec':{'containers':[{'name':'m','image':"
        "'host','resources':{'requests':{'cpu':'%d'},'limits':{'nvidia.com/gpu':'%d'}}}]}}";
    AUTO_FREE char *spared = mem_format(pod, "spared", "x", 60, 4);
    AUTO_FREE char *large = mem_format(pod, "large", "y", 10, 0);

    (void)state;
    sched_world_create(&s, (struct target){.group = "policy", .kind = "poddisruptionbudgets"},
                       "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':"
                       "{'matchLabels':{'app':'x'}}}}");
    add((struct pod_ask){.name = "other", .gpus = 4});
    sched_world_advance(&s, 20);
    sched_world_create(&s, (struct target){.kind = "pods"}, spared);
    world_must(world_patch(
        &s.w, (struct target){.kind = "pods", .name = "spared", .sub = "status", .who = &ours},
        "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}", NULL));
    sched_world_advance(&s, 1);
    add((struct pod_ask){.name = "high", .gpus = 4, .class = "high"});
    assert_true(is_leaving("other"));
    assert_false(is_leaving("spared"));
    sched_world_finish_deletion(&s, "other");
    sched_world_assert_on(&s, "high", "a");
    sched_world_create(&s, (struct target){.kind = "pods"}, large);
    sched_world_assert_on(&s, "large", "");
    sched_world_end_pod(&s, "spared", "Succeeded");
    sched_world_assert_on(&s, "large", "a");
}

/* The record is all that the crash leaves; the next server does each step. */
static void it_comes_back_whenever_the_server_is_killed(void **state)
{
    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    sched_world_restart(&s);
    assert_true(is_leaving("low"));
    sched_world_assert_on(&s, "high", "");
    sched_world_advance(&s, 5);
    add((struct pod_ask){.name = "other", .gpus = 8});
    sched_world_restart(&s);
    sched_world_finish_deletion(&s, "low");
    sched_world_restart(&s);
    sched_world_assert_on(&s, "high", "a");
    sched_world_assert_on(&s, "low", "");
    assert_int_equal(count_events("Preempted", "Preempted by job 2, which has a higher priority"),
                     1);
}

/* The old pod goes while no server runs, before a server recreated it. */
static void a_pod_that_went_while_nobody_looked_comes_back(void **state)
{
    const struct delete_options now = {.grace_seconds = 0};

    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    sched_world_stop(&s);
    world_must(world_delete(&s.w, (struct target){.kind = "pods", .name = "low", .who = &ours},
                            &now, NULL));
    sched_world_assert_on(&s, "low", "gone");
    sched_world_start(&s);
    sched_world_assert_on(&s, "low", "");
    sched_world_assert_on(&s, "high", "a");
}

/* Two of four pods are marked when the server is killed: the test writes the marks. */
static void a_gang_that_was_half_evicted_goes_whole(void **state)
{
    (void)state;
    add_group("g", 2);
    add((struct pod_ask){.name = "g0", .gpus = 4, .group = "g"});
    add((struct pod_ask){.name = "g1", .gpus = 4, .group = "g"});
    sched_world_stop(&s);
    {
        const struct delete_options evict = {.grace_seconds = -1,
                                             .disruption = "PreemptionByScheduler",
                                             .disruption_message = "Preempted by job 9",
                                             .is_requeued = true};

        world_must(world_delete(&s.w, (struct target){.kind = "pods", .name = "g0", .who = &ours},
                                &evict, NULL));
    }
    sched_world_start(&s);
    assert_true(is_leaving("g1"));
    sched_world_finish_deletion(&s, "g0");
    sched_world_finish_deletion(&s, "g1");
    sched_world_assert_on(&s, "g0", "a");
    sched_world_assert_on(&s, "g1", "a");
}

/* Pods of the group that started meanwhile are another gang, also after a restart. */
static void a_gang_that_starts_while_another_of_its_group_goes_is_spared(void **state)
{
    (void)state;
    add_group("g", 2);
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *name = mem_format("g%d", i);

        add((struct pod_ask){.name = name, .gpus = 4, .group = "g"});
    }
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    assert_true(is_leaving("g0"));
    sched_world_add_node(&s, "b", 8);
    sched_world_assert_on(&s, "g2", "b");
    sched_world_assert_on(&s, "g3", "b");
    sched_world_restart(&s);
    assert_true(is_leaving("g1"));
    assert_false(is_leaving("g2"));
    sched_world_finish_deletion(&s, "g0");
    sched_world_finish_deletion(&s, "g1");
    sched_world_assert_on(&s, "high", "a");
    assert_false(is_leaving("g3"));
}

static void one_for_which_the_quota_is_full_comes_back_later(void **state)
{
    const struct target quota = {.kind = "resourcequotas", .name = "q", .who = &root};

    (void)state;
    add((struct pod_ask){.name = "low", .gpus = 8});
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    sched_world_create(&s, (struct target){.kind = "resourcequotas", .who = &root},
                       "{'metadata':{'name':'q'},'spec':{'hard':{'pods':1}}}");
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "low", "gone");
    sched_world_advance(&s, 5);
    sched_world_assert_on(&s, "low", "gone");
    world_must(world_patch(&s.w, quota, "{'spec':{'hard':{'pods':9}}}", NULL));
    sched_world_advance(&s, 40);
    sched_world_assert_on(&s, "low", "");
}

static void nothing_comes_back_into_a_namespace_that_goes(void **state)
{
    const struct store_key record = {
        .group = "mete.dev", .resource = "requeues", .ns = "team", .name = "low"};

    (void)state;
    sched_world_create(&s, (struct target){.kind = "namespaces", .who = &root},
                       "{'metadata':{'name':'team'}}");
    sched_world_create(&s, (struct target){.kind = "pods", .ns = "team"},
                       "{'metadata':{'name':'low'},'spec':{'containers':[{'name':'m','image':"
                       "'host','resources':{'limits':{'nvidia.com/gpu':'8'}}}]}}");
    add((struct pod_ask){.name = "high", .gpus = 8, .class = "high"});
    assert_non_null(store_get(s.w.store, record));
    world_must(world_delete(
        &s.w, (struct target){.kind = "namespaces", .name = "team", .who = &root}, NULL, NULL));
    {
        const struct delete_options now = {.grace_seconds = 0};

        world_must(world_delete(
            &s.w, (struct target){.kind = "pods", .ns = "team", .name = "low", .who = &ours}, &now,
            NULL));
    }
    sched_world_advance(&s, 5);
    assert_null(store_get(s.w.store, record));
}

/* Half of each of two nodes is free: one small job moves, and all run. */
static void a_job_moves_for_one_that_needs_a_whole_node(void **state)
{
    AUTO(json_freep) json_t *small = NULL;
    AUTO(json_freep) json_t *other = NULL;
    const char *moved;

    (void)state;
    sched_world_add_node(&s, "b", 8);
    sched_world_create(
        &s, (struct target){.group = "mete.dev", .kind = "queues", .who = &root},
        "{'metadata':{'name':'root'},'spec':{'moves':{'horizon':'1h','restart':'1m'}}}");
    add((struct pod_ask){.name = "first", .gpus = 4});
    add((struct pod_ask){.name = "small", .gpus = 4});
    add((struct pod_ask){.name = "other", .gpus = 4});
    sched_world_run_pod(&s, "first");
    sched_world_run_pod(&s, "small");
    sched_world_run_pod(&s, "other");
    small = sched_world_pod(&s, "small");
    other = sched_world_pod(&s, "other");
    assert_string_not_equal(pod_node(small), pod_node(other));
    sched_world_end_pod(&s, "first", "Succeeded");
    sched_world_advance(&s, 10);
    add((struct pod_ask){.name = "large", .gpus = 8});
    moved = is_leaving("small") ? "small" : "other";
    assert_true(is_leaving(moved));
    assert_int_not_equal(is_leaving("small"), is_leaving("other"));
    assert_int_equal(count_events("Preempted", "Preempted by job 4, for which it moves elsewhere"),
                     1);
    sched_world_finish_deletion(&s, moved);
    sched_world_assert_on(&s, "large", pod_node(text_equal(moved, "small") ? small : other));
    sched_world_assert_on(&s, moved, pod_node(text_equal(moved, "small") ? other : small));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_that_is_passed_before_it_was_bound_goes_on_waiting),
        TEST(a_higher_priority_ends_a_lower_one_which_comes_back),
        TEST(a_class_that_never_preempts_waits),
        TEST(what_an_administrator_protects_is_not_ended),
        TEST(one_that_opted_out_does_not_come_back),
        TEST(who_deletes_it_meanwhile_means_it),
        TEST(a_gang_goes_whole_and_its_room_is_kept),
        TEST(a_budget_spares_where_others_can_go),
        TEST(one_that_was_spared_still_holds_what_it_did),
        TEST(it_comes_back_whenever_the_server_is_killed),
        TEST(a_pod_that_went_while_nobody_looked_comes_back),
        TEST(a_gang_that_was_half_evicted_goes_whole),
        TEST(a_gang_that_starts_while_another_of_its_group_goes_is_spared),
        TEST(one_for_which_the_quota_is_full_comes_back_later),
        TEST(nothing_comes_back_into_a_namespace_that_goes),
        TEST(a_job_moves_for_one_that_needs_a_whole_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
