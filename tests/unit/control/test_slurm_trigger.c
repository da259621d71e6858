/* test_slurm_trigger.c - jobs of strigger start once their events have come */

#include "base/mem.h"
#include "jobs_world.h"
#include "kinds/pod/pod_state.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})
#define POD(n)   ((struct target){.kind = "pods", .name = (n), .who = &ours})

static struct jobs_world jw;

static int setup(void **state)
{
    (void)state;
    jobs_world_init(&jw, 7);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    jobs_world_done(&jw);
    return 0;
}

static struct err *try_submit(const char *name, const char *spec)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'name':'train','script':'#!/bin/sh\\n',"
                   "'workDir':'/work',%s}}",
                   name, spec);
    struct err *e = world_create(&jw.w, SLURM(NULL), text, NULL);

    jobs_world_run(&jw, 1);
    return e;
}

static bool has_pod(const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));

    return pod != NULL;
}

static void run_pod(const char *name)
{
    place_pod(&jw, name);
    tell_pod(&jw, name, "Running", 0);
    jobs_world_run(&jw, 1);
}

/* The last argument of the script of the pod. */
static void assert_told(const char *name, const char *want)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));
    const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
    const json_t *words = json_object_get(container, "command");
    const json_t *last = json_array_get(words, json_array_size(words) - 1);

    assert_non_null(pod);
    assert_string_equal(text_or_empty(json_string_value(last)), want);
}

static void tell_node(const char *ready)
{
    const struct target node = {.kind = "nodes", .name = "n1", .sub = "status", .who = &ours};
    AUTO_FREE char *text =
        mem_format("{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}", ready);

    world_must(world_patch(&jw.w, node, text, NULL));
    jobs_world_run(&jw, 1);
}

static void the_end_of_a_job_sets_triggers_off_once(void **state)
{
    (void)state;
    world_must(try_submit("j", "'timeLimitMinutes':10"));
    world_must(try_submit("fini", "'trigger':{'event':'fini','jobId':1},'arguments':['a']"));
    world_must(try_submit("late", "'trigger':{'event':'fini','jobId':1,'offsetSeconds':90}"));
    run_pod("j");
    assert_false(has_pod("fini"));
    tell_pod(&jw, "j", "Failed", 3);
    jobs_world_run(&jw, 2);
    assert_told("fini", "1");
    assert_false(has_pod("late"));
    jobs_world_run(&jw, 95);
    assert_told("late", "1");
    run_pod("fini");
    tell_pod(&jw, "fini", "Succeeded", 0);
    jobs_world_run(&jw, 60);
    assert_false(has_pod("fini"));
}

static void the_time_limit_of_a_job_sets_triggers_off(void **state)
{
    (void)state;
    world_must(try_submit("j", "'timeLimitMinutes':10"));
    world_must(try_submit("before", "'trigger':{'event':'time','jobId':1,'offsetSeconds':-60}"));
    jobs_world_run(&jw, 1000);
    assert_false(has_pod("before"));
    run_pod("j");
    jobs_world_run(&jw, 500);
    assert_false(has_pod("before"));
    jobs_world_run(&jw, 60);
    assert_told("before", "1");
}

static void nodes_that_go_and_come_back_set_triggers_off(void **state)
{
    (void)state;
    tell_node("True");
    world_must(try_submit("any", "'trigger':{'event':'down','nodes':'*'}"));
    world_must(try_submit("other", "'trigger':{'event':'down','nodes':'n[2-3]'}"));
    world_must(try_submit("back", "'trigger':{'event':'up','nodes':'n[1-3]'}"));
    tell_node("True");
    assert_false(has_pod("any"));
    tell_node("Unknown");
    assert_told("any", "n1");
    assert_false(has_pod("back"));
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 1);
    assert_false(has_pod("back"));
    tell_node("True");
    assert_told("back", "n1");
    assert_false(has_pod("other"));
}

static void a_trigger_that_waits_is_cancelled_and_refused_by_name(void **state)
{
    static const char *const wrong[] = {
        "'trigger':{'event':'fini'}", "'trigger':{'event':'down','jobId':1}",
        "'trigger':{'event':'fini','jobId':1,'nodes':'*'}", "'trigger':{'event':'idle'}",
        "'trigger':{'event':'fini','jobId':1},'array':{'indexes':'0-1'}"};
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    world_must(try_submit("j", "'timeLimitMinutes':10"));
    world_must(try_submit("t", "'trigger':{'event':'fini','jobId':1}"));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        AUTO(err_freep) struct err *e = try_submit("x", wrong[i]);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
    }
    world_must(world_patch(&jw.w, SLURM("t"), "{'spec':{'cancelled':'*'}}", NULL));
    jobs_world_run(&jw, 1);
    job = world_get(&jw.w, SLURM("t"));
    assert_string_equal(json_text_at(job, "status", "state", NULL), "CANCELLED");
    run_pod("j");
    tell_pod(&jw, "j", "Succeeded", 0);
    jobs_world_run(&jw, 2);
    assert_false(has_pod("t"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(the_end_of_a_job_sets_triggers_off_once),
        CASE(the_time_limit_of_a_job_sets_triggers_off),
        CASE(nodes_that_go_and_come_back_set_triggers_off),
        CASE(a_trigger_that_waits_is_cancelled_and_refused_by_name),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
