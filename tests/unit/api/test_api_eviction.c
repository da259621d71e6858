/* test_api_eviction.c - evictions, disruption budgets, access reviews, aggregated discovery */

#include "api_world.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "test.h"

#define PODS    "/api/v1/namespaces/default/pods"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static const char users[] =
    "users:\n"
    "  - name: ann\n"
    "    uid: 1001\n"
    "    roles: [{role: edit, namespace: team-a}, {role: view, namespace: default}]\n";

static const struct claim_asker ann_asks = {.uid = 1001};

static json_t *post(struct api_world *a, int status, const char *target, const char *body)
{
    return api_expect(a, status,
                      (struct question){.method = "POST", .target = target, .body = body});
}

/* A pod `name` of app=web on node n1, ready or not. */
static void add_pod(struct api_world *a, const char *name, bool is_ready)
{
    AUTO_FREE char *body = mem_format(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','labels':{'app':'web'}},'spec':"
        "{'nodeName':'n1','containers':[{'name':'c','image':'host'}]}}",
        name);
    AUTO_FREE char *status =
        mem_format("{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'%s'}]}}",
                   is_ready ? "True" : "False");
    const struct target t = {
        .kind = "pods", .ns = "default", .name = name, .sub = "status", .who = &ours};

    json_decref(post(a, 201, PODS, body));
    world_must(world_patch(&a->w, t, status, NULL));
}

static void begin(struct api_world *a)
{
    api_world_init(a, users);
    json_decref(post(a, 201, "/api/v1/nodes",
                     "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'}}"));
}

static json_t *evict(struct api_world *a, int status, const char *name)
{
    AUTO_FREE char *path = mem_format(PODS "/%s/eviction", name);
    AUTO_FREE char *body =
        mem_format("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s'}}", name);

    return post(a, status, path, body);
}

static void an_eviction_leaves_what_the_budget_says(void **state)
{
    AUTO(json_freep) json_t *budget = NULL;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct api_world a;

    (void)state;
    begin(&a);
    add_pod(&a, "w0", true);
    add_pod(&a, "w1", true);
    add_pod(&a, "w2", true);
    budget = post(&a, 201, BUDGETS,
                  "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b'},"
                  "'spec':{'minAvailable':'60%','selector':{'matchLabels':{'app':'web'}}}}");
    assert_int_equal(json_int(json_object_get(budget, "status"), "currentHealthy", -1), 0);
    assert_int_equal(json_int(json_object_get(budget, "status"), "expectedPods", -1), 0);
    first = evict(&a, 201, "w0");
    assert_string_equal(json_text(first, "status"), "Success");
    pod = api_expect(&a, 200, (struct question){.target = PODS "/w0"});
    assert_non_null(json_text_at(pod, "metadata", "deletionTimestamp", NULL));
    assert_string_equal(json_text(object_condition(pod, "DisruptionTarget"), "reason"),
                        "EvictionByEvictionAPI");
    second = evict(&a, 429, "w1");
    assert_non_null(strstr(json_text(second, "message"),
                           "Cannot evict pod as it would violate the pod's disruption budget."));
    assert_non_null(strstr(json_text(second, "message"), "needs 2 healthy pods and has 2"));
    assert_string_equal(
        json_text(json_array_get(json_at(second, "details", "causes", NULL), 0), "reason"),
        "DisruptionBudget");
    api_world_done(&a);
}

static void what_is_no_loss_may_go(void **state)
{
    AUTO(json_freep) json_t *budget = NULL;
    struct api_world a;

    (void)state;
    begin(&a);
    add_pod(&a, "w0", true);
    add_pod(&a, "w1", false);
    add_pod(&a, "other", true);
    budget =
        post(&a, 201, BUDGETS,
             "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b'},"
             "'spec':{'minAvailable':1,'selector':{'matchExpressions':[{'key':'app','operator':"
             "'In','values':['web']}]}}}");
    json_decref(evict(&a, 201, "w1"));    /* not ready, and the one required pod is ready */
    json_decref(evict(&a, 201, "w1"));    /* is being deleted already */
    json_decref(evict(&a, 201, "other")); /* two were ready, one must stay */
    json_decref(evict(&a, 429, "w0"));
    api_world_done(&a);
}

static json_t *requeue(struct api_world *a, int status, const char *name)
{
    AUTO_FREE char *path = mem_format(PODS "/%s/eviction", name);
    AUTO_FREE char *body =
        mem_format("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s',"
                   "'annotations':{'mete.dev/requeue':'now'}}}",
                   name);

    return post(a, status, path, body);
}

static void a_pod_that_is_requeued_leaves_its_record(void **state)
{
    const struct store_key record = {
        .group = "mete.dev", .resource = "requeues", .ns = "default", .name = "w0"};
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *again = NULL;
    AUTO(json_freep) json_t *waits = NULL;
    struct api_world a;

    (void)state;
    begin(&a);
    add_pod(&a, "w0", true);
    json_decref(requeue(&a, 201, "w0"));
    pod = api_expect(&a, 200, (struct question){.target = PODS "/w0"});
    assert_string_equal(json_text(object_condition(pod, "DisruptionTarget"), "reason"),
                        "RequeuedByUser");
    assert_string_equal(json_text(object_condition(pod, "DisruptionTarget"), "message"),
                        "Requeued by root");
    assert_non_null(store_get(a.w.store, record));
    again = requeue(&a, 409, "w0");
    assert_string_equal(json_text(again, "message"),
                        "pod w0 cannot be requeued: it is being deleted");
    json_decref(post(&a, 201, PODS,
                     "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'w1'},'spec':"
                     "{'containers':[{'name':'c','image':'host'}]}}"));
    waits = requeue(&a, 409, "w1");
    assert_string_equal(json_text(waits, "message"), "pod w1 cannot be requeued: it waits already");
    json_decref(api_expect(&a, 200, (struct question){.method = "DELETE", .target = PODS "/w0"}));
    assert_null(store_get(a.w.store, record)); /* a deletion is not an eviction */
    api_world_done(&a);
}

static void bad_budgets_and_evictions_are_refused(void **state)
{
    static const struct {
        const char *spec;
        const char *message;
    } cases[] = {
        {"{'minAvailable':1,'maxUnavailable':1}", "cannot be both set"},
        {"{'minAvailable':-1}", "must be greater than or equal to 0"},
        {"{'maxUnavailable':'130%'}", "a valid percent string"},
        {"{'maxUnavailable':'half'}", "a valid percent string"},
        {"{'selector':{'matchExpressions':[{'key':'a','operator':'In'}]}}",
         "must be specified when"},
        {"{'selector':{'matchExpressions':[{'key':'a','operator':'Like'}]}}", "Unsupported value"},
    };
    struct api_world a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *body = mem_format("{'apiVersion':'policy/v1','kind':'PodDisruptionBudget',"
                                          "'metadata':{'name':'b'},'spec':%s}",
                                          cases[i].spec);
        AUTO(json_freep) json_t *answer = post(&a, 422, BUDGETS, body);

        assert_non_null(strstr(json_text(answer, "message"), cases[i].message));
    }
    json_decref(post(&a, 404, PODS "/none/eviction", "{}"));
    json_decref(post(&a, 400, PODS "/none/eviction", "{'kind':'Pod'}"));
    api_world_done(&a);
}

static bool may(struct api_world *a, struct claim_asker who, const char *attributes)
{
    AUTO_FREE char *body = mem_format("{'apiVersion':'authorization.k8s.io/v1','kind':"
                                      "'SelfSubjectAccessReview','spec':{%s}}",
                                      attributes);
    AUTO(json_freep)
    json_t *answer = api_expect(a, 201,
                                (struct question){.method = "POST",
                                                  .target = "/apis/authorization.k8s.io/v1/"
                                                            "selfsubjectaccessreviews",
                                                  .body = body,
                                                  .who = who});

    return json_bool(json_object_get(answer, "status"), "allowed", false);
}

static void who_may_do_what_is_told_truly(void **state)
{
    static const struct {
        const char *attributes;
        bool ann_may;
        bool root_may;
    } cases[] = {
        {"'resourceAttributes':{'verb':'create','resource':'pods','namespace':'team-a'}", true,
         true},
        {"'resourceAttributes':{'verb':'create','resource':'pods','namespace':'default'}", false,
         true},
        {"'resourceAttributes':{'verb':'get','resource':'pods','namespace':'default'}", true, true},
        {"'resourceAttributes':{'verb':'get','resource':'secrets','namespace':'default'}", false,
         true},
        {"'resourceAttributes':{'verb':'create','resource':'pods','subresource':'exec',"
         "'namespace':'team-a'}",
         true, true},
        {"'resourceAttributes':{'verb':'*','resource':'*'}", false, true},
        {"'resourceAttributes':{'verb':'get','resource':'nodes'}", true, true},
        {"'resourceAttributes':{'verb':'delete','resource':'nodes'}", false, true},
        {"'resourceAttributes':{'verb':'get','resource':'unicorns'}", false, true},
        {"'nonResourceAttributes':{'path':'/healthz','verb':'get'}", true, true},
    };
    struct api_world a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(may(&a, ann_asks, cases[i].attributes), cases[i].ann_may);
        assert_int_equal(may(&a, (struct claim_asker){0}, cases[i].attributes), cases[i].root_may);
    }
    api_world_done(&a);
}

static void questions_about_others_are_for_administrators(void **state)
{
    static const char about_ann[] =
        "{'apiVersion':'authorization.k8s.io/v1','kind':'SubjectAccessReview','spec':{'user':'ann',"
        "'resourceAttributes':{'verb':'create','resource':'pods','namespace':'team-a'}}}";
    static const struct {
        const char *who;
        bool may;
    } strangers[] = {
        {"'groups':['system:masters']", true},
        {"'groups':['interns']", false},
        {"'user':'','groups':['interns']", false},
        {"'user':'nobody','groups':['interns','system:masters']", true},
    };
    static const char path[] = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(json_freep) json_t *table = NULL;
    AUTO(json_freep) json_t *whoami = NULL;
    struct api_world a;

    (void)state;
    begin(&a);
    answer = post(&a, 201, path, about_ann);
    assert_true(json_bool(json_object_get(answer, "status"), "allowed", false));
    table = api_expect(&a, 406,
                       (struct question){.method = "POST",
                                         .target = path,
                                         .accept = "application/json;as=Table;v=v1;g=meta.k8s.io",
                                         .body = about_ann});
    assert_string_equal(json_text(table, "reason"), "NotAcceptable");
    for (size_t i = 0; i < COUNT(strangers); i++) {
        AUTO_FREE char *body = mem_format("{'apiVersion':'authorization.k8s.io/v1','kind':"
                                          "'SubjectAccessReview','spec':{%s,'resourceAttributes':"
                                          "{'verb':'create','resource':'pods','namespace':'x'}}}",
                                          strangers[i].who);
        AUTO(json_freep) json_t *told = post(&a, 201, path, body);

        assert_int_equal(json_bool(json_object_get(told, "status"), "allowed", !strangers[i].may),
                         strangers[i].may);
    }
    json_decref(post(&a, 422, path,
                     "{'apiVersion':'authorization.k8s.io/v1','kind':'SubjectAccessReview','spec':"
                     "{'groups':[],'nonResourceAttributes':{'path':'/healthz','verb':'get'}}}"));
    json_decref(api_expect(
        &a, 403,
        (struct question){.method = "POST", .target = path, .body = about_ann, .who = ann_asks}));
    json_decref(api_expect(&a, 405, (struct question){.target = path}));
    whoami =
        api_expect(&a, 201,
                   (struct question){.method = "POST",
                                     .target = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                     .body = "{'apiVersion':'authentication.k8s.io/v1','kind':"
                                             "'SelfSubjectReview'}",
                                     .who = ann_asks});
    assert_string_equal(json_text_at(whoami, "status", "userInfo", "username", NULL), "ann");
    api_world_done(&a);
}

static void one_document_tells_all_there_is(void **state)
{
    static const char *const forms[] = {
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"};
    struct api_world a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < COUNT(forms); i++) {
        AUTO_FREE char *accept = mem_format("%s,application/json", forms[i]);
        AUTO(asked_freep)
        struct asked *k = api_ask(&a, (struct question){.target = "/apis", .accept = accept});

        assert_int_equal(k->status, 200);
        assert_string_equal(k->content_type, forms[i]);
        assert_non_null(strstr(k->body.at, "\"resource\":\"poddisruptionbudgets\""));
    }
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_eviction_leaves_what_the_budget_says),
        cmocka_unit_test(what_is_no_loss_may_go),
        cmocka_unit_test(a_pod_that_is_requeued_leaves_its_record),
        cmocka_unit_test(bad_budgets_and_evictions_are_refused),
        cmocka_unit_test(who_may_do_what_is_told_truly),
        cmocka_unit_test(questions_about_others_are_for_administrators),
        cmocka_unit_test(one_document_tells_all_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
