/* test_slurm_early.c - jobs, pods and bindings that follow each other before they are durable */
#include "base/mem.h"
#include "mem_storage.h"
#include "sched_world.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})

static struct sched_world s;

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 31);
    sched_world_add_node(&s, "a", 1);
    sched_world_advance(&s, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

static struct err *submit(const char *name, const char *spec)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'name':'train','script':'#!/bin/sh\\n',"
                   "'workDir':'/work'%s}}",
                   name, spec);

    return world_create(&s.w, SLURM(NULL), text, NULL);
}

static size_t count_pods(void)
{
    struct store_range range = {.group = "", .resource = "pods"};
    struct store_list list = {0};
    size_t n;

    world_must(store_list(s.w.store, &range, NULL, NULL, 0, 0, &list));
    n = list.n;
    store_list_done(&list);
    return n;
}

static void a_job_gets_its_pod_and_its_node(void **state)
{
    (void)state;
    world_must(submit("j", ""));
    sched_world_advance(&s, 1);
    sched_world_assert_on(&s, "j", "a");
    assert_int_equal(count_pods(), 1);
}

/* The client was told that the job is not there: nothing of it may be. */
static void a_job_that_the_store_took_back_leaves_nothing(void **state)
{
    (void)state;
    mem_storage_refuse_once(s.w.disk, "slurmjobs", STORE_CREATED);
    world_must(submit("lost", "")); /* the answer comes later, and is an error */
    sched_world_advance(&s, 5);
    assert_int_equal(count_pods(), 0);
    assert_null(world_get(&s.w, SLURM("lost")));
    world_must(submit("j", ""));
    sched_world_advance(&s, 5);
    sched_world_assert_on(&s, "j", "a");
    assert_int_equal(count_pods(), 1);
}

static void a_pod_that_the_store_took_back_is_made_again(void **state)
{
    (void)state;
    mem_storage_refuse_once(s.w.disk, "pods", STORE_CREATED);
    world_must(submit("j", ""));
    sched_world_advance(&s, 5);
    sched_world_assert_on(&s, "j", "a");
    assert_int_equal(count_pods(), 1);
}

static void a_binding_that_the_store_took_back_is_made_again(void **state)
{
    (void)state;
    mem_storage_refuse_once(s.w.disk, "placements", STORE_CREATED);
    world_must(submit("j", ""));
    sched_world_advance(&s, 5);
    sched_world_assert_on(&s, "j", "a");
    assert_int_equal(count_pods(), 1);
}

static void a_job_that_is_held_waits_for_its_release(void **state)
{
    (void)state;
    world_must(submit("j", ",'hold':'user'"));
    sched_world_advance(&s, 2);
    assert_int_equal(count_pods(), 0);
    world_must(world_patch(&s.w, SLURM("j"), "{'spec':{'hold':'none'}}", NULL));
    sched_world_advance(&s, 2);
    sched_world_assert_on(&s, "j", "a");
}

/* Elements of an array come in more than one window. */
static void an_array_survives_refusals(void **state)
{
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    mem_storage_refuse_once(s.w.disk, "pods", STORE_CREATED);
    world_must(submit("many", ",'array':{'indexes':'0-199'}"));
    sched_world_advance(&s, 3);
    mem_storage_refuse_once(s.w.disk, "placements", STORE_CREATED);
    sched_world_advance(&s, 10);
    sched_world_restart(&s);
    sched_world_advance(&s, 3);
    assert_true(count_pods() >= 64);
    sched_world_assert_on(&s, "many-0", "a");
    job = world_get(&s.w, SLURM("many"));
    assert_non_null(job);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_gets_its_pod_and_its_node),
        TEST(a_job_that_the_store_took_back_leaves_nothing),
        TEST(a_pod_that_the_store_took_back_is_made_again),
        TEST(a_binding_that_the_store_took_back_is_made_again),
        TEST(a_job_that_is_held_waits_for_its_release),
        TEST(an_array_survives_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
