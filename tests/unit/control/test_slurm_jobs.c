/* test_slurm_jobs.c - the controller of SlurmJobs; the test plays the nodes */

#include "base/mem.h"
#include "base/stamp.h"
#include "jobs_world.h"
#include "kinds/node_lease.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})
#define POD(n)   ((struct target){.kind = "pods", .name = (n), .who = &ours})

static struct jobs_world jw;

static const struct kind_context bob = {.user = "bob", .host_uid = 1001};

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
                   "'workDir':'/work'%s%s}}",
                   name, *spec ? "," : "", spec);

    return world_create(&jw.w, SLURM(NULL), text, NULL);
}

/* Returns the number of the job. */
static int64_t submit(const char *name, const char *spec)
{
    AUTO(json_freep) json_t *job = NULL;

    world_must(try_submit(name, spec));
    jobs_world_run(&jw, 1);
    job = world_get(&jw.w, SLURM(name));
    return json_int_at(job, "status", "jobId", NULL);
}

static void change(const char *name, const char *spec)
{
    AUTO_FREE char *text = mem_format("{'spec':{%s}}", spec);

    world_must(world_patch(&jw.w, SLURM(name), text, NULL));
    jobs_world_run(&jw, 1);
}

static void assert_status(const char *name, const char *key, const char *want)
{
    AUTO(json_freep) json_t *job = world_get(&jw.w, SLURM(name));

    assert_non_null(job);
    assert_string_equal(text_or_empty(json_text_at(job, "status", key, NULL)), want);
}

static bool has_pod(const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));

    return pod != NULL;
}

static size_t count_pods(void)
{
    AUTO(json_freep) json_t *pods = list_all(&jw, "", "pods");

    return json_array_size(pods);
}

static void run_pod(const char *name)
{
    place_pod(&jw, name);
    tell_pod(&jw, name, "Running", 0);
    jobs_world_run(&jw, 2);
}

static void end_pod(const char *name, int code)
{
    tell_pod(&jw, name, code == 0 ? "Succeeded" : "Failed", code);
    jobs_world_run(&jw, 2);
}

static void a_job_runs_as_its_user_and_ends_with_its_code(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *process = NULL;

    (void)state;
    assert_int_equal(submit("j", "'timeLimitMinutes':5,'cpusPerTask':2"), 1);
    pod = world_get(&jw.w, POD("j"));
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_USER, NULL), "ann");
    assert_string_equal(json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL), "1");
    assert_int_equal(json_int_at(pod, "spec", "securityContext", "runAsUser", NULL), 1000);
    assert_int_equal(json_int_at(pod, "spec", "activeDeadlineSeconds", NULL), 300);
    world_must(json_parse(
        str_of(json_text_at(pod, "metadata", "annotations", HOST_PROCESS_ANNOTATION, NULL)),
        &process));
    assert_null(json_text(process, "script"));
    assert_true(json_bool(process, "jobScript", false));
    assert_string_equal(json_text(process, "stdout"), "/work/slurm-1.out");
    run_pod("j");
    assert_status("j", "state", "RUNNING");
    assert_status("j", "nodes", "n1");
    end_pod("j", 3);
    assert_status("j", "state", "FAILED");
    assert_status("j", "reason", "NonZeroExitCode");
    assert_int_equal(count_pods(), 0);
    jobs_world_run(&jw, 310);
    assert_null(world_get(&jw.w, SLURM("j")));
}

static void an_array_runs_within_its_limit_and_counts_each_element_once(void **state)
{
    (void)state;
    assert_int_equal(submit("a", "'array':{'indexes':'0-3,7','limit':2}"), 1);
    assert_int_equal(submit("next", ""), 6); /* five elements have the numbers 1 to 5 */
    assert_true(has_pod("a-0") && has_pod("a-1") && !has_pod("a-2"));
    run_pod("a-0");
    run_pod("a-1");
    assert_status("a", "running", "0,1");
    assert_status("a", "pending", "2,3,7");
    end_pod("a-0", 0);
    end_pod("a-1", 1);
    assert_true(has_pod("a-2") && has_pod("a-3") && !has_pod("a-7"));
    assert_status("a", "completed", "0");
    assert_status("a", "failed", "1");
    change("a", "'cancelled':'3,7'");
    assert_status("a", "cancelled", "3,7");
    end_pod("a-2", 0);
    assert_status("a", "state", "FAILED");
    assert_status("a", "completed", "0,2");
    assert_status("a", "pending", "");
}

static void a_cancelled_job_ends_when_its_processes_have(void **state)
{
    (void)state;
    (void)submit("j", "");
    run_pod("j");
    change("j", "'cancelled':'*'");
    assert_status("j", "state", "RUNNING");
    end_pod("j", 143);
    assert_status("j", "state", "CANCELLED");
    (void)submit("held", "'hold':'user'");
    assert_status("held", "reason", "JobHeldUser");
    change("held", "'cancelled':'*'");
    assert_status("held", "state", "CANCELLED");
}

static void dependencies_hold_fail_and_stay_failed(void **state)
{
    int64_t id = submit("first", "");
    AUTO_FREE char *ok = mem_format("'dependency':'afterok:%d'", (int)id);
    AUTO_FREE char *not_ok = mem_format("'dependency':'afternotok:%d'", (int)id);
    AUTO_FREE char *any = mem_format("'dependency':'afterok:%d?afterany:%d'", (int)id, (int)id);

    (void)state;
    (void)submit("ok", ok);
    (void)submit("not-ok", not_ok);
    (void)submit("any", any);
    (void)submit("again", "'dependency':'singleton'");
    assert_int_equal(count_pods(), 1);
    jobs_world_run(&jw, 2);
    assert_status("ok", "reason", "Dependency");
    end_pod("first", 2);
    assert_true(has_pod("not-ok") && has_pod("any") && !has_pod("ok") && !has_pod("again"));
    assert_status("ok", "reason", "DependencyNeverSatisfied");
    jobs_world_restart(&jw, true);
    change("first", "'requeues':{'*':1}");
    assert_true(has_pod("first-r1"));
    end_pod("first-r1", 0);
    assert_status("first", "state", "COMPLETED");
    assert_status("ok", "reason", "DependencyNeverSatisfied");
    change("ok", "'killOnInvalidDependency':true");
    assert_status("ok", "state", "CANCELLED");
    end_pod("not-ok", 0);
    end_pod("any", 0);
    assert_true(has_pod("again"));
}

static void a_running_job_starts_anew_on_request_once(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    (void)submit("j", "");
    run_pod("j");
    change("j", "'requeues':{'*':1}");
    end_pod("j", 143);
    jobs_world_restart(&jw, false);
    jobs_world_run(&jw, 2);
    pod = world_get(&jw.w, POD("j-r1"));
    assert_non_null(pod);
    assert_false(has_pod("j-r2"));
    end_pod("j-r1", 0);
    assert_status("j", "state", "COMPLETED");
}

static void a_begin_time_is_waited_for(void **state)
{
    char begin[STAMP_TEXT_SIZE];
    AUTO_FREE char *spec = NULL;

    (void)state;
    stamp_format(loop_wall_ns(jw.w.loop) + 60 * NS_PER_SEC, begin);
    spec = mem_format("'beginTime':'%s'", begin);
    (void)submit("j", spec);
    jobs_world_run(&jw, 50);
    assert_status("j", "reason", "BeginTime");
    assert_int_equal(count_pods(), 0);
    jobs_world_run(&jw, 12);
    assert_true(has_pod("j"));
}

static void licenses_are_counted_and_waited_for(void **state)
{
    AUTO(json_freep)
    json_t *config = manifest(
        "{'metadata':{'name':'default'},'spec':{'settings':{'Licenses':'matlab:3,ansys:1'}}}");
    AUTO_FREE char *text = json_format(config);
    const struct target configs = {.group = "mete.dev", .kind = "slurmconfigs", .who = &root};

    (void)state;
    world_refused(try_submit("early", "'licenses':'matlab'"), 422, "Invalid license specification");
    world_must(world_create(&jw.w, configs, text, NULL));
    jobs_world_run(&jw, 1);
    world_refused(try_submit("none", "'licenses':'nope'"), 422, "Invalid license specification");
    world_refused(try_submit("many", "'licenses':'matlab:4'"), 422,
                  "Invalid license specification");
    (void)submit("a", "'licenses':'matlab:2,ansys'");
    (void)submit("b", "'licenses':'matlab:2'");
    (void)submit("c", "'licenses':'matlab','array':{'indexes':'0-1'}");
    assert_true(has_pod("a"));
    assert_false(has_pod("b"));
    assert_true(has_pod("c-0"));
    assert_false(has_pod("c-1"));
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 10);
    assert_int_equal(count_pods(), 2);
    run_pod("a");
    end_pod("a", 0);
    jobs_world_run(&jw, 10);
    assert_true(has_pod("b"));
    assert_false(has_pod("c-1"));
    run_pod("b");
    end_pod("b", 1);
    jobs_world_run(&jw, 10);
    assert_true(has_pod("c-1"));
}

static void assert_annotation(const char *name, const char *key, const char *want)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));
    const char *text = json_text_at(pod, "metadata", "annotations", key, NULL);

    assert_non_null(pod);
    assert_string_equal(text ? text : "none", want);
}

static void configure(const char *spec)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'default'},'spec':{%s}}", spec);

    world_must(world_create(
        &jw.w, (struct target){.group = "mete.dev", .kind = "slurmconfigs", .who = &root}, text,
        NULL));
    jobs_world_run(&jw, 1);
}

static void of_alternatives_a_job_holds_the_first_free_license(void **state)
{
    (void)state;
    configure("'settings':{'Licenses':'matlab:1,octave:2'}");
    world_refused(try_submit("both", "'licenses':'matlab|octave,ansys'"), 422,
                  "Invalid license specification");
    world_refused(try_submit("none", "'licenses':'nope|octave'"), 422,
                  "Invalid license specification");
    world_refused(try_submit("many", "'licenses':'matlab:2|octave:3'"), 422,
                  "Invalid license specification");
    (void)submit("a", "'licenses':'matlab:1|octave:2'");
    (void)submit("b", "'licenses':'matlab:1|octave:2'");
    (void)submit("c", "'licenses':'matlab:1|octave:2'");
    assert_annotation("a", SLURM_LICENSE_ANNOTATION, "matlab:1");
    assert_annotation("b", SLURM_LICENSE_ANNOTATION, "octave:2");
    assert_false(has_pod("c"));
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 10);
    assert_false(has_pod("c"));
    run_pod("b");
    end_pod("b", 0);
    jobs_world_run(&jw, 10);
    assert_annotation("c", SLURM_LICENSE_ANNOTATION, "octave:2");
}

static void a_job_waits_for_one_switch_for_a_while(void **state)
{
    static const char required[] = "kueue.x-k8s.io/podset-required-topology";

    (void)state;
    world_add_node(&jw.w, "n2", 0);
    configure("'nodes':[{'names':'n[1-2]','switches':'core/r1'}]");
    (void)submit("wish", "'nodesMin':2,'switches':2,'switchesWait':60");
    assert_annotation("wish", required, "none");
    (void)submit("wait", "'nodesMin':2,'switches':1,'switchesWait':60");
    assert_annotation("wait", required, "switch.mete.dev/1");
    assert_annotation("wait-n1", required, "switch.mete.dev/1");
    jobs_world_run(&jw, 50);
    assert_annotation("wait", required, "switch.mete.dev/1");
    jobs_world_run(&jw, 20);
    assert_annotation("wait", required, "none");
    assert_annotation("wait-n1", "kueue.x-k8s.io/podset-preferred-topology", "switch.mete.dev/1");
}

static void a_job_waits_for_the_widest_switches_that_are_few(void **state)
{
    static const char required[] = "kueue.x-k8s.io/podset-required-topology";
    static const char preferred[] = "kueue.x-k8s.io/podset-preferred-topology";

    (void)state;
    world_add_node(&jw.w, "n2", 0);
    configure("'nodes':[{'names':'n1','switches':'core/block1/r1'},"
              "{'names':'n2','switches':'core/block1/r2'},"
              "{'names':'n3','switches':'core/block2/r3'},"
              "{'names':'n4','switches':'core/block2/r4'}]");
    (void)submit("three", "'nodesMin':2,'switches':3,'switchesWait':60");
    assert_annotation("three", required, "switch.mete.dev/2");
    assert_annotation("three-n1", preferred, "switch.mete.dev/1");
    jobs_world_run(&jw, 70);
    assert_annotation("three", required, "none");
    assert_annotation("three", preferred, "switch.mete.dev/1");
    (void)submit("one", "'nodesMin':2,'switches':1,'switchesWait':60");
    assert_annotation("one", required, "switch.mete.dev/1");
    (void)submit("four", "'nodesMin':2,'switches':4,'switchesWait':60");
    assert_annotation("four", required, "none");
    assert_annotation("four", preferred, "switch.mete.dev/1");
    (void)submit("now", "'nodesMin':2,'switches':2,'switchesWait':0");
    assert_annotation("now", required, "none");
}

static void a_job_may_exceed_its_limit_where_the_site_says(void **state)
{
    (void)state;
    (void)submit("none", "'timeLimitMinutes':5");
    assert_annotation("none", SLURM_OVER_ANNOTATION, "none");
    configure("'settings':{'OverTimeLimit':'7'}");
    (void)submit("over", "'timeLimitMinutes':5");
    assert_annotation("over", SLURM_OVER_ANNOTATION, "7");
    world_must(world_create(
        &jw.w, (struct target){.group = "mete.dev", .kind = "slurmpartitions", .who = &root},
        "{'metadata':{'name':'long'},'spec':{'nodes':'ALL','overTimeMinutes':65535}}", NULL));
    jobs_world_run(&jw, 1);
    (void)submit("any", "'timeLimitMinutes':5,'partition':'long'");
    assert_annotation("any", SLURM_OVER_ANNOTATION, "65535");
}

/* The member of a pod as text; the caller frees it. */
static char *pod_member(const char *name, const char *part, const char *key)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));

    return json_format(json_at(pod, "spec", part, key, NULL));
}

static void nodes_of_low_weight_and_with_wished_features_come_first(void **state)
{
    AUTO(json_freep)
    json_t *config =
        manifest("{'metadata':{'name':'default'},'spec':{'nodes':[{'names':'n1','weight':5,'gres':"
                 "'gpu:tesla:1','specCores':1,'features':['fast']},{'names':'n2'},{'names':'n[1-2]'"
                 ",'switches':'core/r1'}]}}");
    AUTO_FREE char *text = json_format(config);
    const struct target configs = {.group = "mete.dev", .kind = "slurmconfigs", .who = &root};
    AUTO_FREE char *wishes = NULL;
    AUTO_FREE char *selector = NULL;
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    world_add_node(&jw.w, "n2", 0);
    world_must(world_create(&jw.w, configs, text, NULL));
    jobs_world_run(&jw, 1);
    node = world_get(&jw.w, (struct target){.kind = "nodes", .name = "n1", .who = &root});
    assert_string_equal(json_text_at(node, "metadata", "labels", "mete.dev/slurm-weight", NULL),
                        "5");
    assert_string_equal(json_text_at(node, "metadata", "labels", "switch.mete.dev/1", NULL), "r1");
    assert_string_equal(json_text_at(node, "metadata", "labels", "switch.mete.dev/2", NULL),
                        "core");
    (void)submit("j", "'prefer':'fast','gres':'gpu:tesla:1'");
    wishes = pod_member("j", "affinity", "nodeAffinity");
    assert_string_equal(wishes,
                        "{\"preferredDuringSchedulingIgnoredDuringExecution\":["
                        "{\"weight\":100,\"preference\":{\"matchExpressions\":[{\"key\":"
                        "\"feature.mete.dev/fast\",\"operator\":\"Exists\"}]}},"
                        "{\"weight\":100,\"preference\":{\"matchExpressions\":[{\"key\":"
                        "\"mete.dev/gpu.model\",\"operator\":\"In\",\"values\":[\"fast\"]}]}},"
                        "{\"weight\":50,\"preference\":{\"matchExpressions\":[{\"key\":"
                        "\"mete.dev/slurm-weight\",\"operator\":\"In\",\"values\":[\"1\"]}]}}]}");
    selector = pod_member("j", "nodeSelector", "gpu-type.mete.dev/tesla");
    assert_string_equal(selector, "\"\"");
    (void)submit("both", "'nodesMin':2");
    pod = world_get(&jw.w, POD("both-n1"));
    assert_string_equal(json_text_at(pod, "metadata", "annotations",
                                     "kueue.x-k8s.io/podset-preferred-topology", NULL),
                        "switch.mete.dev/1");
    world_refused(try_submit("bad", "'prefer':'a&&b'"), 422, "Invalid feature specification");
}

static void a_waiting_pod_is_held_and_its_limit_changes(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *released = NULL;

    (void)state;
    (void)submit("j", "'timeLimitMinutes':5,'nodeList':'n1'");
    change("j", "'hold':'user','timeLimitMinutes':2");
    pod = world_get(&jw.w, POD("j"));
    assert_string_equal(json_text_at(pod, "metadata", "annotations", "mete.dev/hold", NULL),
                        "user");
    assert_int_equal(json_int_at(pod, "spec", "activeDeadlineSeconds", NULL), 120);
    world_refused(world_patch(&jw.w, SLURM("j"), "{'spec':{'timeLimitMinutes':9}}", NULL), 403,
                  "Access/permission denied");
    world_must(world_patch(
        &jw.w, (struct target){.group = "mete.dev", .kind = "slurmjobs", .name = "j", .who = &root},
        "{'spec':{'timeLimitMinutes':9,'hold':'none'}}", NULL));
    jobs_world_run(&jw, 1);
    released = world_get(&jw.w, POD("j"));
    assert_null(json_text_at(released, "metadata", "annotations", "mete.dev/hold", NULL));
    assert_int_equal(json_int_at(released, "spec", "activeDeadlineSeconds", NULL), 540);
}

static void only_its_user_changes_a_job(void **state)
{
    struct target mine = SLURM("j");

    (void)state;
    (void)submit("j", "");
    mine.who = &bob;
    world_refused(world_patch(&jw.w, mine, "{'spec':{'cancelled':'*'}}", NULL), 403,
                  "Access/permission denied");
    world_refused(world_delete(&jw.w, mine, NULL, NULL), 403, "Access/permission denied");
    mine.who = &root;
    world_must(world_patch(&jw.w, mine, "{'spec':{'hold':'admin'}}", NULL));
    world_refused(world_patch(&jw.w, SLURM("j"), "{'spec':{'hold':'none'}}", NULL), 403,
                  "Access/permission denied");
}

static void ignore_answer(void *arg, const struct err *e, int64_t revision)
{
    (void)arg;
    (void)e;
    (void)revision;
}

/* Evicts the pod from its node, as the loss of the node does. */
static void evict_pod(const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));
    const struct cluster_eviction eviction = {.ns = "default",
                                              .name = name,
                                              .uid = json_text_at(pod, "metadata", "uid", NULL),
                                              .reason = "DeletionByTaintManager",
                                              .message = "the node is lost"};

    world_must(cluster_evict(jw.cluster, &eviction, (struct cluster_answer){ignore_answer, NULL}));
    jobs_world_run(&jw, 2);
}

static bool is_deleting(const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(&jw.w, POD(name));

    return json_text_at(pod, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* Submits the job "j" on two nodes, and places its pods. */
static void run_on_two_nodes(const char *spec)
{
    world_add_node(&jw.w, "n2", 0);
    (void)submit("j", spec);
    assert_true(has_pod("j") && has_pod("j-n1"));
    world_must(world_bind(&jw.w, "default", "j", "n1"));
    world_must(world_bind(&jw.w, "default", "j-n1", "n2"));
    tell_pod(&jw, "j", "Running", 0);
    tell_pod(&jw, "j-n1", "Running", 0);
    jobs_world_run(&jw, 2);
    assert_status("j", "state", "RUNNING");
}

static void a_job_that_waits_gets_other_nodes(void **state)
{
    struct err *e;

    (void)state;
    world_add_node(&jw.w, "n2", 0);
    world_add_node(&jw.w, "n3", 0);
    (void)submit("j", "'nodesMin':2");
    assert_true(has_pod("j") && has_pod("j-n1") && count_pods() == 2);
    change("j", "'nodesMin':3,'nodesMax':3");
    assert_true(has_pod("j-n2") && count_pods() == 3);
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 2);
    change("j", "'nodesMin':1,'nodesMax':1");
    jobs_world_run(&jw, 2);
    assert_true(has_pod("j") && count_pods() == 1);
    world_refused(world_patch(&jw.w, SLURM("j"), "{'spec':{'nodesMin':4,'nodesMax':4}}", NULL), 422,
                  "Requested node configuration is not available");
    run_pod("j");
    e = world_patch(&jw.w, SLURM("j"), "{'spec':{'nodesMin':2,'nodesMax':2}}", NULL);
    world_refused(e, 422, "Job is no longer pending execution");
    end_pod("j", 0);
    assert_status("j", "state", "COMPLETED");
}

static void the_end_of_the_script_ends_all_nodes_of_a_job(void **state)
{
    (void)state;
    run_on_two_nodes("'nodesMin':2");
    end_pod("j", 3);
    assert_status("j", "state", "RUNNING"); /* the other node is not free yet */
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 2);
    assert_true(has_pod("j") && is_deleting("j-n1"));
    end_pod("j-n1", 143);
    assert_status("j", "state", "FAILED");
    assert_int_equal(count_pods(), 0);
}

static void a_lost_node_ends_all_pods_before_the_next_attempt(void **state)
{
    (void)state;
    run_on_two_nodes("'nodesMin':2");
    evict_pod("j-n1");
    assert_true(is_deleting("j"));
    end_pod("j", 143);
    assert_false(has_pod("j-r1"));
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 2);
    assert_false(has_pod("j-r1"));
    end_pod("j-n1", 143);
    assert_true(has_pod("j-r1") && has_pod("j-r1-n1"));
}

static void a_node_that_comes_back_does_not_hide_that_it_was_lost(void **state)
{
    (void)state;
    run_on_two_nodes("'nodesMin':2,'requeue':false");
    evict_pod("j");
    assert_true(is_deleting("j-n1"));
    end_pod("j", 143); /* the node's conditions do not have the eviction */
    end_pod("j-n1", 143);
    assert_status("j", "state", "NODE_FAIL");
}

/* The node came back before the server evicted its pods, and had ended them by its own clock. */
static void a_node_that_ended_its_pods_without_a_lease_was_lost(void **state)
{
    const struct told told = {.phase = "Failed",
                              .exit_code = 143,
                              .reason = "Evicted",
                              .message = NODE_LEASE_LOST,
                              .done = ignore_answer};

    (void)state;
    run_on_two_nodes("'nodesMin':2");
    world_must(begin_tell_pod(&jw, "j-n1", &told));
    jobs_world_run(&jw, 2);
    assert_true(is_deleting("j"));
    end_pod("j", 143);
    assert_true(has_pod("j-r1") && has_pod("j-r1-n1"));
}

static void a_job_may_go_on_without_a_lost_node(void **state)
{
    (void)state;
    run_on_two_nodes("'nodesMin':2,'noKill':true");
    evict_pod("j-n1");
    end_pod("j-n1", 143);
    assert_false(is_deleting("j"));
    assert_status("j", "state", "RUNNING");
    end_pod("j", 0);
    assert_status("j", "state", "COMPLETED");
}

static void tasks_that_no_node_holds_are_spread(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    world_add_node(&jw.w, "n2", 0);
    for (int i = 1; i <= 2; i++) {
        AUTO_FREE char *name = mem_format("n%d", i);

        world_must(world_patch(
            &jw.w, (struct target){.kind = "nodes", .name = name, .sub = "status", .who = &root},
            "{'status':{'capacity':{'cpu':'4','memory':'8Gi'}}}", NULL));
    }
    (void)submit("one", "'tasks':4");
    assert_false(has_pod("one-n1"));
    (void)submit("two", "'tasks':7");
    pod = world_get(&jw.w, POD("two-n1"));
    assert_non_null(pod);
    assert_non_null(
        strstr(json_text_at(pod, "metadata", "annotations", SLURM_ENVIRONMENT_ANNOTATION, NULL),
               "\"SLURM_TASKS_PER_NODE=4,3\""));
    (void)submit("wide", "'tasks':2,'spread':true");
    assert_true(has_pod("wide-n1"));
    (void)submit("narrow", "'tasks':2,'spread':true,'nodesMin':1,'nodesMax':1");
    assert_false(has_pod("narrow-n1"));
    world_refused(try_submit("three", "'tasks':9"), 422,
                  "Requested node configuration is not available");
    world_refused(try_submit("three", "'nodesMin':3"), 422,
                  "Requested node configuration is not available");
}

static void jobs_do_not_share_out_a_quota_that_none_can_start_with(void **state)
{
    (void)state;
    world_must(world_create(&jw.w, (struct target){.kind = "resourcequotas", .who = &root},
                            "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'4'}}}", NULL));
    run_on_two_nodes("'nodesMin':2");
    (void)submit("single", "");
    (void)submit("a", "'nodesMin':2");
    assert_true(has_pod("a") && !has_pod("a-n1"));
    end_pod("single", 0);
    (void)submit("b", "'nodesMin':2");
    jobs_world_run(&jw, 60);
    assert_true(has_pod("a-n1") && !has_pod("b"));
    end_pod("j", 0);
    end_pod("j-n1", 143);
    jobs_world_run(&jw, 60);
    assert_true(has_pod("b") && has_pod("b-n1"));
}

static void requests_that_cannot_be_are_refused_in_slurms_words(void **state)
{
    static const struct {
        const char *spec;
        int http;
        const char *message;
    } cases[] = {
        {"'partition':'gpu'", 422, "Invalid partition name specified"},
        {"'qos':'high'", 422, "Invalid qos specification"},
        {"'gres':'gpu:2,gpu:a100:1'", 422, "Invalid generic resource (gres) specification"},
        {"'gres':'fpga:1'", 422, "Invalid generic resource (gres) specification"},
        {"'constraint':'a&&b'", 422, "Invalid feature specification"},
        {"'constraint':'slow'", 422, "Invalid feature specification"},
        {"'prefer':'slow'", 422, "Invalid feature specification"},
        {"'nodeList':'n[1-'", 422, "Invalid node name specified"},
        {"'nodeList':'n[1-2]'", 422, "Invalid node name specified"},
        {"'excludeNodes':'n2'", 422, "Invalid node name specified"},
        {"'dependency':'afterok:99'", 422, "Job dependency problem"},
        {"'dependency':'sometime:1'", 422, "Job dependency problem"},
        {"'nodesMin':3,'nodesMax':2", 422, "Node count specification invalid"},
        {"'nodesMin':5000", 422, "Node count specification invalid"},
        {"'nodesMax':1,'nodeList':'n[1-2]'", 422, "Node count specification invalid"},
        {"'tasks':3,'tasksPerNode':1,'nodesMin':2", 422,
         "Requested node configuration is not available"},
        {"'user':{'uid':0}", 403, "Access/permission denied"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        world_refused(try_submit("x", cases[i].spec), cases[i].http, cases[i].message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(a_job_runs_as_its_user_and_ends_with_its_code),
        CASE(an_array_runs_within_its_limit_and_counts_each_element_once),
        CASE(a_cancelled_job_ends_when_its_processes_have),
        CASE(dependencies_hold_fail_and_stay_failed),
        CASE(a_running_job_starts_anew_on_request_once),
        CASE(a_begin_time_is_waited_for),
        CASE(licenses_are_counted_and_waited_for),
        CASE(of_alternatives_a_job_holds_the_first_free_license),
        CASE(a_job_waits_for_one_switch_for_a_while),
        CASE(a_job_waits_for_the_widest_switches_that_are_few),
        CASE(a_job_may_exceed_its_limit_where_the_site_says),
        CASE(nodes_of_low_weight_and_with_wished_features_come_first),
        CASE(a_waiting_pod_is_held_and_its_limit_changes),
        CASE(only_its_user_changes_a_job),
        CASE(a_job_that_waits_gets_other_nodes),
        CASE(the_end_of_the_script_ends_all_nodes_of_a_job),
        CASE(a_lost_node_ends_all_pods_before_the_next_attempt),
        CASE(a_node_that_comes_back_does_not_hide_that_it_was_lost),
        CASE(a_node_that_ended_its_pods_without_a_lease_was_lost),
        CASE(a_job_may_go_on_without_a_lost_node),
        CASE(tasks_that_no_node_holds_are_spread),
        CASE(jobs_do_not_share_out_a_quota_that_none_can_start_with),
        CASE(requests_that_cannot_be_are_refused_in_slurms_words),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
