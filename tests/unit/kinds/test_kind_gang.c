/* test_kind_gang.c - Workloads and PodGroups of scheduling.k8s.io, in all their versions */

#include "base/mem.h"
#include "kinds/object/objects.h"
#include "test.h"
#include "world.h"

static struct world w;

static int setup(void **state)
{
    (void)state;
    world_init(&w, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_done(&w);
    return 0;
}

static struct objects_request request(const char *version, const char *plural, const char *name)
{
    const struct kind *k = kind_find_version("scheduling.k8s.io", version, plural);

    assert_non_null(k);
    return (struct objects_request){
        .kind = k, .ns = "default", .name = name, .who = ann, .validation = VALIDATION_STRICT};
}

static struct err *create(const char *version, const char *plural, const char *text, json_t **ret)
{
    struct objects_request r = request(version, plural, NULL);
    AUTO(json_freep) json_t *object = manifest(text);
    struct err *e = objects_create(w.objects, &r, object, NULL, NULL, ret);

    sim_loop_run(w.loop);
    return e;
}

/* The stored spec as text. */
static char *kept_spec(const char *plural, const char *name)
{
    AUTO(json_freep)
    json_t *tree =
        world_get(&w, (struct target){.group = "scheduling.k8s.io", .kind = plural, .name = name});

    assert_non_null(tree);
    assert_string_equal(json_text(tree, "apiVersion"), "scheduling.k8s.io/v1beta1");
    return json_format(json_object_get(tree, "spec"));
}

static const struct {
    const char *version;
    const char *plural;
    const char *spec;
    const char *kept;
} shapes[] = {
    {"v1alpha1", "workloads", "{'podGroups':[{'name':'a','policy':{'gang':{'minCount':4}}}]}",
     "{'podGroupTemplates':[{'name':'a','schedulingPolicy':{'gang':{'minCount':4}}}]}"},
    {"v1alpha2", "workloads",
     "{'podGroupTemplates':[{'name':'a','schedulingPolicy':{'basic':{}},'disruptionMode':'Pod'}]}",
     "{'podGroupTemplates':[{'name':'a','schedulingPolicy':{'basic':{}},'disruptionMode':{'single':"
     "{}}}]}"},
    {"v1alpha2", "podgroups",
     "{'schedulingPolicy':{'gang':{'minCount':2}},'disruptionMode':'PodGroup',"
     "'podGroupTemplateRef':{'workload':{'workloadName':'w','podGroupTemplateName':'a'}}}",
     "{'schedulingPolicy':{'gang':{'minCount':2}},'disruptionMode':{'all':{}},"
     "'workloadRef':{'workloadName':'w','templateName':'a'}}"},
    {"v1alpha1", "podgroups", "{'minMember':4,'priorityClassName':'high'}",
     "{'schedulingPolicy':{'gang':{'minCount':4}},'priorityClassName':'high'}"},
    {"v1alpha3", "podgroups", "{'schedulingPolicy':{'gang':{'minCount':2}}}",
     "{'schedulingPolicy':{'gang':{'minCount':2}}}"},
    {"v1beta1", "podgroups",
     "{'schedulingPolicy':{'gang':{'minCount':2}},'preemptionPolicy':"
     "'Never'}",
     "{'schedulingPolicy':{'gang':{'minCount':2}},'preemptionPolicy':'Never'}"},
};

static void each_version_is_kept_in_one_form_and_given_back_in_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        AUTO_FREE char *name = mem_format("o%zu", i);
        AUTO_FREE char *text = mem_format(
            "{'apiVersion':'scheduling.k8s.io/%s','kind':'%s','metadata':{'name':'%s'},"
            "'spec':%s}",
            shapes[i].version, text_equal(shapes[i].plural, "workloads") ? "Workload" : "PodGroup",
            name, shapes[i].spec);
        AUTO(json_freep) json_t *want = manifest(shapes[i].spec);
        AUTO(json_freep) json_t *kept_want = manifest(shapes[i].kept);
        AUTO(json_freep) json_t *kept = NULL;
        AUTO(json_freep) json_t *made = NULL;
        AUTO_FREE char *found = NULL;

        world_must(create(shapes[i].version, shapes[i].plural, text, &made));
        assert_string_equal(
            json_text(made, "apiVersion"),
            kind_find_version("scheduling.k8s.io", shapes[i].version, shapes[i].plural)
                ->api_version);
        assert_true(json_equal(json_object_get(made, "spec"), want));
        found = kept_spec(shapes[i].plural, name);
        world_must(json_parse(str_of(found), &kept));
        assert_true(json_equal(kept, kept_want));
    }
}

static void a_patch_speaks_the_words_of_its_version(void **state)
{
    struct objects_request r = request("v1alpha1", "workloads", "w");
    AUTO(json_freep)
    json_t *patch = manifest("{'spec':{'podGroups':[{'name':'a','policy':{'gang':{'minCount':8}}},"
                             "{'name':'b','policy':{'basic':{}}}]}}");
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *patched = NULL;
    AUTO_FREE char *found = NULL;

    (void)state;
    world_must(create("v1alpha1", "workloads",
                      "{'apiVersion':'scheduling.k8s.io/v1alpha1','kind':'Workload','metadata':"
                      "{'name':'w'},'spec':{'podGroups':[{'name':'a','policy':{'gang':{'minCount':"
                      "4}}}]}}",
                      &made));
    world_must(objects_patch(w.objects, &r, PATCH_MERGE, patch, NULL, NULL, &patched));
    sim_loop_run(w.loop);
    assert_int_equal(json_array_size(json_at(patched, "spec", "podGroups", NULL)), 2);
    found = kept_spec("workloads", "w");
    assert_string_equal(
        found, "{\"podGroupTemplates\":[{\"name\":\"a\",\"schedulingPolicy\":{\"gang\":"
               "{\"minCount\":8}}},{\"name\":\"b\",\"schedulingPolicy\":{\"basic\":{}}}]}");
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *version;
        const char *plural;
        const char *spec;
        int http;
        const char *message;
    } cases[] = {
        {"v1alpha1", "workloads", "{'podGroupTemplates':[]}", 400,
         "Workload in version \"v1alpha1\" cannot be handled as a Workload: strict decoding error: "
         "unknown field \"spec.podGroupTemplates\""},
        {"v1beta1", "podgroups", "{'schedulingPolicy':{}}", 422,
         "PodGroup.scheduling.k8s.io \"x\" is invalid: spec.schedulingPolicy: Invalid value: \"\": "
         "exactly one of "
         "basic and gang must be set"},
        {"v1beta1", "podgroups", "{'schedulingPolicy':{'gang':{'minCount':1},'basic':{}}}", 422,
         "PodGroup.scheduling.k8s.io \"x\" is invalid: spec.schedulingPolicy: Invalid value: \"\": "
         "exactly one of "
         "basic and gang must be set"},
        {"v1beta1", "podgroups",
         "{'schedulingPolicy':{'basic':{}},'priorityClassName':'system-node-critical'}", 422,
         "PodGroup.scheduling.k8s.io \"x\" is invalid: spec.priorityClassName: Forbidden: groups "
         "cannot have a "
         "system class; name the class in the pods"},
        {"v1beta1", "podgroups",
         "{'schedulingPolicy':{'basic':{}},'parentCompositePodGroupName':'y'}", 422,
         "PodGroup.scheduling.k8s.io \"x\" is invalid: spec.parentCompositePodGroupName: "
         "Forbidden: is not "
         "implemented by mete yet"},
        {"v1alpha2", "workloads", "{'podGroupTemplates':[]}", 422,
         "Workload.scheduling.k8s.io \"x\" is invalid: spec.podGroupTemplates: Required value"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format(
            "{'apiVersion':'scheduling.k8s.io/%s','kind':'%s','metadata':{'name':'x'},"
            "'spec':%s}",
            cases[i].version, text_equal(cases[i].plural, "workloads") ? "Workload" : "PodGroup",
            cases[i].spec);
        AUTO(json_freep) json_t *made = NULL;

        world_refused(create(cases[i].version, cases[i].plural, text, &made), cases[i].http,
                      cases[i].message);
    }
}

static void an_old_version_is_deleted_by_its_name(void **state)
{
    struct objects_request r = request("v1alpha2", "podgroups", "g");
    const struct delete_options plain = {.grace_seconds = -1};
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *last = NULL;
    bool is_gone = false;

    (void)state;
    world_must(create("v1beta1", "podgroups",
                      "{'metadata':{'name':'g'},'spec':{'schedulingPolicy':{'basic':{}}}}", &made));
    world_must(objects_delete(w.objects, &r, &plain, NULL, NULL, &last, &is_gone));
    assert_true(is_gone);
    assert_string_equal(json_text(last, "apiVersion"), "scheduling.k8s.io/v1alpha2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_version_is_kept_in_one_form_and_given_back_in_its_own),
        TEST(a_patch_speaks_the_words_of_its_version),
        TEST(says_what_is_wrong),
        TEST(an_old_version_is_deleted_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
