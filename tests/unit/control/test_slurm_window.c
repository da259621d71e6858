/* test_slurm_window.c - jobs with --contiguous get nodes that are neighbours */

#include "base/mem.h"
#include "jobs_world.h"
#include "kinds/slurm/slurm_job.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})
#define POD(n)   ((struct target){.kind = "pods", .name = (n), .who = &ours})

static struct jobs_world jw;

static void tell_node(const char *name)
{
    const struct target node = {.kind = "nodes", .name = name, .sub = "status", .who = &ours};

    world_must(
        world_patch(&jw.w, node,
                    "{'status':{'capacity':{'cpu':'2','memory':'8Gi'},'allocatable':{'cpu':'2',"
                    "'memory':'8Gi'},'conditions':[{'type':'Ready','status':'True'}]}}",
                    NULL));
}

/* Nodes n1, n2, n3 and n10. */
static int setup(void **state)
{
    static const char *const names[] = {"n10", "n2", "n3"};

    (void)state;
    jobs_world_init(&jw, 7);
    tell_node("n1");
    for (size_t i = 0; i < COUNT(names); i++) {
        world_add_node(&jw.w, names[i], 0);
        tell_node(names[i]);
    }
    jobs_world_run(&jw, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    jobs_world_done(&jw);
    return 0;
}

static void submit(const char *name, const char *spec)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'name':'train','script':'#!/bin/sh\\n',"
                   "'workDir':'/work',%s}}",
                   name, spec);

    world_must(world_create(&jw.w, SLURM(NULL), text, NULL));
    jobs_world_run(&jw, 1);
}

/* NULL: there is no such pod. */
static void assert_window(const char *pod_name, const char *want)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(pod_name));
    const char *window =
        json_text_at(pod, "metadata", "annotations", SLURM_WINDOW_ANNOTATION, NULL);
    AUTO_FREE char *affinity = pod ? json_format(json_at(pod, "spec", "affinity", NULL)) : NULL;

    if (!want) {
        assert_null(pod);
        return;
    }
    if (!pod)
        fail_msg("no pod %s", pod_name);
    assert_string_equal(text_or_empty(window), want);
    if (*want)
        assert_non_null(
            strstr(text_or_empty(affinity), "\"kubernetes.io/hostname\",\"operator\":\"In\""));
}

static void a_job_gets_neighbours_in_the_order_of_names(void **state)
{
    (void)state;
    submit("any", "'nodesMin':2");
    assert_window("any", "");
    submit("first", "'nodesMin':2,'contiguous':true");
    assert_window("first", "n[1-2]");
    assert_window("first-n1", "n[1-2]");
    submit("next", "'nodesMin':2,'contiguous':true");
    assert_window("next", "n[3,10]");
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 1);
    assert_window("next", "n[3,10]");
}

static void without_room_it_waits_for_those_that_hold_least(void **state)
{
    (void)state;
    submit("busy", "'cpusPerTask':1");
    world_must(world_bind(&jw.w, "default", "busy", "n2"));
    jobs_world_run(&jw, 1);
    submit("three", "'nodesMin':3,'contiguous':true,'exclusive':true");
    assert_window("three", NULL);
    jobs_world_run(&jw, 50);
    assert_window("three", NULL);
    jobs_world_run(&jw, 20);
    assert_window("three", "n[1-3]");
    assert_window("three-n2", "n[1-3]");
}

static void nodes_with_too_few_free_cpus_are_passed_over(void **state)
{
    (void)state;
    submit("busy", "'cpusPerTask':2");
    world_must(world_bind(&jw.w, "default", "busy", "n2"));
    jobs_world_run(&jw, 1);
    submit("two", "'nodesMin':2,'contiguous':true");
    assert_window("two", "n[3,10]");
}

static void a_place_that_frees_is_taken(void **state)
{
    (void)state;
    submit("busy", "'cpusPerTask':1");
    world_must(world_bind(&jw.w, "default", "busy", "n3"));
    jobs_world_run(&jw, 1);
    submit("three", "'nodesMin':3,'contiguous':true,'exclusive':true");
    assert_window("three", NULL);
    tell_pod(&jw, "busy", "Succeeded", 0);
    jobs_world_run(&jw, 10);
    assert_window("three", "n[1-3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(a_job_gets_neighbours_in_the_order_of_names),
        CASE(without_room_it_waits_for_those_that_hold_least),
        CASE(nodes_with_too_few_free_cpus_are_passed_over),
        CASE(a_place_that_frees_is_taken),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
