/* test_taken_back.c - writes of the control loops that the store accepts and
 * then takes back */
#include "base/mem.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "mem_storage.h"
#include "mete/engine.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 29);
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

static void refuse_once(const char *resource, enum store_change_type type)
{
    mem_storage_refuse_once(s.w.disk, resource, type);
}

/* Counts events of the reason whose message has the prefix. */
static size_t count_events(const char *reason, const char *start)
{
    struct store_range range = {.group = "", .resource = "events"};
    struct store_list list = {0};
    size_t n = 0;

    world_must(store_list(s.w.store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *event = NULL;

        world_must(objects_decode(list.at[i], &event));
        n += text_equal(json_text(event, "reason"), reason) &&
             text_starts_with(json_text(event, "message"), start);
    }
    store_list_done(&list);
    return n;
}

static void a_binding_is_made_again(void **state)
{
    AUTO_FREE char *holder = NULL;

    (void)state;
    sched_world_add_node(&s, "a", 2);
    refuse_once("ledger", STORE_CREATED);
    add((struct pod_ask){.name = "p", .gpus = 2});
    sched_world_assert_on(&s, "p", "");
    holder = ledger_holder(s.w.store, "GPU-a-0");
    assert_null(holder);
    assert_int_equal(mete_gpu_holder(control_engine(s.control), "GPU-a-0"), 0);
    sched_world_advance(&s, 10);
    sched_world_assert_on(&s, "p", "a");
    assert_int_equal(count_events("Scheduled", "Successfully assigned"), 1);
    assert_true(count_events("FailedBinding", "The binding to a was taken back and is tried again: "
                                              "no space left on the disk") >= 1);
}

static void a_gang_is_bound_again_as_a_whole(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       "{'metadata':{'name':'g'},'spec':{'minMember':2}}");
    refuse_once("ledger", STORE_CREATED);
    add((struct pod_ask){.name = "p", .gpus = 1, .group = "g"});
    add((struct pod_ask){.name = "q", .gpus = 1, .group = "g"});
    sched_world_assert_on(&s, "p", "");
    sched_world_assert_on(&s, "q", "");
    sched_world_advance(&s, 10);
    sched_world_assert_on(&s, "p", "a");
    sched_world_assert_on(&s, "q", "a");
}

/* The engine gave the room away while it assumed that the first pod was bound. */
static void another_may_have_the_room_meanwhile(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    refuse_once("ledger", STORE_CREATED);
    add((struct pod_ask){.name = "p", .gpus = 2});
    world_must(world_delete(&s.w, (struct target){.kind = "pods", .ns = "default", .name = "p"},
                            NULL, NULL));
    add((struct pod_ask){.name = "q", .gpus = 2});
    sched_world_advance(&s, 10);
    sched_world_assert_on(&s, "q", "a");
}

static void an_eviction_is_carried_out_again(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    sched_world_create(
        &s, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        "{'metadata':{'name':'high'},'value':1000}");
    sched_world_add_node(&s, "a", 2);
    add((struct pod_ask){.name = "low", .gpus = 2});
    sched_world_run_pod(&s, "low");
    refuse_once("requeues", STORE_CREATED);
    add((struct pod_ask){.name = "p", .gpus = 2, .class = "high"});
    sched_world_advance(&s, 10);
    pod = sched_world_pod(&s, "low");
    assert_true(pod_is_deleting(pod));
    assert_int_equal(count_events("Preempted", "Preempted by"), 1);
    sched_world_finish_deletion(&s, "low");
    sched_world_assert_on(&s, "p", "a");
}

static void a_reason_is_told_again(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    refuse_once("pods", STORE_UPDATED);
    add((struct pod_ask){.name = "p", .gpus = 3});
    sched_world_advance(&s, 10);
    sched_world_assert_waits(&s, "p", "needs 3 gpus on one node; the largest has 2 (a)");
}

static void statuses_are_written_again(void **state)
{
    AUTO(json_freep) json_t *queue = NULL;
    AUTO(json_freep) json_t *group = NULL;

    (void)state;
    refuse_once("queues", STORE_UPDATED);
    sched_world_create(&s, (struct target){.group = "mete.dev", .kind = "queues", .who = &root},
                       "{'metadata':{'name':'q'}}");
    sched_world_advance(&s, 10);
    queue = world_get(&s.w, (struct target){.group = "mete.dev", .kind = "queues", .name = "q"});
    assert_non_null(json_object_get(queue, "status"));
    refuse_once("podgroups", STORE_UPDATED);
    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       "{'metadata':{'name':'g'},'spec':{'minMember':2}}");
    add((struct pod_ask){.name = "p", .gpus = 1, .group = "g"});
    sched_world_advance(&s, 10);
    group = world_get(&s.w, (struct target){.group = "scheduling.x-k8s.io",
                                            .kind = "podgroups",
                                            .ns = "default",
                                            .name = "g"});
    assert_non_null(json_object_get(group, "status"));
}

static void a_cron_job_starts_again(void **state)
{
    struct store_range range = {.group = "batch", .resource = "jobs"};

    (void)state;
    sched_world_create(&s, (struct target){.group = "batch", .kind = "cronjobs"},
                       "{'metadata':{'name':'c'},'spec':{'schedule':'* * * * "
                       "*','jobTemplate':{'spec':{'template':"
                       "{'spec':{'restartPolicy':'Never','containers':[{'name':'"
                       "m','image':'host'}]}}}}}}");
    refuse_once("jobs", STORE_CREATED);
    sched_world_advance(&s, 66);
    assert_non_null(store_next(s.w.store, &range, NULL));
}

static void a_preempted_pod_comes_back_again(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    sched_world_add_node(&s, "a", 2);
    add((struct pod_ask){.name = "p", .gpus = 2});
    sched_world_run_pod(&s, "p");
    world_must(world_patch(&s.w, (struct target){.kind = "nodes", .name = "a", .who = &root},
                           "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}", NULL));
    sim_loop_run(s.w.loop);
    refuse_once("requeues", STORE_DELETED);
    sched_world_finish_deletion(&s, "p");
    sched_world_advance(&s, 10);
    pod = sched_world_pod(&s, "p");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", "mete.dev/requeues", NULL),
                        "1");
}

static bool is_there(const char *plural, const char *ns, const char *name)
{
    return store_get(s.w.store, objects_key(kind_find("", plural), ns, name)) != NULL;
}

static void garbage_goes_in_the_end(void **state)
{
    struct target owner = {.kind = "configmaps", .ns = "default", .name = "owner"};
    AUTO(json_freep) json_t *made = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    world_must(world_create(&s.w, (struct target){.kind = "configmaps"},
                            "{'metadata':{'name':'owner'}}", &made));
    text = mem_format("{'metadata':{'name':'owned','ownerReferences':[{'"
                      "apiVersion':'v1','kind':"
                      "'ConfigMap','name':'owner','uid':'%s'}]}}",
                      json_text_at(made, "metadata", "uid", NULL));
    sched_world_create(&s, (struct target){.kind = "secrets"}, text);
    refuse_once("secrets", STORE_DELETED);
    world_must(world_delete(&s.w, owner, NULL, NULL));
    sched_world_advance(&s, 10);
    assert_false(is_there("secrets", "default", "owned"));
}

static void a_namespace_gets_its_account_in_the_end(void **state)
{
    (void)state;
    refuse_once("serviceaccounts", STORE_CREATED);
    sched_world_create(&s, (struct target){.kind = "namespaces", .who = &root},
                       "{'metadata':{'name':'team'}}");
    sched_world_advance(&s, 10);
    assert_true(is_there("serviceaccounts", "team", "default"));
}

static void a_new_node_gets_its_taint_in_the_end(void **state)
{
    AUTO(json_freep) json_t *node = NULL;

    (void)state;
    refuse_once("nodes", STORE_UPDATED);
    sched_world_create(&s, (struct target){.kind = "nodes", .who = &ours},
                       "{'metadata':{'name':'a'}}");
    sched_world_advance(&s, 10);
    node = world_get(&s.w, (struct target){.kind = "nodes", .name = "a"});
    assert_int_equal(json_array_size(json_at(node, "spec", "taints", NULL)), 1);
}

static void a_budget_is_counted_in_the_end(void **state)
{
    AUTO(json_freep) json_t *budget = NULL;
    const struct target target = {
        .group = "policy", .kind = "poddisruptionbudgets", .ns = "default", .name = "b"};

    (void)state;
    refuse_once("poddisruptionbudgets", STORE_UPDATED);
    sched_world_create(&s, (struct target){.group = "policy", .kind = "poddisruptionbudgets"},
                       "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':{}}}");
    sched_world_advance(&s, 10);
    budget = world_get(&s.w, target);
    assert_non_null(json_at(budget, "status", "desiredHealthy", NULL));
}

/* Answers may come after the control loops are freed. */
static void the_loops_end_before_their_answers(void **state)
{
    (void)state;
    sched_world_add_node(&s, "a", 2);
    world_must(world_add_pod(&s.w, "default", "p", 1));
    for (int i = 0; i < 4; i++)
        (void)sim_loop_step(s.w.loop);
    sched_world_stop(&s);
    sim_loop_run(s.w.loop);
    sched_world_start(&s);
    sched_world_advance(&s, 2);
    sched_world_assert_on(&s, "p", "a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_binding_is_made_again),
        TEST(a_gang_is_bound_again_as_a_whole),
        TEST(another_may_have_the_room_meanwhile),
        TEST(an_eviction_is_carried_out_again),
        TEST(a_reason_is_told_again),
        TEST(statuses_are_written_again),
        TEST(a_cron_job_starts_again),
        TEST(a_preempted_pod_comes_back_again),
        TEST(garbage_goes_in_the_end),
        TEST(a_namespace_gets_its_account_in_the_end),
        TEST(a_new_node_gets_its_taint_in_the_end),
        TEST(a_budget_is_counted_in_the_end),
        TEST(the_loops_end_before_their_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
