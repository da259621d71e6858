/* test_foreign.c - queues of Volcano and KAI, as their documentation writes them, as Queues of Mete
 */

#include "base/mem.h"
#include "control/queue/foreign.h"
#include "kinds/queue.h"
#include "test.h"

static struct foreign f;
static json_t *native;

static int setup(void **state)
{
    (void)state;
    f = (struct foreign){.kueue = {.cluster_queues = json_object(),
                                   .cohorts = json_object(),
                                   .flavors = json_object(),
                                   .local_queues = json_object()},
                         .volcano = json_object(),
                         .kai = json_object()};
    native = json_object();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(f.kueue.cluster_queues);
    json_decref(f.kueue.cohorts);
    json_decref(f.kueue.flavors);
    json_decref(f.kueue.local_queues);
    json_decref(f.volcano);
    json_decref(f.kai);
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

/* `rest` begins with the spec. */
static void add(json_t *all, const char *name, const char *rest)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'},'spec':%s}", name, rest);

    json_put(all, name, parse(text));
}

static void assert_queue(const char *name, const char *spec)
{
    AUTO(json_freep) json_t *queues = foreign_queues(&f, native);
    AUTO(json_freep) json_t *want = parse(spec);
    const json_t *is = json_at(queues, name, "spec", NULL);
    AUTO_FREE char *text = is ? json_format(is) : mem_strdup("(none)");

    if (!is || !json_equal(is, want))
        fail_msg("%s: %s is not %s", name, text, spec);
}

static void assert_annotation(const char *name, const char *key, const char *expected)
{
    AUTO(json_freep) json_t *queues = foreign_queues(&f, native);
    const char *text = json_text_at(queues, name, "metadata", "annotations", key, NULL);

    assert_string_equal(text ? text : "(none)", expected);
}

static void a_queue_of_volcano_has_its_deserved_amount_and_its_capability(void **state)
{
    (void)state;
    add(f.volcano, "research",
        "{'weight':4,'reclaimable':true,'deserved':{'cpu':'8','nvidia.com/gpu':4},'capability':"
        "{'nvidia.com/gpu':'6','memory':'64Gi'},'guarantee':{'resource':{'nvidia.com/gpu':1}}}");
    assert_queue("research", "{'weight':4,'quotas':[{'resource':'cpu','nominal':'8'},"
                             "{'resource':'gpu','nominal':'4','borrowLimit':'2','lendLimit':'3'},"
                             "{'resource':'memory','nominal':'0','borrowLimit':'64Gi'}],"
                             "'preemption':{'reclaim':'Any'}}");
    assert_annotation("research", QUEUE_SOURCE, "Queue.scheduling.volcano.sh research");
    add(f.volcano, "kept",
        "{'reclaimable':false,'priority':5,'parent':'research'},'status':{"
        "'state':'Closed'}");
    assert_queue("kept", "{'weight':1,'parent':'research','preemption':{'reclaim':'Never'},"
                         "'minRunTime':'36500d','stopped':true}");
    assert_annotation("kept", QUEUE_NOTE,
                      "priority is not read: queues are ordered by their shares");
    add(f.volcano, "nodes",
        "{'affinity':{'nodeGroupAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':['a']"
        "}}}");
    assert_annotation("nodes", QUEUE_REFUSED,
                      "affinity.nodeGroupAffinity.requiredDuringSchedulingIgnoredDuringExecution: "
                      "Mete's queues have no groups of nodes");
}

static void volcanos_root_and_default_have_names_of_their_own(void **state)
{
    (void)state;
    add(f.volcano, "default", "{}");
    add(f.volcano, "child", "{'parent':'root'}");
    assert_queue("volcano:default", "{'weight':1,'preemption':{'reclaim':'Never'}}");
    assert_queue("child", "{'weight':1,'preemption':{'reclaim':'Never'}}");
    add(f.volcano, "root", "{'capability':{'nvidia.com/gpu':8}}");
    assert_queue("volcano:default",
                 "{'weight':1,'parent':'volcano:root','preemption':{'reclaim':'Never'}}");
    assert_queue("child", "{'weight':1,'parent':'volcano:root','preemption':{'reclaim':'Never'}}");
    assert_queue("volcano:root", "{'weight':1,'quotas':[{'resource':'gpu','nominal':'0',"
                                 "'borrowLimit':'8'}],'preemption':{'reclaim':'Never'}}");
}

static void a_queue_of_kai_has_its_quota_and_its_limit(void **state)
{
    (void)state;
    add(f.kai, "team-a",
        "{'parentQueue':'department','preemptMinRuntime':'5m','reclaimMinRuntime':'5m','resources':"
        "{'gpu':{'quota':1.5,'limit':4,'overQuotaWeight':2,'lendingLimit':1},"
        "'cpu':{'quota':500,'limit':-1,'overQuotaWeight':1},'memory':{'quota':0,'limit':2000}}}");
    assert_queue("team-a",
                 "{'weight':2,'parent':'department','preemption':{'reclaim':'Any','within':"
                 "'LowerPriority'},'quotas':[{'resource':'gpu','nominal':'1500m','borrowLimit':"
                 "'2500m','lendLimit':'1'},{'resource':'cpu','nominal':'500m'},"
                 "{'resource':'memory','nominal':'0','borrowLimit':'1953125Ki'}],"
                 "'minRunTime':'5m'}");
    assert_annotation("team-a", QUEUE_NOTE, "(none)");
    add(f.kai, "department",
        "{'priority':200,'resources':{'gpu':{'quota':-1,'limit':-1,"
        "'overQuotaWeight':0.5},'cpu':{'quota':-1,'limit':8000}}}");
    assert_queue("department",
                 "{'weight':1,'preemption':{'reclaim':'Any','within':'LowerPriority'},'quotas':["
                 "{'resource':'cpu','nominal':'8','borrowLimit':'0'},"
                 "{'resource':'memory','nominal':'0','borrowLimit':'0'}]}");
    assert_annotation("department", QUEUE_NOTE,
                      "overQuotaWeight 0.5 counts as 1: Mete has whole weights; priority is not "
                      "read: queues are ordered by their shares");
}

static void assert_pod(const char *metadata, const char *label, const char *group,
                       const char *queue)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'namespace':'n','name':'p'%s}}", metadata);
    AUTO(json_freep) json_t *pod = parse(text);
    AUTO(json_freep) json_t *group_tree = group ? parse(group) : NULL;
    AUTO(json_freep)
    json_t *told =
        foreign_pod(&f, native, pod, &(struct foreign_owners){.label = label, .group = group_tree});
    const char *is = queue_of(told);

    assert_string_equal(is ? is : "(none)", queue);
}

static void pods_are_in_the_queues_that_they_name(void **state)
{
    static const char kai[] = ",'labels':{'kai.scheduler/queue':'both'}";
    static const char old[] = ",'labels':{'runai/queue':'both'}";
    static const char volcano[] = ",'annotations':{'scheduling.volcano.sh/queue-name':'both'}";

    (void)state;
    assert_pod(kai, NULL, NULL, "(none)");
    assert_pod(volcano, NULL, "{'spec':{}}", "(none)");
    add(f.kai, "both", "{}");
    assert_pod(kai, NULL, NULL, "both");
    assert_pod(old, NULL, NULL, "both");
    add(f.volcano, "both", "{}");
    assert_pod(kai, NULL, NULL, "kai:both");
    assert_pod(volcano, NULL, NULL, "both");
    assert_pod("", NULL, "{'spec':{'queue':'both'}}", "both");
    assert_pod("", NULL, "{'spec':{'minMember':2}}", "volcano:default");
    assert_pod("", NULL, NULL, "(none)");
    add(f.kueue.cluster_queues, "both", "{}");
    add(f.kueue.local_queues, "n/local", "{'clusterQueue':'both'}");
    assert_pod(volcano, "local", NULL, "both");
    assert_pod(volcano, NULL, NULL, "volcano:both");
    json_put(native, "both", json_object());
    assert_pod(kai, NULL, NULL, "both");
    assert_pod(",'labels':{'mete.dev/queue':'mine','kai.scheduler/queue':'both'}", NULL, NULL,
               "mine");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_queue_of_volcano_has_its_deserved_amount_and_its_capability),
        TEST(volcanos_root_and_default_have_names_of_their_own),
        TEST(a_queue_of_kai_has_its_quota_and_its_limit),
        TEST(pods_are_in_the_queues_that_they_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
