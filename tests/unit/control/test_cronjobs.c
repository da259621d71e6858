/* test_cronjobs.c - the CronJob controller */

#include "base/mem.h"
#include "base/stamp.h"
#include "jobs_world.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"
#include "sim_loop.h"
#include "test.h"

#define CRONJOB(n) \
    ((struct target){.group = "batch", .kind = "cronjobs", .name = (n), .who = &root})

static struct jobs_world jw;

/* Time begins at 2026-01-01T00:00:01Z; making the world uses up the first minutes. */
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

/* Creates the CronJob "c", due every five minutes, with these members of the spec. */
static void add(const char *more)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'c'},'spec':{'schedule':'*/5 * * * *'%s%s,'jobTemplate':{'metadata':"
        "{'labels':{'app':'x'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':"
        "[{'name':'main','image':'host'}]}}}}}}",
        *more ? "," : "", more);

    add_cronjob(&jw, text);
}

static void patch(const char *text)
{
    world_must(world_patch(&jw.w, CRONJOB("c"), text, NULL));
    jobs_world_run(&jw, 1);
}

static size_t count_jobs(void)
{
    AUTO(json_freep) json_t *jobs = list_all(&jw, "batch", "jobs");

    return json_array_size(jobs);
}

/* The `i`-th job by name. New reference. */
static json_t *job_at(size_t i)
{
    AUTO(json_freep) json_t *jobs = list_all(&jw, "batch", "jobs");

    assert_true(i < json_array_size(jobs));
    return json_incref(json_array_get(jobs, i));
}

static void assert_status(const char *key, const char *want)
{
    AUTO(json_freep) json_t *object = get_cronjob(&jw, "c");
    const char *text = json_text_at(object, "status", key, NULL);

    assert_string_equal(text ? text : "", want);
}

static size_t count_listed_active(void)
{
    AUTO(json_freep) json_t *object = get_cronjob(&jw, "c");

    return json_array_size(json_at(object, "status", "active", NULL));
}

static void a_job_is_made_at_each_time(void **state)
{
    AUTO(json_freep) json_t *job = NULL;
    const json_t *owner;

    (void)state;
    add("");
    assert_int_equal(count_jobs(), 0);
    jobs_world_run(&jw, 300);
    assert_int_equal(count_jobs(), 1);
    job = job_at(0);
    assert_string_equal(json_text_at(job, "metadata", "name", NULL), "c-29453765");
    owner = json_array_get(json_at(job, "metadata", "ownerReferences", NULL), 0);
    assert_string_equal(json_text(owner, "kind"), "CronJob");
    assert_string_equal(json_text_at(job, "metadata", "labels", "app", NULL), "x");
    assert_string_equal(json_text_at(job, "metadata", "annotations", POD_USER, NULL), "root");
    assert_string_equal(json_text_at(job, "metadata", "annotations", CRONJOB_SCHEDULED_FOR, NULL),
                        "2026-01-01T00:05:00Z");
    assert_status("lastScheduleTime", "2026-01-01T00:05:00Z");
    assert_int_equal(count_listed_active(), 1);
    assert_int_equal(count_active(&jw), 1);
    jobs_world_run(&jw, 300);
    assert_int_equal(count_jobs(), 2);
    assert_int_equal(count_listed_active(), 2);
    assert_int_equal(count_events(&jw, "SuccessfulCreate"), 4); /* two jobs, two pods */
}

static void what_ends_is_told_and_the_oldest_go(void **state)
{
    AUTO(json_freep) json_t *oldest = NULL;
    AUTO(json_freep) json_t *newest = NULL;

    (void)state;
    add("'successfulJobsHistoryLimit':2");
    for (int i = 0; i < 4; i++) {
        jobs_world_run(&jw, 300);
        tell_first(&jw, "Succeeded", 0);
    }
    jobs_world_run(&jw, 1);
    assert_int_equal(count_jobs(), 2);
    assert_int_equal(count_listed_active(), 0);
    assert_int_equal(count_events(&jw, "SawCompletedJob"), 4);
    oldest = job_at(0);
    newest = job_at(1);
    assert_string_equal(json_text_at(oldest, "metadata", "name", NULL), "c-29453775");
    assert_status("lastSuccessfulTime", json_text_at(newest, "status", "completionTime", NULL));
}

static void forbid_waits_for_the_one_that_runs(void **state)
{
    (void)state;
    add("'concurrencyPolicy':'Forbid'");
    jobs_world_run(&jw, 900);
    assert_int_equal(count_jobs(), 1);
    assert_true(count_events(&jw, "JobAlreadyActive") > 0);
    tell_first(&jw, "Succeeded", 0);
    jobs_world_run(&jw, 60);
    assert_int_equal(count_jobs(), 2); /* only for the last missed time */
    assert_status("lastScheduleTime", "2026-01-01T00:15:00Z");
}

static void replace_ends_the_one_that_runs(void **state)
{
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    add("'concurrencyPolicy':'Replace'");
    jobs_world_run(&jw, 605);
    assert_int_equal(count_jobs(), 1);
    job = job_at(0);
    assert_string_equal(json_text_at(job, "metadata", "name", NULL), "c-29453770");
    assert_int_equal(count_active(&jw), 1);
}

static void suspended_it_makes_none_and_later_the_last_one(void **state)
{
    (void)state;
    add("'suspend':true");
    jobs_world_run(&jw, 1800);
    assert_int_equal(count_jobs(), 0);
    patch("{'spec':{'suspend':false}}");
    assert_int_equal(count_jobs(), 1);
    assert_status("lastScheduleTime", "2026-01-01T00:30:00Z");
}

static void past_the_deadline_it_is_too_late(void **state)
{
    (void)state;
    add("'suspend':true,'startingDeadlineSeconds':60");
    jobs_world_run(&jw, 400);
    patch("{'spec':{'suspend':false}}");
    assert_int_equal(count_jobs(), 0); /* due 100 s ago */
    jobs_world_run(&jw, 300);
    assert_int_equal(count_jobs(), 1);
}

static void a_time_zone_counts(void **state)
{
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    add("'timeZone':'Asia/Kolkata'");
    patch("{'spec':{'schedule':'35 5 * * *'}}"); /* 00:05 UTC */
    jobs_world_run(&jw, 302);
    job = job_at(0);
    assert_string_equal(json_text_at(job, "metadata", "annotations", CRONJOB_SCHEDULED_FOR, NULL),
                        "2026-01-01T05:35:00+05:30");
    assert_status("lastScheduleTime", "2026-01-01T00:05:00Z");
}

static void a_new_schedule_counts_at_once(void **state)
{
    (void)state;
    add("");
    patch("{'spec':{'schedule':'* * * * *'}}");
    jobs_world_run(&jw, 180);
    assert_int_equal(count_jobs(), 3);
}

static void one_made_by_hand_is_in_nobodys_way(void **state)
{
    AUTO(json_freep) json_t *cronjob = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    add("'concurrencyPolicy':'Forbid'");
    cronjob = get_cronjob(&jw, "c");
    text = mem_format("{'metadata':{'name':'m','annotations':{'cronjob.kubernetes.io/instantiate':"
                      "'manual'},'ownerReferences':[{'apiVersion':'batch/v1','kind':'CronJob',"
                      "'name':'c','uid':'%s','controller':true}]},'spec':{'template':{'spec':{"
                      "'restartPolicy':'Never','containers':[{'name':'main','image':'host'}]}}}}",
                      json_text_at(cronjob, "metadata", "uid", NULL));
    add_job(&jw, text);
    assert_int_equal(count_listed_active(), 0);
    jobs_world_run(&jw, 300);
    assert_int_equal(count_jobs(), 2);
}

static void no_time_is_served_twice_whenever_the_server_ends(void **state)
{
    (void)state;
    add("'suspend':true");
    patch("{'spec':{'suspend':false,'schedule':'* * * * *'}}");
    for (int i = 0; i < 60; i++) {
        sim_loop_advance(jw.w.loop, 29 * NS_PER_SEC + i * NS_PER_MS);
        for (int n = 0; n < i % 7; n++)
            (void)sim_loop_step(jw.w.loop);
        jobs_world_restart(&jw, i % 2 == 0);
    }
    jobs_world_run(&jw, 2);
    /* Each minute since 2026-01-01 has a job; names are unique, so no minute has two. */
    assert_int_equal(count_jobs(), (loop_wall_ns(jw.w.loop) / NS_PER_SEC - 1767225600) / 60);
}

static void with_it_its_jobs_and_their_pods_go(void **state)
{
    AUTO(json_freep) json_t *pods = NULL;

    (void)state;
    add("");
    jobs_world_run(&jw, 601);
    world_must(world_delete(&jw.w, CRONJOB("c"), NULL, NULL));
    jobs_world_run(&jw, 2);
    assert_int_equal(count_jobs(), 0);
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(pods), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_made_at_each_time),
        TEST(what_ends_is_told_and_the_oldest_go),
        TEST(forbid_waits_for_the_one_that_runs),
        TEST(replace_ends_the_one_that_runs),
        TEST(suspended_it_makes_none_and_later_the_last_one),
        TEST(past_the_deadline_it_is_too_late),
        TEST(a_time_zone_counts),
        TEST(a_new_schedule_counts_at_once),
        TEST(one_made_by_hand_is_in_nobodys_way),
        TEST(no_time_is_served_twice_whenever_the_server_ends),
        TEST(with_it_its_jobs_and_their_pods_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
