/* test_jobs.c - the job controller against Kubernetes' semantics */

#include "base/mem.h"
#include "base/stamp.h"
#include "jobs_world.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"
#include "sim_loop.h"
#include "test.h"

#define POD(n) ((struct target){.kind = "pods", .name = (n)})
#define JOB(n) ((struct target){.group = "batch", .kind = "jobs", .name = (n), .who = &root})

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

/* The first pod of the list. New reference. */
static json_t *any_pod(void)
{
    AUTO(json_freep) json_t *pods = list_all(&jw, "", "pods");

    assert_true(json_array_size(pods) > 0);
    return json_incref(json_array_get(pods, 0));
}

static size_t count_pods(void)
{
    AUTO(json_freep) json_t *pods = list_all(&jw, "", "pods");

    return json_array_size(pods);
}

static void patch_job(const char *text)
{
    world_must(world_patch(&jw.w, JOB("j"), text, NULL));
    jobs_world_run(&jw, 1);
}

static bool is_tracked(const json_t *pod)
{
    return json_array_size(json_at(pod, "metadata", "finalizers", NULL)) > 0;
}

static void a_pod_is_the_jobs_and_its_users(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *job = NULL;
    const json_t *owner;

    (void)state;
    world_must(world_create(
        &jw.w, (struct target){.group = "batch", .kind = "jobs"},
        "{'metadata':{'name':'j'},'spec':{'template':{'metadata':{'labels':{'app':'x'}},'spec':"
        "{'restartPolicy':'Never','containers':[{'name':'main','image':'host'}]}}}}",
        NULL));
    jobs_world_run(&jw, 1);
    pod = any_pod();
    job = get_job(&jw, "j");
    owner = json_array_get(json_at(pod, "metadata", "ownerReferences", NULL), 0);
    assert_string_equal(json_text(owner, "kind"), "Job");
    assert_string_equal(json_text(owner, "uid"), json_text_at(job, "metadata", "uid", NULL));
    assert_true(json_bool(owner, "controller", false));
    assert_true(is_tracked(pod));
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_USER, NULL), "ann");
    assert_int_equal(json_int_at(pod, "spec", "securityContext", "runAsUser", NULL), 1000);
    assert_string_equal(json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL),
                        json_text_at(job, "metadata", "labels", POD_JOB_ID, NULL));
    assert_string_equal(json_text_at(pod, "metadata", "labels", JOB_NAME_LABEL, NULL), "j");
    assert_string_equal(json_text_at(job, "metadata", "labels", "app", NULL), "x");
    assert_memory_equal(json_text_at(pod, "metadata", "name", NULL), "j-", 2);
    assert_int_equal(job_number(&jw, "j", "active"), 1);
    assert_int_equal(count_events(&jw, "SuccessfulCreate"), 1);
}

static void it_completes_when_enough_have_succeeded(void **state)
{
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_plain_job(&jw, "'completions':4,'parallelism':2");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(count_active(&jw), i < 3 ? 2 : 1);
        assert_int_equal(job_number(&jw, "j", "succeeded"), i);
        tell_first(&jw, "Succeeded", 0);
    }
    assert_condition(&jw, "j", "SuccessCriteriaMet", "CompletionsReached");
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
    job = get_job(&jw, "j");
    assert_int_equal(json_int_at(job, "status", "succeeded", NULL), 4);
    assert_null(json_at(job, "status", "active", NULL));
    assert_non_null(json_text_at(job, "status", "completionTime", NULL));
    assert_int_equal(count_pods(), 4); /* ended pods stay for people to see */
    pod = any_pod();
    assert_false(is_tracked(pod));
    assert_int_equal(count_events(&jw, "Completed"), 1);
}

static void without_completions_one_success_is_enough(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':3");
    assert_int_equal(count_active(&jw), 3);
    tell_first(&jw, "Succeeded", 0);
    assert_int_equal(count_active(&jw), 2); /* no new pod, and no pod is stopped */
    tell_first(&jw, "Failed", 1);
    assert_int_equal(count_active(&jw), 1);
    tell_first(&jw, "Succeeded", 0);
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
}

static void a_failed_pod_is_replaced_after_a_pause_that_doubles(void **state)
{
    (void)state;
    add_plain_job(&jw, "");
    for (int pause = 10; pause <= 40; pause *= 2) {
        tell_first(&jw, "Failed", 1);
        jobs_world_run(&jw, pause - 3);
        assert_int_equal(count_active(&jw), 0);
        jobs_world_run(&jw, 3);
        assert_int_equal(count_active(&jw), 1);
    }
    assert_int_equal(job_number(&jw, "j", "failed"), 3);
}

static void too_many_failures_end_it(void **state)
{
    (void)state;
    add_plain_job(&jw, "'backoffLimit':1,'parallelism':2,'completions':2");
    tell_first(&jw, "Failed", 1);
    jobs_world_run(&jw, 10);
    assert_int_equal(count_active(&jw), 2);
    tell_first(&jw, "Failed", 1);
    assert_int_equal(count_active(&jw), 0);
    assert_condition(&jw, "j", "FailureTarget", "BackoffLimitExceeded");
    assert_condition(&jw, "j", "Failed", "BackoffLimitExceeded");
    assert_int_equal(job_number(&jw, "j", "failed"), 3); /* including the stopped pod */
    assert_int_equal(count_events(&jw, "BackoffLimitExceeded"), 1);
}

static void it_has_failed_once_its_last_pod_is_gone(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *job = NULL;
    const char *name;

    (void)state;
    add_plain_job(&jw, "'activeDeadlineSeconds':30");
    pod = any_pod();
    name = json_text_at(pod, "metadata", "name", NULL);
    place_pod(&jw, name);
    tell_pod(&jw, name, "Running", 0);
    jobs_world_run(&jw, 31);
    assert_condition(&jw, "j", "FailureTarget", "DeadlineExceeded");
    job = get_job(&jw, "j");
    assert_false(job_is_finished(job));
    assert_int_equal(job_number(&jw, "j", "terminating"), 1);
    finish_deletion(&jw, name);
    jobs_world_run(&jw, 1);
    assert_condition(&jw, "j", "Failed", "DeadlineExceeded");
    assert_int_equal(job_number(&jw, "j", "terminating"), 0);
    assert_int_equal(job_number(&jw, "j", "failed"), 1);
}

static void suspended_it_has_no_pods_and_resumed_it_starts_anew(void **state)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    add_plain_job(&jw, "'parallelism':2,'completions':2,'suspend':true");
    assert_int_equal(count_pods(), 0);
    assert_condition(&jw, "j", "Suspended", "JobSuspended");
    before = get_job(&jw, "j");
    assert_null(json_text_at(before, "status", "startTime", NULL));
    patch_job("{'spec':{'suspend':false}}");
    assert_int_equal(count_active(&jw), 2);
    after = get_job(&jw, "j");
    assert_non_null(json_text_at(after, "status", "startTime", NULL));
    assert_false(job_has_condition(after, "Suspended"));
    patch_job("{'spec':{'suspend':true}}");
    assert_int_equal(count_pods(), 0);
    assert_int_equal(job_number(&jw, "j", "failed"), 0); /* a suspended pod has not failed */
    assert_int_equal(count_events(&jw, "Suspended"), 2);
    assert_int_equal(count_events(&jw, "Resumed"), 1);
}

static void less_parallelism_stops_who_has_done_least(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *name = NULL;

    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':3");
    pod = any_pod();
    name = mem_strdup(json_text_at(pod, "metadata", "name", NULL));
    place_pod(&jw, name);
    tell_pod(&jw, name, "Running", 0);
    patch_job("{'spec':{'parallelism':1}}");
    assert_int_equal(count_active(&jw), 1);
    json_decref(pod);
    pod = world_get(&jw.w, POD(name));
    assert_non_null(pod);
    assert_false(pod_is_deleting(pod));
    patch_job("{'spec':{'parallelism':3}}");
    assert_int_equal(count_active(&jw), 3);
}

static void an_index_is_in_its_pod(void **state)
{
    AUTO(json_freep) json_t *pods = NULL;

    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':3,'completionMode':'Indexed'");
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(pods), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *pod = json_array_get(pods, i);
        const json_t *env =
            json_object_get(json_array_get(json_at(pod, "spec", "containers", NULL), 0), "env");
        AUTO_FREE char *index = mem_format("%zu", i);
        AUTO_FREE char *host = mem_format("j-%zu", i);

        assert_string_equal(json_text_at(pod, "metadata", "annotations", JOB_INDEX, NULL), index);
        assert_string_equal(json_text_at(pod, "metadata", "labels", JOB_INDEX, NULL), index);
        assert_string_equal(json_text_at(pod, "spec", "hostname", NULL), host);
        assert_string_equal(json_text(json_array_get(env, 0), "name"), "JOB_COMPLETION_INDEX");
        assert_memory_equal(json_text_at(pod, "metadata", "name", NULL), host, strlen(host));
    }
}

static const char *indexed_pod(const json_t *pods, const char *index)
{
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);

        if (text_equal(json_text_at(pod, "metadata", "labels", JOB_INDEX, NULL), index) &&
            !pod_is_deleting(pod) &&
            text_equal(json_text_at(pod, "status", "phase", NULL), "Pending"))
            return json_text_at(pod, "metadata", "name", NULL);
    }
    return NULL;
}

static void end_index(const char *index, const char *phase, int exit_code)
{
    AUTO(json_freep) json_t *pods = list_all(&jw, "", "pods");
    const char *name = indexed_pod(pods, index);

    if (!name)
        fail_msg("no pod of index %s", index);
    tell_pod(&jw, name, phase, exit_code);
    jobs_world_run(&jw, 1);
}

static void assert_indexes(const char *key, const char *want)
{
    AUTO(json_freep) json_t *job = get_job(&jw, "j");
    const char *text = json_text_at(job, "status", key, NULL);

    assert_string_equal(text ? text : "", want);
}

static void each_index_succeeds_once(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':5,'completionMode':'Indexed'");
    end_index("1", "Succeeded", 0);
    assert_indexes("completedIndexes", "1");
    end_index("2", "Succeeded", 0);
    end_index("4", "Succeeded", 0);
    assert_indexes("completedIndexes", "1,2,4");
    end_index("0", "Failed", 1);
    jobs_world_run(&jw, 12);
    end_index("0", "Succeeded", 0);
    end_index("3", "Succeeded", 0);
    assert_indexes("completedIndexes", "0-4");
    assert_int_equal(job_number(&jw, "j", "succeeded"), 5);
    assert_int_equal(job_number(&jw, "j", "failed"), 1);
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
}

static void an_index_has_its_own_limit(void **state)
{
    AUTO(json_freep) json_t *pods = NULL;
    const char *name;

    (void)state;
    add_plain_job(&jw, "'parallelism':2,'completions':2,'completionMode':'Indexed',"
                       "'backoffLimitPerIndex':1");
    end_index("0", "Failed", 1);
    jobs_world_run(&jw, 12);
    pods = list_all(&jw, "", "pods");
    name = indexed_pod(pods, "0");
    assert_non_null(name);
    {
        AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));

        assert_string_equal(json_text_at(pod, "metadata", "annotations", JOB_INDEX_FAILURES, NULL),
                            "1");
    }
    end_index("0", "Failed", 1);
    assert_indexes("failedIndexes", "0");
    assert_int_equal(count_active(&jw), 1); /* the other pod goes on */
    end_index("1", "Succeeded", 0);
    assert_condition(&jw, "j", "Failed", "FailedIndexes");
    assert_int_equal(job_number(&jw, "j", "failed"), 2);
}

static void more_failed_indexes_than_allowed_end_it(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':3,'completionMode':'Indexed',"
                       "'backoffLimitPerIndex':0,'maxFailedIndexes':1");
    end_index("0", "Failed", 1);
    assert_int_equal(count_active(&jw), 2);
    end_index("1", "Failed", 1);
    assert_condition(&jw, "j", "Failed", "MaxFailedIndexesExceeded");
    assert_int_equal(count_active(&jw), 0);
}

static void a_policy_fails_it_at_once(void **state)
{
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    add_plain_job(&jw, "'parallelism':2,'completions':2,'podFailurePolicy':{'rules':[{'action':"
                       "'FailJob','onExitCodes':{'operator':'In','values':[42]}}]}");
    tell_first(&jw, "Failed", 42);
    assert_condition(&jw, "j", "Failed", "PodFailurePolicy");
    job = get_job(&jw, "j");
    assert_non_null(strstr(json_text(object_condition(job, "Failed"), "message"),
                           "failed with exit code 42 matching FailJob rule at index 0"));
}

static void a_policy_ignores_a_failure(void **state)
{
    (void)state;
    add_plain_job(&jw, "'backoffLimit':0,'podFailurePolicy':{'rules':[{'action':'Ignore',"
                       "'onExitCodes':{'containerName':'main','operator':'NotIn','values':[1]}}]}");
    tell_first(&jw, "Failed", 143);
    jobs_world_run(&jw, 12);
    assert_int_equal(count_active(&jw), 1);
    assert_int_equal(job_number(&jw, "j", "failed"), 0);
    tell_first(&jw, "Failed", 1);
    assert_condition(&jw, "j", "Failed", "BackoffLimitExceeded");
    assert_int_equal(job_number(&jw, "j", "failed"), 1);
}

static void a_success_policy_ends_it_early(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':3,'completionMode':'Indexed',"
                       "'successPolicy':{'rules':[{'succeededIndexes':'1'}]}");
    end_index("0", "Succeeded", 0);
    assert_int_equal(count_active(&jw), 2);
    end_index("1", "Succeeded", 0);
    assert_condition(&jw, "j", "Complete", "SuccessPolicy");
    assert_int_equal(count_active(&jw), 0);
    assert_int_equal(job_number(&jw, "j", "failed"), 0);
}

static void a_finished_one_goes_in_its_time(void **state)
{
    AUTO(json_freep) json_t *job = NULL;

    (void)state;
    add_plain_job(&jw, "'ttlSecondsAfterFinished':100");
    tell_first(&jw, "Succeeded", 0);
    jobs_world_run(&jw, 97);
    job = get_job(&jw, "j");
    assert_non_null(job);
    jobs_world_run(&jw, 5);
    assert_null(get_job(&jw, "j"));
    assert_int_equal(count_pods(), 0);
}

static void a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_plain_job(&jw, "");
    pod = any_pod();
    world_must(world_delete(&jw.w, POD(json_text_at(pod, "metadata", "name", NULL)), NULL, NULL));
    jobs_world_run(&jw, 12);
    assert_int_equal(job_number(&jw, "j", "failed"), 1);
    assert_int_equal(count_pods(), 1);
    assert_int_equal(count_active(&jw), 1);
}

static void with_its_job_a_pod_goes(void **state)
{
    static const char *const ways[] = {"Background", "Foreground"};

    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct delete_options how = {.grace_seconds = -1, .propagation = ways[i]};

        add_plain_job(&jw, "'parallelism':3,'completions':4");
        tell_first(&jw, "Succeeded", 0);
        world_must(world_delete(&jw.w, JOB("j"), &how, NULL));
        jobs_world_run(&jw, 2);
        assert_null(get_job(&jw, "j"));
        assert_int_equal(count_pods(), 0);
    }
}

static void orphaned_its_pods_go_on(void **state)
{
    struct delete_options how = {.grace_seconds = -1, .propagation = "Orphan"};
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_plain_job(&jw, "");
    world_must(world_delete(&jw.w, JOB("j"), &how, NULL));
    jobs_world_run(&jw, 2);
    assert_null(get_job(&jw, "j"));
    pod = any_pod();
    assert_false(pod_is_deleting(pod));
    assert_false(is_tracked(pod));
    assert_int_equal(json_array_size(json_at(pod, "metadata", "ownerReferences", NULL)), 0);
}

/* A full quota refuses in the same way. */
static void what_cannot_be_made_is_told_and_tried_again_slowly(void **state)
{
    (void)state;
    world_must(world_create(&jw.w, (struct target){.kind = "resourcequotas", .who = &root},
                            "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1'}}}", NULL));
    jobs_world_run(&jw, 1);
    add_plain_job(&jw, "'parallelism':3,'completions':3");
    assert_int_equal(count_active(&jw), 1);
    jobs_world_run(&jw, 200);
    assert_int_equal(count_active(&jw), 1);
    assert_in_range(count_events(&jw, "FailedCreate"), 3, 12);
    world_must(world_patch(&jw.w,
                           (struct target){.kind = "resourcequotas", .name = "q", .who = &root},
                           "{'spec':{'hard':{'pods':'10'}}}", NULL));
    jobs_world_run(&jw, 61);
    assert_int_equal(count_active(&jw), 3);
}

static void a_thousand_pods_are_made_and_counted(void **state)
{
    AUTO(json_freep) json_t *pods = NULL;

    (void)state;
    add_plain_job(&jw, "'parallelism':1000,'completions':1000");
    jobs_world_run(&jw, 1);
    assert_int_equal(count_active(&jw), 1000);
    assert_in_range(count_events(&jw, "SuccessfulCreate"), 1, 25);
    pods = list_all(&jw, "", "pods");
    for (size_t i = 0; i < 1000; i++)
        tell_pod(&jw, json_text_at(json_array_get(pods, i), "metadata", "name", NULL), "Succeeded",
                 0);
    jobs_world_run(&jw, 1);
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
    assert_int_equal(job_number(&jw, "j", "succeeded"), 1000);
}

static void elastic_indexed_jobs_shrink_and_grow(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':3,'completions':3,'completionMode':'Indexed'");
    end_index("2", "Succeeded", 0);
    patch_job("{'spec':{'completions':1,'parallelism':1}}");
    assert_int_equal(count_active(&jw), 1);
    assert_int_equal(job_number(&jw, "j", "succeeded"), 0);
    patch_job("{'spec':{'completions':2,'parallelism':2}}");
    assert_int_equal(count_active(&jw), 2);
    end_index("0", "Succeeded", 0);
    end_index("1", "Succeeded", 0);
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
}

static void a_restart_changes_nothing(void **state)
{
    (void)state;
    add_plain_job(&jw, "'parallelism':2,'completions':3");
    tell_first(&jw, "Failed", 1);
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 5);
    assert_int_equal(count_active(&jw), 1); /* the back-off is remembered */
    jobs_world_run(&jw, 6);
    assert_int_equal(count_active(&jw), 2);
    for (int i = 0; i < 3; i++) {
        tell_first(&jw, "Succeeded", 0);
        jobs_world_restart(&jw, i % 2 == 0);
        jobs_world_run(&jw, 1);
    }
    assert_condition(&jw, "j", "Complete", "CompletionsReached");
    assert_int_equal(job_number(&jw, "j", "succeeded"), 3);
    assert_int_equal(job_number(&jw, "j", "failed"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pod_is_the_jobs_and_its_users),
        TEST(it_completes_when_enough_have_succeeded),
        TEST(without_completions_one_success_is_enough),
        TEST(a_failed_pod_is_replaced_after_a_pause_that_doubles),
        TEST(too_many_failures_end_it),
        TEST(it_has_failed_once_its_last_pod_is_gone),
        TEST(suspended_it_has_no_pods_and_resumed_it_starts_anew),
        TEST(less_parallelism_stops_who_has_done_least),
        TEST(an_index_is_in_its_pod),
        TEST(each_index_succeeds_once),
        TEST(an_index_has_its_own_limit),
        TEST(more_failed_indexes_than_allowed_end_it),
        TEST(a_policy_fails_it_at_once),
        TEST(a_policy_ignores_a_failure),
        TEST(a_success_policy_ends_it_early),
        TEST(a_finished_one_goes_in_its_time),
        TEST(a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced),
        TEST(with_its_job_a_pod_goes),
        TEST(orphaned_its_pods_go_on),
        TEST(what_cannot_be_made_is_told_and_tried_again_slowly),
        TEST(a_thousand_pods_are_made_and_counted),
        TEST(elastic_indexed_jobs_shrink_and_grow),
        TEST(a_restart_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
