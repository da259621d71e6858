/* test_quota.c - quotas: counted usage, and refusals in Kubernetes' words */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/quota/quota.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

#define PODS   ((struct target){.kind = "pods"})
#define QUOTAS ((struct target){.kind = "resourcequotas", .who = &root})

static void pod_of(struct world *w, const char *name, const char *resources, const char *more)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'},'spec':{%s'containers':[{'name':"
                                      "'c','image':'host','resources':%s}]}}",
                                      name, more, resources);

    world_must(world_create(w, PODS, text, NULL));
}

static void is_used(struct world *w, const char *quota, const char *resource, const char *want)
{
    AUTO(json_freep)
    json_t *object =
        world_get(w, (struct target){.kind = "resourcequotas", .name = quota, .who = &root});
    const char *used = json_text_at(object, "status", "used", resource, NULL);

    assert_non_null(used);
    assert_string_equal(used, want);
    world_must(quota_check(w->store));
}

static void refuses_what_would_pass_it(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'gpus'},'spec':{'hard':{'requests.nvidia.com/gpu':"
                            "'10'}}}",
                            NULL));
    pod_of(&w, "four", "{'limits':{'nvidia.com/gpu':4}}", "");
    is_used(&w, "gpus", "requests.nvidia.com/gpu", "4");
    world_refused(world_create(&w, PODS,
                               "{'metadata':{'name':'seven'},'spec':{'containers':[{'name':'c',"
                               "'image':'host','resources':{'requests':{'nvidia.com/gpu':7}}}]}}",
                               NULL),
                  403,
                  "pods \"seven\" is forbidden: exceeded quota: gpus, requested: "
                  "requests.nvidia.com/gpu=7, used: requests.nvidia.com/gpu=4, limited: "
                  "requests.nvidia.com/gpu=10");
    is_used(&w, "gpus", "requests.nvidia.com/gpu", "4");
    pod_of(&w, "six", "{'limits':{'nvidia.com/gpu':6}}", "");
    is_used(&w, "gpus", "requests.nvidia.com/gpu", "10");
    world_done(&w);
}

static void counts_parts_of_gpus(void **state)
{
    static const char *const shares[] = {"'gpu-fraction':'0.25'", "'gpu-memory':'1024'",
                                         "'gpu-fraction':'0.5','gpu-fraction-num-devices':'2'"};
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, QUOTAS,
        "{'metadata':{'name':'gpus'},'spec':{'hard':{'requests.nvidia.com/gpu':'3',"
        "'requests.nvidia.com/gpu.shared':'2','requests.nvidia.com/mig-1g.10gb':'1'}}}",
        NULL));
    for (size_t i = 0; i < COUNT(shares); i++) {
        AUTO_FREE char *text = mem_format(
            "{'metadata':{'name':'p%zu','annotations':{%s}},'spec':{'containers':[{'name':'c',"
            "'image':'host'},{'name':'d','image':'host'}]}}",
            i, shares[i]);

        world_must(world_create(&w, PODS, text, NULL));
    }
    is_used(&w, "gpus", "requests.nvidia.com/gpu", "2250m");
    pod_of(&w, "slices", "{'limits':{'nvidia.com/gpu.shared':2,'nvidia.com/mig-1g.10gb':1}}", "");
    is_used(&w, "gpus", "requests.nvidia.com/gpu.shared", "2");
    is_used(&w, "gpus", "requests.nvidia.com/mig-1g.10gb", "1");
    world_refused(world_create(&w, PODS,
                               "{'metadata':{'name':'whole'},'spec':{'containers':[{'name':'c',"
                               "'image':'host','resources':{'limits':{'nvidia.com/gpu':1}}}]}}",
                               NULL),
                  403,
                  "pods \"whole\" is forbidden: exceeded quota: gpus, requested: "
                  "requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2250m, limited: "
                  "requests.nvidia.com/gpu=3");
    world_done(&w);
}

/* Kubernetes accepts the other two names, without effect. */
static void counts_extended_resources_by_each_of_their_names(void **state)
{
    const struct objects_request r = {
        .kind = kind_find("", "resourcequotas"), .ns = "default", .who = root};
    struct objects_request asked = r;
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO(json_freep)
    json_t *quota = manifest("{'metadata':{'name':'q'},'spec':{'hard':{'nvidia.com/gpu':'4',"
                             "'limits.nvidia.com/gpu':'3','requests.nvidia.com/gpu':'8'}}}");
    AUTO(json_freep) json_t *made = NULL;
    struct world w;

    (void)state;
    world_init(&w, 1);
    pod_of(&w, "one", "{'limits':{'nvidia.com/gpu':1}}", "");
    asked.warnings = warnings;
    world_must(objects_create(w.objects, &asked, quota, NULL, NULL, &made));
    sim_loop_run(w.loop);
    assert_int_equal(json_array_size(warnings), 2);
    assert_string_equal(json_string_value(json_array_get(warnings, 0)),
                        "spec.hard[nvidia.com/gpu]: counts as requests.nvidia.com/gpu, the name "
                        "that Kubernetes counts");
    pod_of(&w, "two", "{'limits':{'nvidia.com/gpu':2}}", "");
    is_used(&w, "q", "nvidia.com/gpu", "3");
    is_used(&w, "q", "limits.nvidia.com/gpu", "3");
    is_used(&w, "q", "requests.nvidia.com/gpu", "3");
    world_refused(world_create(&w, PODS,
                               "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
                               "'host','resources':{'limits':{'nvidia.com/gpu':1}}}]}}",
                               NULL),
                  403,
                  "pods \"p\" is forbidden: exceeded quota: q, requested: "
                  "limits.nvidia.com/gpu=1, used: limits.nvidia.com/gpu=3, limited: "
                  "limits.nvidia.com/gpu=3");
    world_done(&w);
}

static void names_every_resource_that_is_passed(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'0','limits.cpu':"
                            "'1','cpu':'10','count/pods':0}}}",
                            NULL));
    world_refused(world_create(&w, PODS,
                               "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
                               "'host','resources':{'limits':{'cpu':'1500m'}}}]}}",
                               NULL),
                  403,
                  "pods \"p\" is forbidden: exceeded quota: q, requested: count/pods=1,limits.cpu="
                  "1500m,pods=1, used: count/pods=0,limits.cpu=0,pods=0, limited: "
                  "count/pods=0,limits.cpu=1,pods=0");
    world_done(&w);
}

static void wants_to_be_told_cpu_and_memory(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'limits.cpu':'4','memory':"
                            "'1Gi','requests.nvidia.com/gpu':1}}}",
                            NULL));
    world_refused(world_create(&w, PODS,
                               "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'a',"
                               "'image':'host'}],'containers':[{'name':'c','image':'host',"
                               "'resources':{'limits':{'memory':'1Mi'}}}]}}",
                               NULL),
                  403,
                  "pods \"p\" is forbidden: failed quota: q: must specify limits.cpu for: a,c; "
                  "memory for: a");
    world_done(&w);
}

static void gives_back_with_the_end_and_the_removal(void **state)
{
    struct target running = {.kind = "pods", .name = "p", .sub = "status", .who = &ours};
    struct target gone = {.kind = "pods", .name = "p", .who = &ours};
    struct delete_options now = {0};
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1','memory':'1Gi',"
                            "'count/pods':'5'}}}",
                            NULL));
    pod_of(&w, "p", "{'requests':{'memory':'512Mi'}}", "");
    is_used(&w, "q", "memory", "512Mi");
    world_must(world_patch(&w, running, "{'status':{'phase':'Running'}}", NULL));
    is_used(&w, "q", "pods", "1");
    world_must(world_patch(&w, running, "{'status':{'phase':'Succeeded'}}", NULL));
    is_used(&w, "q", "pods", "0");
    is_used(&w, "q", "memory", "0");
    is_used(&w, "q", "count/pods", "1");
    world_must(world_delete(&w, gone, &now, &is_gone));
    assert_true(is_gone);
    is_used(&w, "q", "count/pods", "0");
    world_done(&w);
}

static void counts_the_larger_of_init_and_main_containers(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'requests.cpu':'10',"
                            "'requests.nvidia.com/gpu':'10'}}}",
                            NULL));
    pod_of(&w, "p", "{'limits':{'nvidia.com/gpu':3},'requests':{'cpu':'500m'}}",
           "'initContainers':[{'name':'i','image':'host','resources':{'requests':{'cpu':2},'limits'"
           ":{'nvidia.com/gpu':1}}}],");
    is_used(&w, "q", "requests.cpu", "2");
    is_used(&w, "q", "requests.nvidia.com/gpu", "3");
    world_done(&w);
}

static void counts_what_was_there_before_it(void **state)
{
    struct world w;
    struct target edit = {.kind = "resourcequotas", .name = "q", .who = &root};

    (void)state;
    world_init(&w, 1);
    pod_of(&w, "a", "{'limits':{'nvidia.com/gpu':2}}", "");
    pod_of(&w, "b", "{'limits':{'nvidia.com/gpu':3}}", "");
    world_must(
        world_create(&w, (struct target){.kind = "configmaps"}, "{'metadata':{'name':'c'}}", NULL));
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'requests.nvidia.com/gpu':"
                            "'4','count/resourcequotas':'2'}}}",
                            NULL));
    is_used(&w, "q", "requests.nvidia.com/gpu", "5");
    is_used(&w, "q", "count/resourcequotas", "1");
    world_must(world_patch(&w, edit, "{'spec':{'hard':{'configmaps':'1','pods':9}}}", NULL));
    is_used(&w, "q", "configmaps", "1");
    is_used(&w, "q", "pods", "2");
    world_refused(
        world_create(&w, (struct target){.kind = "configmaps"}, "{'metadata':{'name':'d'}}", NULL),
        403,
        "configmaps \"d\" is forbidden: exceeded quota: q, requested: configmaps=1, used: "
        "configmaps=1, limited: configmaps=1");
    pod_of(&w, "none", "{}",
           ""); /* the quota is exceeded already: only objects without usage fit */
    is_used(&w, "q", "pods", "3");
    world_done(&w);
}

static void a_quota_counts_in_other_quotas(void **state)
{
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, QUOTAS, "{'metadata':{'name':'a'},'spec':{'hard':{'resourcequotas':'2'}}}", NULL));
    world_must(world_create(
        &w, QUOTAS, "{'metadata':{'name':'b'},'spec':{'hard':{'resourcequotas':'9'}}}", NULL));
    is_used(&w, "a", "resourcequotas", "2");
    is_used(&w, "b", "resourcequotas", "2");
    world_refused(
        world_create(&w, QUOTAS, "{'metadata':{'name':'c'},'spec':{'hard':{'pods':'9'}}}", NULL),
        403,
        "resourcequotas \"c\" is forbidden: exceeded quota: a, requested: resourcequotas=1, used: "
        "resourcequotas=2, limited: resourcequotas=2");
    world_must(world_delete(
        &w, (struct target){.kind = "resourcequotas", .name = "a", .who = &root}, NULL, &is_gone));
    is_used(&w, "b", "resourcequotas", "1");
    world_done(&w);
}

static void the_status_is_not_for_clients(void **state)
{
    struct world w;
    struct target q = {.kind = "resourcequotas", .name = "q", .who = &root};
    struct target status = {.kind = "resourcequotas", .name = "q", .sub = "status", .who = &ours};

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, QUOTAS,
                            "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1'}},'status':"
                            "{'used':{'pods':'-5'},'hard':{'pods':'100'}}}",
                            NULL));
    is_used(&w, "q", "pods", "0");
    world_must(world_patch(&w, q, "{'status':{'used':{'pods':'7'}}}", NULL));
    is_used(&w, "q", "pods", "0");
    world_refused(world_patch(&w, status, "{'status':{'used':{'pods':'1'}}}", NULL), 403,
                  "resourcequotas \"q\" is forbidden: the status of a quota is computed by the "
                  "server");
    world_done(&w);
}

static void a_dry_run_is_judged_and_not_charged(void **state)
{
    struct world w;
    struct target trial = {.kind = "pods", .is_dry_run = true};
    static const char two[] = "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
                              "'host','resources':{'limits':{'nvidia.com/gpu':2}}}]}}";

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, QUOTAS, "{'metadata':{'name':'q'},'spec':{'hard':{'requests.nvidia.com/gpu':'3'}}}",
        NULL));
    world_must(world_create(&w, trial, two, NULL));
    is_used(&w, "q", "requests.nvidia.com/gpu", "0");
    pod_of(&w, "a", "{'limits':{'nvidia.com/gpu':2}}", "");
    world_refused(
        world_create(&w, trial, two, NULL), 403,
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=2,"
        " used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=3");
    world_done(&w);
}

/* The charge of a pod that a full disk refused is taken back. */
static void a_full_disk_takes_the_charge_back(void **state)
{
    struct world w;
    struct objects_request r = {.kind = kind_find("", "pods"), .ns = "default", .who = ann};
    AUTO(json_freep)
    json_t *pod = manifest("{'metadata':{'name':'lost'},'spec':{'containers':[{'name':'c','image':"
                           "'host'}]}}");
    json_t *made = NULL;

    (void)state;
    world_init(&w, 1);
    world_must(
        world_create(&w, QUOTAS, "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1'}}}", NULL));
    mem_storage_set_full(w.disk, true);
    world_must(objects_create(w.objects, &r, pod, NULL, NULL, &made));
    json_decref(made);
    sim_loop_run(w.loop);
    mem_storage_set_full(w.disk, false);
    sim_loop_advance(w.loop, 2 * NS_PER_SEC);
    is_used(&w, "q", "pods", "0");
    pod_of(&w, "kept", "{}", "");
    is_used(&w, "q", "pods", "1");
    world_done(&w);
}

static void refuses_quotas_that_make_no_sense(void **state)
{
    static const struct {
        const char *spec;
        const char *why;
    } cases[] = {
        {"{'hard':{'gpus':'1'}}",
         "spec.hard[gpus]: Invalid value: \"gpus\": must be a standard resource for quota"},
        {"{'hard':{'pods':'1.5'}}",
         "spec.hard[pods]: Invalid value: \"1500m\": must be an integer"},
        {"{'hard':{'cpu':'-1'}}",
         "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"},
        {"{'hard':{'count/events':'1'}}",
         "spec.hard[count/events]: Forbidden: events are not counted: a full quota would hide "
         "them"},
        {"{'hard':{'pods':'1'},'scopes':['Some']}",
         "spec.scopes: Invalid value: \"[\\\"Some\\\"]\": unsupported scope"},
        {"{'hard':{'configmaps':'1'},'scopes':['Terminating']}",
         "spec.scopes: Invalid value: \"[\\\"Terminating\\\"]\": unsupported scope applied to "
         "resource"},
        {"{'hard':{'pods':'1'},'scopes':['BestEffort','NotBestEffort']}",
         "spec.scopes: Invalid value: \"[\\\"BestEffort\\\",\\\"NotBestEffort\\\"]\": conflicting "
         "scopes"},
        {"{'hard':{'pods':'1'},'scopeSelector':{'matchExpressions':[{'scopeName':'Terminating',"
         "'operator':'In','values':['x']}]}}",
         "spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exist' "
         "when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
         "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
         "ResourceQuotaScopeCrossNamespacePodAffinity"},
        {"{'hard':{'pods':'1'},'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass',"
         "'operator':'In'}]}}",
         "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value "
         "when `operator` is 'In' or 'NotIn' for scope selector"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'q'},'spec':%s}", cases[i].spec);
        AUTO_FREE char *want = mem_format("ResourceQuota \"q\" is invalid: %s", cases[i].why);

        world_refused(world_create(&w, QUOTAS, text, NULL), 422, want);
    }
    world_done(&w);
}

static void scopes_are_for_good(void **state)
{
    struct world w;
    struct target q = {.kind = "resourcequotas", .name = "q", .who = &root};

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, QUOTAS,
        "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1'},'scopes':['BestEffort']}}", NULL));
    world_refused(world_patch(&w, q, "{'spec':{'scopes':null}}", NULL), 422,
                  "ResourceQuota \"q\" is invalid: spec.scopes: Invalid value: \"[]\": field is "
                  "immutable");
    world_done(&w);
}

static void a_count_that_is_wrong_is_found(void **state)
{
    struct world w;
    const char *text = "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":"
                       "\"q\",\"namespace\":\"default\"},\"spec\":{\"hard\":{\"pods\":\"4\"}},"
                       "\"status\":{\"hard\":{\"pods\":\"4\"},\"used\":{\"pods\":\"3\"}}}";
    struct store_op op = {.type = STORE_PUT,
                          .key = objects_key(kind_find("", "resourcequotas"), "default", "q"),
                          .bytes = str_of(text),
                          .if_version = STORE_ANY};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    world_init(&w, 1);
    world_must(store_commit(w.store, &op, 1, NULL, NULL, NULL));
    sim_loop_run(w.loop);
    e = quota_check(w.store);
    assert_non_null(e);
    assert_string_equal(err_message(e),
                        "quota default/q: 0 of pods is used, but its status says 3");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_would_pass_it),
        cmocka_unit_test(counts_parts_of_gpus),
        cmocka_unit_test(counts_extended_resources_by_each_of_their_names),
        cmocka_unit_test(names_every_resource_that_is_passed),
        cmocka_unit_test(wants_to_be_told_cpu_and_memory),
        cmocka_unit_test(gives_back_with_the_end_and_the_removal),
        cmocka_unit_test(counts_the_larger_of_init_and_main_containers),
        cmocka_unit_test(counts_what_was_there_before_it),
        cmocka_unit_test(a_quota_counts_in_other_quotas),
        cmocka_unit_test(the_status_is_not_for_clients),
        cmocka_unit_test(a_dry_run_is_judged_and_not_charged),
        cmocka_unit_test(a_full_disk_takes_the_charge_back),
        cmocka_unit_test(refuses_quotas_that_make_no_sense),
        cmocka_unit_test(scopes_are_for_good),
        cmocka_unit_test(a_count_that_is_wrong_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
