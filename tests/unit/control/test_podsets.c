/* test_podsets.c - StatefulSets and DaemonSets against Kubernetes' semantics */

#include "apps_kit.h"
#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "sim_loop.h"
#include "test.h"

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

static void add_set(const char *plural, const char *spec)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'s'},'spec':{%s%s'selector':{'matchLabels':{'app':'s'}},'template':{"
        "'metadata':{'labels':{'app':'s'}},'spec':{'containers':[{'name':'main','image':'a'}]}}}}",
        spec, *spec ? "," : "");

    add_app(&jw, plural, text);
}

static void set_set_image(const char *plural, const char *image)
{
    AUTO_FREE char *text = mem_format(
        "{'spec':{'template':{'spec':{'containers':[{'name':'main','image':'%s'}]}}}}", image);

    patch_app(&jw, plural, "s", text);
}

static json_t *pod_named(const char *name)
{
    return world_get(&jw.w, (struct target){.kind = "pods", .name = name});
}

static const char *image_of(const json_t *pod)
{
    return json_text(json_array_get(json_at(pod, "spec", "containers", NULL), 0), "image");
}

/* Asserts the image of each of the pods s-0, s-1, ...: one letter each. */
static void assert_images(const char *images)
{
    for (size_t i = 0; images[i]; i++) {
        AUTO_FREE char *name = mem_format("s-%zu", i);
        AUTO(json_freep) json_t *pod = pod_named(name);
        char want[2] = {images[i], '\0'};

        assert_non_null(pod);
        assert_string_equal(image_of(pod), want);
    }
    assert_int_equal(count_active(&jw), strlen(images));
}

/* Serves the pods that are there once. */
static void serve_once(void)
{
    AUTO(json_freep) json_t *pods = list_all(&jw, "", "pods");

    for (size_t i = 0; i < json_array_size(pods); i++)
        (void)serve_pod(&jw, json_array_get(pods, i));
    jobs_world_run(&jw, 2);
}

static void pods_come_one_after_another(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_set("statefulsets", "'replicas':3,'serviceName':'svc'");
    for (size_t n = 1; n <= 3; n++) {
        assert_int_equal(count_active(&jw), n);
        serve_once(); /* bound */
        serve_once(); /* ready */
    }
    assert_images("aaa");
    pod = pod_named("s-1");
    assert_string_equal(
        json_text_at(pod, "metadata", "labels", "apps.kubernetes.io/pod-index", NULL), "1");
    assert_string_equal(json_text_at(pod, "spec", "hostname", NULL), "s-1");
    assert_string_equal(json_text_at(pod, "spec", "subdomain", NULL), "svc");
    assert_int_equal(app_number(&jw, "statefulsets", "s", "readyReplicas"), 3);
    patch_app(&jw, "statefulsets", "s", "{'spec':{'replicas':1}}");
    jobs_world_run(&jw, 2);
    assert_int_equal(count_active(&jw), 2); /* the last one goes, then the next */
    serve_all(&jw);
    assert_images("a");
}

static void parallel_pods_come_at_once(void **state)
{
    (void)state;
    add_set("statefulsets", "'replicas':3,'podManagementPolicy':'Parallel'");
    assert_int_equal(count_active(&jw), 3);
}

static void an_update_goes_from_the_last_to_the_partition(void **state)
{
    AUTO(json_freep) json_t *revisions = NULL;
    AUTO(json_freep) json_t *set = NULL;

    (void)state;
    add_set(
        "statefulsets",
        "'replicas':3,'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'partition':1}}");
    serve_all(&jw);
    set_set_image("statefulsets", "b");
    jobs_world_run(&jw, 2);
    assert_int_equal(count_active(&jw), 2); /* s-2 first */
    serve_all(&jw);
    assert_images("abb");
    set = get_app(&jw, "statefulsets", "s");
    assert_string_not_equal(json_text_at(set, "status", "currentRevision", NULL),
                            json_text_at(set, "status", "updateRevision", NULL));
    patch_app(&jw, "statefulsets", "s",
              "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}");
    serve_all(&jw);
    assert_images("bbb");
    revisions = list_all(&jw, "apps", "controllerrevisions");
    assert_int_equal(json_array_size(revisions), 2);
    json_decref(set);
    set = get_app(&jw, "statefulsets", "s");
    assert_string_equal(json_text_at(set, "status", "currentRevision", NULL),
                        json_text_at(set, "status", "updateRevision", NULL));
}

static void on_delete_waits_for_deletions(void **state)
{
    (void)state;
    add_set("statefulsets", "'replicas':2,'updateStrategy':{'type':'OnDelete'}");
    serve_all(&jw);
    set_set_image("statefulsets", "b");
    serve_all(&jw);
    assert_images("aa");
    world_must(world_delete(&jw.w, (struct target){.kind = "pods", .name = "s-1", .who = &root},
                            &(struct delete_options){.grace_seconds = -1}, NULL));
    serve_all(&jw);
    assert_images("ab");
}

static void an_ended_pod_comes_again_under_its_name(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    add_set("statefulsets", "'replicas':2");
    serve_all(&jw);
    tell_pod(&jw, "s-0", "Failed", 1);
    serve_all(&jw);
    pod = pod_named("s-0");
    assert_true(pod_is_ready(pod));
    assert_images("aa");
}

static void each_node_gets_a_pod(void **state)
{
    (void)state;
    world_add_node(&jw.w, "n2", 0);
    add_set("daemonsets", "");
    assert_int_equal(count_active(&jw), 2);
    assert_int_equal(app_number(&jw, "daemonsets", "s", "desiredNumberScheduled"), 2);
    world_add_node(&jw.w, "n3", 0);
    jobs_world_run(&jw, 2);
    assert_int_equal(count_active(&jw), 3);
    world_must(world_patch(&jw.w, (struct target){.kind = "nodes", .name = "n3", .who = &root},
                           "{'metadata':{'labels':{'gpu':'yes'}}}", NULL));
    patch_app(&jw, "daemonsets", "s",
              "{'spec':{'template':{'spec':{'nodeSelector':{'gpu':'yes'}}}}}");
    jobs_world_run(&jw, 5);
    assert_int_equal(app_number(&jw, "daemonsets", "s", "desiredNumberScheduled"), 1);
    serve_all(&jw);
    assert_int_equal(count_active(&jw), 1);
}

static void a_tainted_node_gets_none(void **state)
{
    (void)state;
    world_add_node(&jw.w, "n2", 0);
    world_must(world_patch(&jw.w, (struct target){.kind = "nodes", .name = "n2", .who = &root},
                           "{'spec':{'taints':[{'key':'x','effect':'NoSchedule'}]}}", NULL));
    add_set("daemonsets", "");
    assert_int_equal(count_active(&jw), 1);
    patch_app(&jw, "daemonsets", "s",
              "{'spec':{'template':{'spec':{'tolerations':[{'operator':'Exists'}]}}}}");
    serve_all(&jw);
    assert_int_equal(count_active(&jw), 2);
}

static void daemons_are_updated_one_by_one(void **state)
{
    (void)state;
    add_set("daemonsets", "");
    serve_all(&jw);
    set_set_image("daemonsets", "b");
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "a"), 0);
    assert_int_equal(count_image(&jw, "b"), 1);
    assert_int_equal(app_number(&jw, "daemonsets", "s", "updatedNumberScheduled"), 1);
    assert_int_equal(app_number(&jw, "daemonsets", "s", "numberAvailable"), 1);
}

static void a_restart_changes_nothing(void **state)
{
    (void)state;
    add_set("statefulsets", "'replicas':2");
    serve_all(&jw);
    jobs_world_restart(&jw, true);
    jobs_world_run(&jw, 5);
    assert_images("aa");
    assert_int_equal(count_events(&jw, "SuccessfulCreate"), 2);
    assert_int_equal(count_events(&jw, "SuccessfulDelete"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(pods_come_one_after_another),
        TEST(parallel_pods_come_at_once),
        TEST(an_update_goes_from_the_last_to_the_partition),
        TEST(on_delete_waits_for_deletions),
        TEST(an_ended_pod_comes_again_under_its_name),
        TEST(each_node_gets_a_pod),
        TEST(a_tainted_node_gets_none),
        TEST(daemons_are_updated_one_by_one),
        TEST(a_restart_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
