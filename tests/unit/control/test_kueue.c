/* test_kueue.c - Kueue's objects, as its documentation writes them, as Queues of Mete */

#include "base/mem.h"
#include "control/queue/kueue.h"
#include "kinds/queue.h"
#include "test.h"

static struct kueue k;
static json_t *native;

static int setup(void **state)
{
    (void)state;
    k = (struct kueue){.cluster_queues = json_object(),
                       .cohorts = json_object(),
                       .flavors = json_object(),
                       .local_queues = json_object()};
    native = json_object();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(k.cluster_queues);
    json_decref(k.cohorts);
    json_decref(k.flavors);
    json_decref(k.local_queues);
    json_decref(native);
    return 0;
}

/* `text` is JSON with ' for ". */
static json_t *parse(const char *text)
{
    AUTO_FREE char *json = mem_strdup(text);
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    for (char *at = json; *at; at++)
        if (*at == '\'')
            *at = '"';
    e = json_parse(str_of(json), &tree);
    if (e)
        fail_msg("%s: %s", json, err_message(e));
    return tree;
}

/* `spec` is that of the object. */
static void add(json_t *all, const char *name, const char *spec)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'},'spec':%s}", name, spec);

    json_put(all, name, parse(text));
}

static void add_flavor(const char *name, const char *spec)
{
    add(k.flavors, name, spec);
}

#define GPUS(flavor, quota)                                                                \
    "'resourceGroups':[{'coveredResources':['nvidia.com/gpu'],'flavors':[{'name':'" flavor \
    "','resources':[{'name':'nvidia.com/gpu'," quota "}]}]}]"

static void assert_json(const json_t *is, const char *expected)
{
    AUTO(json_freep) json_t *want = parse(expected);
    AUTO_FREE char *text = json_format(is);

    if (!json_equal(is, want))
        fail_msg("%s is not %s", text, expected);
}

static void assert_queue(const char *name, const char *spec)
{
    AUTO(json_freep) json_t *queues = kueue_queues(&k, native);

    assert_json(json_at(queues, name, "spec", NULL), spec);
}

static void assert_annotation(const char *name, const char *key, const char *expected)
{
    AUTO(json_freep) json_t *queues = kueue_queues(&k, native);
    const char *text = json_text_at(queues, name, "metadata", "annotations", key, NULL);

    assert_string_equal(text ? text : "(none)", expected);
}

static void a_cluster_queue_alone_has_its_quotas_as_limits(void **state)
{
    (void)state;
    add_flavor("default-flavor", "{}");
    add(k.cluster_queues, "cluster-queue",
        "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu','memory',"
        "'nvidia.com/gpu'],'flavors':[{'name':'default-flavor','resources':["
        "{'name':'cpu','nominalQuota':9},{'name':'memory','nominalQuota':'36Gi'},"
        "{'name':'nvidia.com/gpu','nominalQuota':'4'}]}]}]}");
    assert_queue("cluster-queue",
                 "{'weight':1,'namespaceSelector':{},'preemption':{'reclaim':'Never','within':"
                 "'Never'},'quotas':[{'resource':'cpu','nominal':'9','borrowLimit':'0'},"
                 "{'resource':'memory','nominal':'36Gi','borrowLimit':'0'},"
                 "{'resource':'gpu','nominal':'4','borrowLimit':'0'}]}");
    assert_annotation("cluster-queue", QUEUE_SOURCE, "ClusterQueue.kueue.x-k8s.io cluster-queue");
    assert_annotation("cluster-queue", QUEUE_REFUSED, "(none)");
    assert_annotation("cluster-queue", QUEUE_NOTE, "(none)");
}

static void a_cohort_shares_the_sum_of_the_quotas_below_it(void **state)
{
    (void)state;
    add_flavor("a100", "{'nodeLabels':{'cloud.example.com/gpu':'a100'}}");
    add(k.cluster_queues, "team-a",
        "{'cohortName':'all','namespaceSelector':{},'preemption':{'reclaimWithinCohort':'Any',"
        "'withinClusterQueue':'LowerOrNewerEqualPriority'},'fairSharing':{'weight':'2'}," GPUS(
            "a100", "'nominalQuota':4,'borrowingLimit':2,'lendingLimit':1") "}");
    add(k.cluster_queues, "team-b",
        "{'cohortName':'all','stopPolicy':'Hold'," GPUS("a100", "'nominalQuota':6") "}");
    add(k.cluster_queues, "no-gpus", "{'cohortName':'all','namespaceSelector':{}}");
    add(k.cohorts, "all",
        "{'parentName':'top'," GPUS("a100",
                                    "'nominalQuota':2,'borrowingLimit':1,'lendingLimit':5") "}");
    assert_queue("team-a", "{'weight':2,'parent':'cohort:all','namespaceSelector':{},"
                           "'preemption':{'reclaim':'Any','within':'Later'},'quotas':["
                           "{'resource':'gpu','nominal':'4','borrowLimit':'2','lendLimit':'1'}]}");
    assert_queue("team-b", "{'weight':1,'parent':'cohort:all','stopped':true,'namespaceSelector':"
                           "{'matchExpressions':[{'key':'kueue.x-k8s.io/none','operator':'Exists'},"
                           "{'key':'kueue.x-k8s.io/none','operator':'DoesNotExist'}]},"
                           "'preemption':{'reclaim':'Never','within':'Never'},"
                           "'quotas':[{'resource':'gpu','nominal':'6'}]}");
    assert_queue("no-gpus", "{'weight':1,'parent':'cohort:all','namespaceSelector':{},"
                            "'preemption':{'reclaim':'Never','within':'Never'},'quotas':["
                            "{'resource':'gpu','nominal':'0','borrowLimit':'0'}]}");
    assert_queue("cohort:all", "{'weight':1,'parent':'cohort:top','quotas':[{'resource':'gpu',"
                               "'nominal':'12','borrowLimit':'1','lendLimit':'5'}]}");
    assert_queue("cohort:top", "{'weight':1,'quotas':[{'resource':'gpu','nominal':'12',"
                               "'borrowLimit':'0'}]}");
}

static void what_restricts_and_cannot_be_kept_is_refused_by_name(void **state)
{
    static const struct {
        const char *spec;
        const char *refused;
    } cases[] = {
        {"{'resourceGroups':[{'coveredResources':['nvidia.com/gpu'],'flavors':[{'name':'on-demand',"
         "'resources':[]},{'name':'spot','resources':[]}]}]}",
         "a resource group has the flavors on-demand and spot: Mete keeps quotas of one flavor a "
         "group"},
        {"{" GPUS("gone", "'nominalQuota':1") "}", "there is no ResourceFlavor gone"},
        {"{" GPUS("a", "'nominalQuota':'x'") "}", "gpu: quantity 'x': want a number and a suffix "
                                                  "(n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an "
                                                  "exponent), as in 500m or 1.5Gi"},
        {"{'resourceGroups':[{'flavors':[{'name':'a','resources':[{'name':'nvidia.com/mig-1g.5gb',"
         "'nominalQuota':1}]}]}]}",
         "Mete has no quota of nvidia.com/mig-1g.5gb: parts of GPUs count as nvidia.com/gpu"},
        {"{'resourceGroups':[{'flavors':[{'name':'a','resources':[{'name':'nvidia.com/gpu',"
         "'nominalQuota':1},{'name':'amd.com/gpu','nominalQuota':1}]}]}]}",
         "it has two quotas of gpu, which Mete counts as one resource"},
        {"{'admissionChecksStrategy':{'admissionChecks':[{'name':'prov'}]}}",
         "the AdmissionCheck prov needs Kueue's controller"},
    };

    (void)state;
    add_flavor("a", "{}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *queues = NULL;

        add(k.cluster_queues, "q", cases[i].spec);
        assert_annotation("q", QUEUE_REFUSED, cases[i].refused);
        queues = kueue_queues(&k, native);
        assert_true(json_bool_at(queues, "q", "spec", "stopped", NULL));
    }
}

static void flavors_that_differ_in_a_cohort_stop_it(void **state)
{
    (void)state;
    add_flavor("a", "{}");
    add_flavor("b", "{}");
    add(k.cluster_queues, "one", "{'cohortName':'c'," GPUS("a", "'nominalQuota':1") "}");
    add(k.cluster_queues, "two", "{'cohortName':'c'," GPUS("b", "'nominalQuota':1") "}");
    assert_annotation("cohort:c", QUEUE_REFUSED,
                      "it has gpu of the flavors a and b: Mete lends one flavor of a resource in a "
                      "cohort");
}

static void wishes_that_are_not_done_are_named(void **state)
{
    (void)state;
    add_flavor("a", "{'topologyName':'default'}");
    add(k.cluster_queues, "q",
        "{'stopPolicy':'HoldAndDrain','queueingStrategy':'StrictFIFO','fairSharing':{'weight':"
        "'0.5'},'preemption':{'borrowWithinCohort':{'policy':'LowerPriority'}}," GPUS(
            "a", "'nominalQuota':1") "}");
    assert_annotation(
        "q", QUEUE_NOTE,
        "fairSharing.weight \"0.5\" counts as 1: Mete has whole weights; "
        "preemption.borrowWithinCohort is not done: workloads that borrow evict none of other "
        "queues; stopPolicy HoldAndDrain ends no running pod; queueingStrategy StrictFIFO: smaller "
        "workloads still start around a waiting one; the topologyName of ResourceFlavor a is not "
        "read");
}

static void a_queue_of_mete_replaces_the_one_of_its_name(void **state)
{
    AUTO(json_freep) json_t *queues = NULL;

    (void)state;
    add(k.cluster_queues, "mine", "{'cohortName':'c'}");
    add(k.cluster_queues, "default", "{}");
    json_put(native, "mine", json_object());
    queues = kueue_queues(&k, native);
    assert_null(json_object_get(queues, "mine"));
    assert_null(json_object_get(queues, "cohort:c"));
    assert_null(json_object_get(queues, "default"));
    assert_non_null(json_object_get(queues, "clusterqueue:default"));
}

static void old_versions_read_as_the_new_one(void **state)
{
    AUTO(json_freep)
    json_t *object =
        parse("{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'ClusterQueue','spec':{'cohort':'all',"
              "'admissionChecks':['prov']}}");

    (void)state;
    kueue_from_v1beta1(object);
    assert_json(object,
                "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','spec':{'cohortName':"
                "'all','admissionChecksStrategy':{'admissionChecks':[{'name':'prov'}]}}}");
}

/* The pod `metadata` in namespace "team", with one GPU; `label` is that of its Job, or NULL. */
static json_t *pod_of(const char *metadata, const char *more, const char *label)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'namespace':'team','name':'p'%s},'spec':{'containers':[{"
                   "'resources':{'limits':{'nvidia.com/gpu':1}}}]%s}}",
                   metadata, more);
    AUTO(json_freep) json_t *pod = parse(text);
    const char *own = kueue_label(pod);

    return kueue_pod(&k, native, pod, own ? own : label);
}

static void assert_pod(json_t *pod, const char *queue)
{
    const char *is = queue_of(pod);

    assert_string_equal(is ? is : "(none)", queue);
    json_decref(pod);
}

static void pods_are_in_the_queue_of_their_local_queue(void **state)
{
    (void)state;
    add(k.cluster_queues, "team-a", "{}");
    add(k.cluster_queues, "default", "{}");
    add(k.cluster_queues, "native", "{}");
    add(k.local_queues, "team/user-queue", "{'clusterQueue':'team-a'}");
    add(k.local_queues, "team/other", "{'clusterQueue':'default'}");
    add(k.local_queues, "team/third", "{'clusterQueue':'native'}");
    add(k.local_queues, "elsewhere/far", "{'clusterQueue':'native'}");
    json_put(native, "native", json_object());
    assert_pod(pod_of("", "", NULL), "(none)");
    assert_pod(pod_of(",'labels':{'kueue.x-k8s.io/queue-name':'user-queue'}", "", NULL), "team-a");
    assert_pod(pod_of("", "", "user-queue"), "team-a");
    assert_pod(pod_of("", "", "other"), "clusterqueue:default");
    assert_pod(pod_of("", "", "third"), "native");
    assert_pod(pod_of("", "", "native"), "native");
    assert_pod(pod_of("", "", "far"), "team/far");
    assert_pod(pod_of("", "", "team-a"), "team/team-a");
    assert_pod(pod_of(",'labels':{'mete.dev/queue':'native'}", "", "user-queue"), "native");
    assert_pod(pod_of(",'labels':{'mete.dev/queue':'team-a'}", "", NULL), "team-a");
    json_put(k.local_queues, "team/user-queue", json_null());
    (void)json_object_del(k.local_queues, "team/user-queue");
    assert_pod(pod_of(",'labels':{'mete.dev/queue':'team-a'}", "", NULL), "team/team-a");
}

static void pods_go_to_the_nodes_of_their_flavor(void **state)
{
    json_t *pod;

    (void)state;
    add_flavor("a100", "{'nodeLabels':{'gpu':'a100'},'tolerations':[{'key':'spot','operator':"
                       "'Exists'}]}");
    add(k.cluster_queues, "q", "{" GPUS("a100", "'nominalQuota':1") "}");
    add(k.local_queues, "team/q", "{'clusterQueue':'q','stopPolicy':'Hold'}");
    pod = pod_of("", "", "q");
    assert_json(json_at(pod, "spec", "nodeSelector", NULL), "{'gpu':'a100'}");
    assert_json(json_at(pod, "spec", "tolerations", NULL), "[{'key':'spot','operator':'Exists'}]");
    assert_json(json_at(pod, "metadata", "annotations", NULL), "{'mete.dev/hold':'admin'}");
    json_decref(pod);
    pod = pod_of("", ",'nodeSelector':{'gpu':'h100'}", "q");
    assert_json(json_at(pod, "spec", "nodeSelector", NULL),
                "{'gpu':'h100','kueue.x-k8s.io/flavor':'a100'}");
    json_decref(pod);
    pod = pod_of("", ",'nodeName':'n'", "q");
    assert_null(json_at(pod, "spec", "nodeSelector", NULL));
    assert_pod(pod, "q");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cluster_queue_alone_has_its_quotas_as_limits),
        TEST(a_cohort_shares_the_sum_of_the_quotas_below_it),
        TEST(what_restricts_and_cannot_be_kept_is_refused_by_name),
        TEST(flavors_that_differ_in_a_cohort_stop_it),
        TEST(wishes_that_are_not_done_are_named),
        TEST(a_queue_of_mete_replaces_the_one_of_its_name),
        TEST(old_versions_read_as_the_new_one),
        TEST(pods_are_in_the_queue_of_their_local_queue),
        TEST(pods_go_to_the_nodes_of_their_flavor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
