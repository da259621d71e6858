/* test_scheduler_load.c - the scheduler while it reads pods after a start */

#include "base/mem.h"
#include "sched_world.h"
#include "test.h"

enum {
    PODS = 60 /* several turns of the feed */
};

static char *reason_of(struct sched_world *s, const char *name)
{
    AUTO(json_freep) json_t *workload = control_workload(s->control, "default", name);
    const char *code = json_text_at(workload, "status", "reason", "code", NULL);

    return mem_strdup(code ? code : "");
}

static void on_report(void *arg, const struct err *e, const json_t *report)
{
    bool *is_answered = arg;

    *is_answered = !e && report;
}

/* Starts another server; the loop has not run. */
static void begin(struct sched_world *s)
{
    struct control_options options = {0};

    sched_world_stop(s);
    options =
        (struct control_options){.loop = s->w.loop, .store = s->w.store, .objects = s->w.objects};
    world_must(control_new(&options, &s->control));
}

static void add_pods(struct sched_world *s)
{
    for (int i = 0; i < PODS; i++) {
        AUTO_FREE char *name = mem_format("p-%02d", i);

        sched_world_add_pod(s, &(struct pod_ask){.name = name, .gpus = 1});
    }
}

/* The pod that holds the gpu is read last: until then the engine takes the gpu for free. */
static void places_nothing_before_all_pods_have_been_read(void **state)
{
    struct sched_world s = {0};

    (void)state;
    sched_world_init(&s, 1);
    sched_world_add_node(&s, "n1", 1);
    sched_world_add_pod(&s, &(struct pod_ask){.name = "z", .gpus = 1});
    sched_world_assert_on(&s, "z", "n1");
    add_pods(&s);
    begin(&s);
    for (int i = 0; i < 12; i++)
        (void)sim_loop_step(s.w.loop);
    sim_loop_run(s.w.loop);
    sched_world_assert_on(&s, "z", "n1");
    for (int i = 0; i < PODS; i++) {
        AUTO_FREE char *name = mem_format("p-%02d", i);

        sched_world_assert_on(&s, name, "");
    }
    sched_world_run_pod(&s, "z");
    sched_world_end_pod(&s, "z", "Succeeded");
    sched_world_assert_on(&s, "p-00", "n1");
    sched_world_done(&s);
}

static void says_meanwhile_that_it_still_reads(void **state)
{
    const struct report_question q = {0};
    struct report *report = NULL;
    struct sched_world s = {0};
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *after = NULL;
    bool is_answered = false;

    (void)state;
    sched_world_init(&s, 1);
    sched_world_add_node(&s, "n1", 0);
    add_pods(&s);
    begin(&s);
    before = reason_of(&s, "p-00");
    assert_string_equal(before, "NotYetEvaluated");
    world_refused(control_free_begin(s.control, &q, on_report, &is_answered, &report), 503,
                  "the server has just started and is reading its pods: try again in a few "
                  "seconds");
    world_refused(control_what_if_begin(s.control, &q, on_report, &is_answered, &report), 503,
                  "the server has just started and is reading its pods: try again in a few "
                  "seconds");
    sim_loop_run(s.w.loop);
    after = reason_of(&s, "p-00");
    assert_string_not_equal(after, "NotYetEvaluated");
    assert_string_not_equal(after, "");
    world_must(control_free_begin(s.control, &q, on_report, &is_answered, &report));
    sim_loop_run(s.w.loop);
    assert_true(is_answered);
    sched_world_done(&s);
}

/* The engine gets a gang after all of its pods have been read: a pod ends before that. */
static void takes_a_pod_of_a_gang_that_goes_while_others_are_read(void **state)
{
    struct sched_world s = {0};

    (void)state;
    sched_world_init(&s, 1);
    sched_world_add_node(&s, "n1", 4);
    sched_world_create(&s, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"},
                       "{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'PodGroup',"
                       "'metadata':{'name':'g'},'spec':{'minMember':2}}");
    sched_world_add_pod(&s, &(struct pod_ask){.name = "a", .gpus = 2, .group = "g"});
    sched_world_add_pod(&s, &(struct pod_ask){.name = "b", .gpus = 2, .group = "g"});
    sched_world_assert_on(&s, "a", "n1");
    sched_world_run_pod(&s, "a");
    sched_world_run_pod(&s, "b");
    add_pods(&s);
    begin(&s);
    for (int i = 0; i < 8; i++)
        (void)sim_loop_step(s.w.loop);
    sched_world_end_pod(&s, "a", "Failed");
    sim_loop_run(s.w.loop);
    sched_world_assert_on(&s, "p-00", "n1");
    sched_world_assert_on(&s, "p-01", "n1");
    sched_world_assert_on(&s, "p-02", "");
    sched_world_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_nothing_before_all_pods_have_been_read),
        cmocka_unit_test(says_meanwhile_that_it_still_reads),
        cmocka_unit_test(takes_a_pod_of_a_gang_that_goes_while_others_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
