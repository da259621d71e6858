/* test_deployments.c - Deployments and ReplicaSets against Kubernetes' semantics */

#include "apps_kit.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/apps/apps.h"
#include "kinds/pod/pod_state.h"
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

static json_t *sets(void)
{
    return list_all(&jw, "apps", "replicasets");
}

static const char *annotation(const json_t *object, const char *key)
{
    return json_text_at(object, "metadata", "annotations", key, NULL);
}

/* The ReplicaSet with this revision. New reference. */
static json_t *set_of_revision(const char *revision)
{
    AUTO(json_freep) json_t *all = sets();

    for (size_t i = 0; i < json_array_size(all); i++)
        if (text_equal(annotation(json_array_get(all, i), APPS_REVISION), revision))
            return json_incref(json_array_get(all, i));
    return NULL;
}

static void it_makes_a_set_and_its_pods(void **state)
{
    AUTO(json_freep) json_t *all = NULL;
    AUTO(json_freep) json_t *pods = NULL;
    const json_t *set;
    const json_t *pod;
    const char *hash;

    (void)state;
    add_deployment(&jw, "a", "'replicas':3");
    all = sets();
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(all), 1);
    assert_int_equal(json_array_size(pods), 3);
    set = json_array_get(all, 0);
    pod = json_array_get(pods, 0);
    hash = json_text_at(set, "metadata", "labels", APPS_TEMPLATE_HASH, NULL);
    assert_non_null(hash);
    assert_string_equal(json_text_at(pod, "metadata", "labels", APPS_TEMPLATE_HASH, NULL), hash);
    assert_string_equal(annotation(set, APPS_REVISION), "1");
    assert_string_equal(annotation(set, APPS_DESIRED), "3");
    assert_string_equal(annotation(set, APPS_MAX_REPLICAS), "4");
    assert_string_equal(annotation(pod, POD_USER), "root");
    assert_app_condition(&jw, "deployments", "d", "Available", "False",
                         "MinimumReplicasUnavailable");
    serve_all(&jw);
    assert_app_condition(&jw, "deployments", "d", "Available", "True", "MinimumReplicasAvailable");
    assert_app_condition(&jw, "deployments", "d", "Progressing", "True", "NewReplicaSetAvailable");
    assert_int_equal(app_number(&jw, "deployments", "d", "availableReplicas"), 3);
    assert_int_equal(app_number(&jw, "deployments", "d", "observedGeneration"), 1);
    assert_int_equal(count_events(&jw, "ScalingReplicaSet"), 1);
    assert_int_equal(count_events(&jw, "SuccessfulCreate"), 3);
}

static void a_new_template_replaces_the_pods(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    AUTO(json_freep) json_t *d = NULL;

    (void)state;
    add_deployment(&jw, "a", "'replicas':4");
    serve_all(&jw);
    set_image(&jw, "b");
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "a"), 0);
    assert_int_equal(count_image(&jw, "b"), 4);
    first = set_of_revision("1");
    second = set_of_revision("2");
    d = get_app(&jw, "deployments", "d");
    assert_int_equal(json_int_at(first, "spec", "replicas", NULL), 0);
    assert_int_equal(json_int_at(second, "spec", "replicas", NULL), 4);
    assert_string_equal(annotation(d, APPS_REVISION), "2");
    /* back: the first set is used again, with a new number */
    set_image(&jw, "a");
    serve_all(&jw);
    json_decref(first);
    first = set_of_revision("3");
    assert_string_equal(annotation(first, APPS_REVISION_HISTORY), "1");
    assert_int_equal(count_image(&jw, "a"), 4);
}

static void recreate_ends_the_old_pods_first(void **state)
{
    AUTO(json_freep) json_t *pods = NULL;

    (void)state;
    add_deployment(&jw, "a", "'replicas':2,'strategy':{'type':'Recreate'}");
    serve_all(&jw);
    set_image(&jw, "b");
    jobs_world_run(&jw, 5);
    assert_int_equal(count_image(&jw, "b"), 0); /* the old ones are being deleted */
    assert_int_equal(count_active(&jw), 0);
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(pods), 2);
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "b"), 2);
}

static void a_paused_one_scales_but_does_not_roll(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':2");
    serve_all(&jw);
    patch_app(&jw, "deployments", "d", "{'spec':{'paused':true}}");
    set_image(&jw, "b");
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "b"), 0);
    assert_app_condition(&jw, "deployments", "d", "Progressing", "Unknown", "DeploymentPaused");
    patch_app(&jw, "deployments", "d", "{'spec':{'replicas':5}}");
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "a"), 5);
    patch_app(&jw, "deployments", "d", "{'spec':{'paused':false}}");
    serve_all(&jw);
    assert_int_equal(count_image(&jw, "b"), 5);
    assert_app_condition(&jw, "deployments", "d", "Progressing", "True", "NewReplicaSetAvailable");
}

static void a_rollout_without_progress_is_reported_at_its_deadline(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':2,'progressDeadlineSeconds':60");
    serve_all(&jw);
    set_image(&jw, "bad");
    jobs_world_run(&jw, 50);
    assert_app_condition(&jw, "deployments", "d", "Progressing", "True", "ReplicaSetUpdated");
    jobs_world_run(&jw, 20);
    assert_app_condition(&jw, "deployments", "d", "Progressing", "False",
                         "ProgressDeadlineExceeded");
    assert_int_equal(count_ready(&jw), 2); /* 25 % of 2 is no pod that may be missing */
    set_image(&jw, "a");
    serve_all(&jw);
    assert_app_condition(&jw, "deployments", "d", "Progressing", "True", "NewReplicaSetAvailable");
    assert_int_equal(count_image(&jw, "a"), 2);
}

static void pods_count_as_available_after_min_ready_seconds(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':1,'minReadySeconds':30");
    serve_all(&jw);
    assert_int_equal(app_number(&jw, "deployments", "d", "readyReplicas"), 1);
    assert_int_equal(app_number(&jw, "deployments", "d", "availableReplicas"), 0);
    jobs_world_run(&jw, 31);
    assert_int_equal(app_number(&jw, "deployments", "d", "availableReplicas"), 1);
}

static void old_sets_are_kept_up_to_the_limit(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':1,'revisionHistoryLimit':1");
    for (const char *image = "bcd"; *image; image++) {
        char one[2] = {*image, '\0'};
        AUTO(json_freep) json_t *all = NULL;

        serve_all(&jw);
        set_image(&jw, one);
        serve_all(&jw);
        all = sets();
        assert_int_equal(json_array_size(all), 2);
    }
}

static void a_scaled_rollout_keeps_the_proportions(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;

    (void)state;
    add_deployment(&jw, "a",
                   "'replicas':10,'strategy':{'rollingUpdate':{'maxSurge':3,'maxUnavailable':2}}");
    serve_all(&jw);
    set_image(&jw, "bad");
    jobs_world_run(&jw, 5); /* 8 old, 5 new: the new ones are not ready */
    first = set_of_revision("1");
    second = set_of_revision("2");
    assert_int_equal(json_int_at(first, "spec", "replicas", NULL), 8);
    assert_int_equal(json_int_at(second, "spec", "replicas", NULL), 5);
    patch_app(&jw, "deployments", "d", "{'spec':{'replicas':15}}");
    jobs_world_run(&jw, 5); /* the example of Kubernetes' documentation */
    json_decref(first);
    json_decref(second);
    first = set_of_revision("1");
    second = set_of_revision("2");
    assert_int_equal(json_int_at(first, "spec", "replicas", NULL), 11);
    assert_int_equal(json_int_at(second, "spec", "replicas", NULL), 7);
}

static void a_set_adopts_and_releases(void **state)
{
    static const char set[] =
        "{'metadata':{'name':'s'},'spec':{'replicas':2,'selector':{'matchLabels':{'app':'s'}},"
        "'template':{'metadata':{'labels':{'app':'s'}},'spec':{'containers':[{'name':'main',"
        "'image':'a'}]}}}}";
    AUTO(json_freep) json_t *pods = NULL;
    AUTO(json_freep) json_t *bare = NULL;

    (void)state;
    world_must(world_create(&jw.w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'bare','labels':{'app':'s'}},'spec':{'containers':"
                            "[{'name':'main','image':'a'}]}}",
                            NULL));
    add_app(&jw, "replicasets", set);
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(pods), 2);
    bare = world_get(&jw.w, (struct target){.kind = "pods", .name = "bare"});
    assert_int_equal(json_array_size(json_at(bare, "metadata", "ownerReferences", NULL)), 1);
    world_must(world_patch(&jw.w, (struct target){.kind = "pods", .name = "bare", .who = &root},
                           "{'metadata':{'labels':{'app':'other'}}}", NULL));
    jobs_world_run(&jw, 2);
    json_decref(bare);
    bare = world_get(&jw.w, (struct target){.kind = "pods", .name = "bare"});
    assert_int_equal(json_array_size(json_at(bare, "metadata", "ownerReferences", NULL)), 0);
    json_decref(pods);
    pods = list_all(&jw, "", "pods");
    assert_int_equal(json_array_size(pods), 3);
}

static void ended_pods_are_replaced(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':2");
    serve_all(&jw);
    tell_first(&jw, "Failed", 1);
    jobs_world_run(&jw, 2);
    assert_int_equal(count_active(&jw), 2);
}

static void the_pods_that_are_not_ready_go_first(void **state)
{
    (void)state;
    add_deployment(&jw, "a", "'replicas':2");
    serve_all(&jw);
    patch_app(&jw, "deployments", "d", "{'spec':{'replicas':4}}");
    jobs_world_run(&jw, 2);
    patch_app(&jw, "deployments", "d", "{'spec':{'replicas':2}}");
    jobs_world_run(&jw, 2);
    assert_int_equal(count_active(&jw), 2);
    assert_int_equal(count_ready(&jw), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_makes_a_set_and_its_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_template_replaces_the_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(recreate_ends_the_old_pods_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_paused_one_scales_but_does_not_roll, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rollout_without_progress_is_reported_at_its_deadline,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(pods_count_as_available_after_min_ready_seconds, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(old_sets_are_kept_up_to_the_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_scaled_rollout_keeps_the_proportions, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_adopts_and_releases, setup, teardown),
        cmocka_unit_test_setup_teardown(ended_pods_are_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(the_pods_that_are_not_ready_go_first, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
