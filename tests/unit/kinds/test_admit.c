/*
 * test_admit.c - defaults and refusals of priority classes and limit ranges, in Kubernetes' words
 */

#include "base/mem.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

#define PODS   ((struct target){.kind = "pods"})
#define LIMITS ((struct target){.kind = "limitranges", .who = &root})
#define CLASSES \
    ((struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root})

static const char plain[] = "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
                            "'host'}]}}";

static json_t *make_pod(struct world *w, const char *text)
{
    json_t *pod = NULL;

    world_must(world_create(w, PODS, text, &pod));
    return pod;
}

static void add_class(struct world *w, const char *text)
{
    world_must(world_create(w, CLASSES, text, NULL));
}

static void a_pod_has_the_priority_of_its_class(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *gold = NULL;
    AUTO(json_freep) json_t *none = NULL;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'gold'},'value':100,'preemptionPolicy':'Never'}");
    gold = make_pod(&w, "{'metadata':{'name':'g'},'spec':{'priorityClassName':'gold','containers':"
                        "[{'name':'c','image':'host'}]}}");
    assert_int_equal(json_int_at(gold, "spec", "priority", NULL), 100);
    assert_string_equal(json_text_at(gold, "spec", "preemptionPolicy", NULL), "Never");
    none = make_pod(&w, plain);
    assert_int_equal(json_int_at(none, "spec", "priority", NULL), 0);
    assert_null(json_at(none, "spec", "priorityClassName", NULL));
    assert_string_equal(json_text_at(none, "spec", "preemptionPolicy", NULL),
                        "PreemptLowerPriority");
    world_done(&w);
}

static void one_class_is_for_pods_that_name_none(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *pod = NULL;
    struct target other = CLASSES;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'silver'},'value':50,'globalDefault':true}");
    pod = make_pod(&w, plain);
    assert_int_equal(json_int_at(pod, "spec", "priority", NULL), 50);
    assert_string_equal(json_text_at(pod, "spec", "priorityClassName", NULL), "silver");
    world_refused(
        world_create(&w, CLASSES, "{'metadata':{'name':'b'},'value':5,'globalDefault':true}", NULL),
        403,
        "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass silver is "
        "already marked as default. Only one default can exist");
    other.name = "silver";
    world_must(world_patch(&w, other, "{'description':'still the default'}", NULL));
    world_done(&w);
}

static void refuses_pods_whose_priority_is_not_their_class(void **state)
{
    static const struct {
        const char *spec;
        const char *why;
    } cases[] = {
        {"'priorityClassName':'x',", "no PriorityClass with name x was found"},
        {"'priority':5,", "the integer value of priority (5) must not be provided in pod spec; "
                          "priority admission controller computed 0 from the given PriorityClass "
                          "name"},
        {"'priorityClassName':'gold','preemptionPolicy':'PreemptLowerPriority',",
         "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod "
         "spec; priority admission controller computed Never from the given PriorityClass name"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'gold'},'value':100,'preemptionPolicy':'Never'}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'p'},'spec':{%s'containers':[{"
                                          "'name':'c','image':'host'}]}}",
                                          cases[i].spec);
        AUTO_FREE char *want = mem_format("pods \"p\" is forbidden: %s", cases[i].why);

        world_refused(world_create(&w, PODS, text, NULL), 403, want);
    }
    world_done(&w);
}

static void the_priority_of_a_pod_stays(void **state)
{
    struct world w;
    struct target t = {.kind = "pods", .name = "g"};
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'gold'},'value':100}");
    pod = make_pod(&w, "{'metadata':{'name':'g'},'spec':{'priorityClassName':'gold','containers':"
                       "[{'name':'c','image':'host'}]}}");
    (void)json_object_del(json_object_get(pod, "spec"), "priority");
    (void)json_object_del(json_object_get(pod, "spec"), "preemptionPolicy");
    world_must(world_update(&w, t, pod, &after));
    assert_int_equal(json_int_at(after, "spec", "priority", NULL), 100);
    world_done(&w);
}

static void refuses_classes_that_make_no_sense(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"'name':'a'},'value':1000000001",
         "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
        {"'name':'a'},'value':1,'preemptionPolicy':'Sometimes'",
         "preemptionPolicy: Unsupported value: \"Sometimes\": supported values: "
         "\"PreemptLowerPriority\", \"Never\""},
        {"'name':'system-a'},'value':1",
         "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
         "system use only. error: system-a is not a known system priority class"},
        {"'name':'system-node-critical'},'value':1",
         "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
         "system use only. error: value of system-node-critical PriorityClass must be 2000001000"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{%s}", cases[i].text);
        AUTO(err_freep) struct err *e = world_create(&w, CLASSES, text, NULL);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
        assert_non_null(strstr(err_message(e), cases[i].why));
    }
    world_done(&w);
}

static void a_class_keeps_its_value_and_the_system_its_classes(void **state)
{
    struct world w;
    struct target gold = CLASSES;
    struct target system = CLASSES;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'gold'},'value':100}");
    add_class(&w, "{'metadata':{'name':'system-node-critical'},'value':2000001000}");
    gold.name = "gold";
    system.name = "system-node-critical";
    world_refused(world_patch(&w, gold, "{'value':5}", NULL), 422,
                  "PriorityClass.scheduling.k8s.io \"gold\" is invalid: value: Forbidden: may not "
                  "be changed in an "
                  "update.");
    world_refused(world_patch(&w, gold, "{'preemptionPolicy':'Never'}", NULL), 422,
                  "PriorityClass.scheduling.k8s.io \"gold\" is invalid: preemptionPolicy: Invalid "
                  "value: \"Never\": "
                  "field is immutable");
    world_refused(world_delete(&w, system, NULL, &is_gone), 403,
                  "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this "
                  "is a system priority class and cannot be deleted");
    world_must(world_delete(&w, gold, NULL, &is_gone));
    world_done(&w);
}

static void the_classes_of_the_system_are_for_administrators(void **state)
{
    static const char text[] =
        "{'metadata':{'name':'p'},'spec':{'priorityClassName':"
        "'system-node-critical','containers':[{'name':'c','image':'host'}]}}";
    static const char job[] =
        "{'metadata':{'name':'j'},'spec':{'template':{'spec':{'restartPolicy':'Never',"
        "'priorityClassName':'system-node-critical','containers':[{'name':'c','image':'host'}]}}}}";
    struct world w;
    AUTO(json_freep) json_t *made = NULL;

    (void)state;
    world_init(&w, 1);
    add_class(&w, "{'metadata':{'name':'system-node-critical'},'value':2000001000}");
    world_refused(world_create(&w, (struct target){.kind = "pods"}, text, NULL), 403,
                  "pods \"p\" is forbidden: the priority class system-node-critical is for "
                  "administrators; `kubectl get priorityclasses` lists the others");
    world_refused(world_create(&w, (struct target){.group = "batch", .kind = "jobs"}, job, NULL),
                  403,
                  "jobs.batch \"j\" is forbidden: the priority class system-node-critical is for "
                  "administrators; `kubectl get priorityclasses` lists the others");
    world_must(world_create(&w, (struct target){.kind = "pods", .who = &root}, text, &made));
    assert_int_equal(json_int(json_object_get(made, "spec"), "priority", 0), 2000001000);
    world_done(&w);
}

static void is_amount(const json_t *pod, const char *map, const char *resource, const char *want)
{
    const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
    const char *amount = json_text_at(container, "resources", map, resource, NULL);

    assert_non_null(amount);
    assert_string_equal(amount, want);
}

static void a_limit_range_fills_in_itself(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *range = NULL;
    AUTO(json_freep)
    json_t *want =
        manifest("{'limits':[{'type':'Container','max':{'cpu':'2'},'min':{'cpu':'100m','memory':"
                 "'1Mi'},'default':{'cpu':'2'},'defaultRequest':{'cpu':'2','memory':'1Mi'}}]}");

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, LIMITS,
                            "{'metadata':{'name':'l'},'spec':{'limits':[{'type':'Container','max':"
                            "{'cpu':2},'min':{'cpu':'100m','memory':'1Mi'}}]}}",
                            &range));
    assert_true(json_equal(json_object_get(range, "spec"), want));
    world_done(&w);
}

static void containers_get_what_the_range_gives(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *bare = NULL;
    AUTO(json_freep) json_t *half = NULL;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, LIMITS,
                            "{'metadata':{'name':'l'},'spec':{'limits':[{'type':'Container',"
                            "'default':{'cpu':'1','memory':'1Gi','nvidia.com/gpu':1},"
                            "'defaultRequest':{'cpu':'500m','memory':'1Gi'}}]}}",
                            NULL));
    bare = make_pod(&w, plain);
    is_amount(bare, "requests", "cpu", "500m");
    is_amount(bare, "limits", "cpu", "1");
    is_amount(bare, "limits", "nvidia.com/gpu", "1");
    is_amount(bare, "requests", "nvidia.com/gpu", "1");
    assert_string_equal(
        json_text_at(bare, "metadata", "annotations", "kubernetes.io/limit-ranger", NULL),
        "LimitRanger plugin set: cpu, memory, nvidia.com/gpu request for container c; cpu, memory, "
        "nvidia.com/gpu limit for container c");
    assert_string_equal(json_text_at(bare, "status", "qosClass", NULL), "Burstable");
    half = make_pod(&w, "{'metadata':{'name':'h'},'spec':{'containers':[{'name':'c','image':'host',"
                        "'resources':{'limits':{'cpu':'250m'}}}]}}");
    is_amount(half, "requests", "cpu", "250m"); /* from its own limit, as in Kubernetes */
    is_amount(half, "limits", "cpu", "250m");
    world_done(&w);
}

static void refuses_what_is_out_of_bounds(void **state)
{
    static const struct {
        const char *limits;
        const char *resources;
        const char *why;
    } cases[] = {
        {"'type':'Container','min':{'nvidia.com/gpu':1},'max':{'nvidia.com/gpu':2}",
         "'limits':{'nvidia.com/gpu':3}",
         "maximum nvidia.com/gpu usage per Container is 2, but limit is 3"},
        {"'type':'Container','min':{'nvidia.com/gpu':1},'max':{'nvidia.com/gpu':2}",
         "'limits':{'nvidia.com/gpu':0}",
         "minimum nvidia.com/gpu usage per Container is 1, but request is 0"},
        {"'type':'Container','max':{'cpu':2},'min':{'memory':'1Mi'}",
         "'requests':{'cpu':3,'memory':'1Ki'},'limits':{'cpu':3}",
         "[minimum memory usage per Container is 1Mi, but request is 1Ki, maximum cpu usage per "
         "Container is 2, but limit is 3]"},
        {"'type':'Container','maxLimitRequestRatio':{'cpu':2}",
         "'requests':{'cpu':1},'limits':{'cpu':3}",
         "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"},
        {"'type':'Container','maxLimitRequestRatio':{'cpu':2}", "",
         "cpu max limit to request ratio per Container is 2, but no request is specified or "
         "request is 0"},
        {"'type':'Pod','max':{'memory':'1Gi'}", "'requests':{'memory':'1Mi'}",
         "maximum memory usage per Pod is 1Gi.  No limit is specified"},
        {"'type':'Pod','min':{'memory':'1Gi'}", "",
         "minimum memory usage per Pod is 1Gi.  No request is specified"},
        {"'type':'Pod','max':{'cpu':'1'}", "'limits':{'cpu':'600m'}",
         "maximum cpu usage per Pod is 1, but limit is 1200m"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *range =
            mem_format("{'metadata':{'name':'l'},'spec':{'limits':[{%s}]}}", cases[i].limits);
        AUTO_FREE char *pod = mem_format("{'metadata':{'name':'p'},'spec':{'containers':[{'name':"
                                         "'c','image':'host','resources':{%s}},{'name':'d','image'"
                                         ":'host','resources':{%s}}]}}",
                                         cases[i].resources, cases[i].resources);
        AUTO_FREE char *want = mem_format("pods \"p\" is forbidden: %s", cases[i].why);
        struct world w;

        world_init(&w, 1);
        world_must(world_create(&w, LIMITS, range, NULL));
        world_refused(world_create(&w, PODS, pod, NULL), 403, want);
        world_done(&w);
    }
}

#define SHARING_POD(annotations)                                                              \
    "{'metadata':{'name':'p','annotations':{" annotations "}},'spec':{'containers':[{'name':" \
    "'c','image':'host'},{'name':'d','image':'host'}]}}"

static void shares_by_annotations_are_requests_for_gpus(void **state)
{
    static const struct {
        const char *limits;
        const char *pod;
        const char *why;
    } cases[] = {
        {"'type':'Container','max':{'nvidia.com/gpu':1}",
         SHARING_POD("'gpu-fraction':'0.5','gpu-fraction-num-devices':'3'"),
         "maximum nvidia.com/gpu usage per Container is 1, but limit is 1500m"},
        {"'type':'Container','min':{'nvidia.com/gpu':1}", SHARING_POD("'gpu-fraction':'0.5'"),
         "minimum nvidia.com/gpu usage per Container is 1, but request is 500m"},
        {"'type':'Pod','max':{'nvidia.com/gpu':1}",
         SHARING_POD("'gpu-memory':'2048','gpu-fraction-num-devices':'2',"
                     "'gpu-fraction-container-name':'d'"),
         "maximum nvidia.com/gpu usage per Pod is 1, but limit is 2"},
    };
    AUTO(json_freep) json_t *pod = NULL;
    struct world w;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *range =
            mem_format("{'metadata':{'name':'l'},'spec':{'limits':[{%s}]}}", cases[i].limits);
        AUTO(err_freep) struct err *e = NULL;

        world_init(&w, 1);
        world_must(world_create(&w, LIMITS, range, NULL));
        e = world_create(&w, PODS, cases[i].pod, NULL);
        assert_non_null(e);
        if (!strstr(err_message(e), cases[i].why))
            fail_msg("case %zu: '%s'", i, err_message(e));
        world_done(&w);
    }
    world_init(&w, 1);
    world_must(world_create(&w, LIMITS,
                            "{'metadata':{'name':'l'},'spec':{'limits':[{'type':'Container',"
                            "'default':{'nvidia.com/gpu':1},'max':{'nvidia.com/gpu':2}}]}}",
                            NULL));
    pod = make_pod(&w, SHARING_POD("'gpu-fraction':'0.5','gpu-fraction-container-name':'d'"));
    for (size_t i = 0; i < 2; i++)
        assert_null(json_at(json_array_get(json_at(pod, "spec", "containers", NULL), i),
                            "resources", "limits", "nvidia.com/gpu", NULL));
    world_done(&w);
}

static void refuses_limit_ranges_that_make_no_sense(void **state)
{
    static const struct {
        const char *item;
        const char *why;
    } cases[] = {
        {"'type':'Thing','max':{'cpu':1}",
         "spec.limits[0].type: Invalid value: \"Thing\": must be a standard limit type or fully "
         "qualified"},
        {"'type':'Pod','max':{'gpus':1}",
         "spec.limits[0].max[gpus]: Invalid value: \"gpus\": must be a standard resource for "
         "containers"},
        {"'type':'Pod','default':{'cpu':1}",
         "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
        {"'type':'Container','min':{'cpu':2},'max':{'cpu':1},'default':{'cpu':'1'},"
         "'defaultRequest':{'cpu':1}",
         "[spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1, "
         "spec.limits[0].defaultRequest[cpu]: Invalid value: \"1\": min value 2 is greater than "
         "default request value 1, spec.limits[0].default[cpu]: Invalid value: \"2\": min value 2 "
         "is greater than default value 1]"},
        {"'type':'Container','max':{'cpu':1},'default':{'cpu':3},'defaultRequest':{'cpu':1}",
         "spec.limits[0].default[cpu]: Invalid value: \"1\": default value 3 is greater than max "
         "value 1"},
        {"'type':'Container','default':{'cpu':1},'defaultRequest':{'cpu':2}",
         "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is "
         "greater than default limit value 1"},
        {"'type':'Pod','maxLimitRequestRatio':{'cpu':'500m'}",
         "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less "
         "than 1"},
        {"'type':'Pod','min':{'cpu':'1'},'max':{'cpu':'2500m'},'maxLimitRequestRatio':{'cpu':3}",
         "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than "
         "max/min = 2.500000"},
        {"'type':'Container','default':{'nvidia.com/gpu':2},'defaultRequest':{'nvidia.com/gpu':1}",
         "spec.limits[0].defaultRequest[nvidia.com/gpu]: Invalid value: \"1\": default value 2 "
         "must equal to defaultRequest value 1 in nvidia.com/gpu"},
        {"'type':'PersistentVolumeClaim','max':{'cpu':1}",
         "spec.limits[0].limits: Required value: either minimum or maximum storage value is "
         "required, but neither was provided"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'l'},'spec':{'limits':[{%s}]}}", cases[i].item);
        AUTO_FREE char *want = mem_format("LimitRange \"l\" is invalid: %s", cases[i].why);

        world_refused(world_create(&w, LIMITS, text, NULL), 422, want);
    }
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_has_the_priority_of_its_class),
        cmocka_unit_test(one_class_is_for_pods_that_name_none),
        cmocka_unit_test(refuses_pods_whose_priority_is_not_their_class),
        cmocka_unit_test(the_priority_of_a_pod_stays),
        cmocka_unit_test(refuses_classes_that_make_no_sense),
        cmocka_unit_test(a_class_keeps_its_value_and_the_system_its_classes),
        cmocka_unit_test(the_classes_of_the_system_are_for_administrators),
        cmocka_unit_test(a_limit_range_fills_in_itself),
        cmocka_unit_test(containers_get_what_the_range_gives),
        cmocka_unit_test(refuses_what_is_out_of_bounds),
        cmocka_unit_test(shares_by_annotations_are_requests_for_gpus),
        cmocka_unit_test(refuses_limit_ranges_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
