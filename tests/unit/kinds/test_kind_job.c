/* test_kind_job.c - Jobs and CronJobs: defaults, validation, updates */

#include "base/mem.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"
#include "test.h"
#include "world.h"

#define JOB(n, w) ((struct target){.group = "batch", .kind = "jobs", .name = (n), .who = (w)})
#define CRONJOB(n, w) \
    ((struct target){.group = "batch", .kind = "cronjobs", .name = (n), .who = (w)})
#define TEMPLATE \
    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'main','image':'host'}]}}"
#define INDEXED "'completions':3,'completionMode':'Indexed'," TEMPLATE

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

static json_t *create(const char *spec, const struct kind_context *who)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'j'},'spec':{%s}}", spec);
    json_t *made = NULL;

    world_must(world_create(&w, JOB(NULL, who), text, &made));
    return made;
}

static void fills_in_what_kubernetes_does(void **state)
{
    AUTO(json_freep) json_t *job = create(TEMPLATE, &ann);
    const json_t *spec = json_object_get(job, "spec");
    const char *uid = json_text_at(job, "metadata", "uid", NULL);
    const json_t *labels = json_at(spec, "template", "metadata", "labels", NULL);

    (void)state;
    assert_int_equal(json_int(spec, "parallelism", 0), 1);
    assert_int_equal(json_int(spec, "completions", 0), 1);
    assert_int_equal(json_int(spec, "backoffLimit", 0), 6);
    assert_string_equal(json_text(spec, "completionMode"), "NonIndexed");
    assert_string_equal(json_text(spec, "podReplacementPolicy"), "TerminatingOrFailed");
    assert_false(json_bool(spec, "suspend", true));
    assert_false(json_bool(spec, "manualSelector", true));
    assert_string_equal(json_text_at(spec, "selector", "matchLabels", JOB_UID_LABEL, NULL), uid);
    assert_string_equal(json_text(labels, JOB_UID_LABEL), uid);
    assert_string_equal(json_text(labels, JOB_UID_LABEL_OLD), uid);
    assert_string_equal(json_text(labels, JOB_NAME_LABEL), "j");
    assert_string_equal(json_text(labels, JOB_NAME_LABEL_OLD), "j");
    assert_string_equal(json_text_at(job, "metadata", "annotations", POD_USER, NULL), "ann");
    assert_string_equal(json_text_at(job, "metadata", "labels", POD_JOB_ID, NULL), "1");
}

static void parallelism_alone_leaves_completions_open(void **state)
{
    AUTO(json_freep) json_t *job = create("'parallelism':2," TEMPLATE, &ann);

    (void)state;
    assert_null(json_at(job, "spec", "completions", NULL));
}

static const struct {
    const char *spec;
    const char *message; /* after `Job.batch "j" is invalid: ` */
} wrong_jobs[] = {
    {"'completions':1",
     "[spec.template.spec.containers: Required value, spec.template.spec.restartPolicy: "
     "Required value: valid values: \"OnFailure\", \"Never\"]"},
    {"'parallelism':-1," TEMPLATE,
     "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
    {"'template':{'spec':{'containers':[{'name':'main','image':'host'}]}}",
     "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
     "\"Never\""},
    {"'template':{'spec':{'restartPolicy':'Never','containers':[]}}",
     "spec.template.spec.containers: Required value"},
    {"'template':{'metadata':{'labels':{'mete.dev/job-id':'7'}},'spec':{'restartPolicy':"
     "'Never','containers':[{'name':'main','image':'host'}]}}",
     "spec.template.metadata.labels[mete.dev/job-id]: Forbidden: names under mete.dev/ are set "
     "by the system only"},
    {"'completionMode':'Sorted'," TEMPLATE,
     "spec.completionMode: Unsupported value: \"Sorted\": supported values: \"NonIndexed\", "
     "\"Indexed\""},
    {"'parallelism':1,'completionMode':'Indexed'," TEMPLATE,
     "spec.completions: Required value: when completion mode is Indexed"},
    {"'parallelism':100001," INDEXED,
     "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when "
     "completion mode is Indexed"},
    {"'backoffLimitPerIndex':1," TEMPLATE,
     "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
    {"'maxFailedIndexes':1," INDEXED,
     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
    {"'backoffLimitPerIndex':1,'maxFailedIndexes':4," INDEXED,
     "spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions"},
    {"'managedBy':'me.io/x'," TEMPLATE,
     "spec.managedBy: Forbidden: is not implemented by mete yet"},
    {"'manualSelector':true," TEMPLATE, "spec.selector: Required value"},
    {"'manualSelector':true,'selector':{'matchLabels':{'a':'b'}}," TEMPLATE,
     "spec.template.metadata.labels: Invalid value: \"{}\": `selector` does not match "
     "template `labels`"},
    {"'podFailurePolicy':{'rules':[{'action':'Retry','onExitCodes':{'operator':'In','values':"
     "[1]}}]}," TEMPLATE,
     "spec.podFailurePolicy.rules[0].action: Unsupported value: \"Retry\": supported values: "
     "\"Count\", \"FailIndex\", \"FailJob\", \"Ignore\""},
    {"'podFailurePolicy':{'rules':[{'action':'FailIndex','onExitCodes':{'operator':'In',"
     "'values':[1]}}]}," INDEXED,
     "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the "
     "backoffLimitPerIndex to be set"},
    {"'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'In','values':"
     "[0]}}]}," TEMPLATE,
     "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 "
     "for the In operator"},
    {"'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'operator':'In','values':"
     "[2,1]}}]}," TEMPLATE,
     "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: \"\": must be ordered"},
    {"'podFailurePolicy':{'rules':[{'action':'Count','onExitCodes':{'containerName':'x',"
     "'operator':'In','values':[1]}}]}," TEMPLATE,
     "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"x\": must be "
     "one of the container or initContainer names in the pod template"},
    {"'podFailurePolicy':{'rules':[{'action':'Ignore'}]}," TEMPLATE,
     "spec.podFailurePolicy.rules[0]: Invalid value: \"\": specifying one of OnExitCodes and "
     "OnPodConditions is required"},
    {"'successPolicy':{'rules':[{'succeededCount':1}]}," TEMPLATE,
     "spec.successPolicy: Invalid value: \"\": requires indexed completion mode"},
    {"'successPolicy':{'rules':[]}," INDEXED,
     "spec.successPolicy.rules: Required value: at least one rules must be specified when the "
     "successPolicy is specified"},
    {"'successPolicy':{'rules':[{'succeededIndexes':'2-1'}]}," INDEXED,
     "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"2-1\": indexes: range 2-1 "
     "does not ascend"},
    {"'successPolicy':{'rules':[{'succeededIndexes':'0-1','succeededCount':3}]}," INDEXED,
     "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal "
     "to 2 (the number of indexes in the specified succeededIndexes field)"},
};

static void says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong_jobs); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'j'},'spec':{%s}}", wrong_jobs[i].spec);
        AUTO_FREE char *want = mem_format("Job.batch \"j\" is invalid: %s", wrong_jobs[i].message);
        AUTO(err_freep) struct err *e = world_create(&w, JOB(NULL, &ann), text, NULL);

        if (!e)
            fail_msg("taken: %s", wrong_jobs[i].spec);
        assert_string_equal(err_message(e), want);
        assert_int_equal(err_http(e), 422);
    }
}

static void changes_only_what_may_change(void **state)
{
    static const struct {
        const char *patch;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {"{'spec':{'parallelism':3}}", NULL},
        {"{'spec':{'backoffLimit':9}}", NULL},
        {"{'spec':{'suspend':true}}", NULL},
        {"{'spec':{'ttlSecondsAfterFinished':9,'activeDeadlineSeconds':9}}", NULL},
        {"{'spec':{'completions':3}}",
         "Job.batch \"j\" is invalid: spec.completions: Invalid value: \"3\": field is immutable"},
        {"{'spec':{'completionMode':'Indexed'}}",
         "Job.batch \"j\" is invalid: spec.completionMode: Invalid value: \"\\\"Indexed\\\"\": "
         "field is "
         "immutable"},
        {"{'spec':{'template':{'spec':{'priority':1}}}}", "spec.template: Invalid value: "},
        {"{'metadata':{'annotations':{'mete.dev/user':'root'}}}",
         "metadata.annotations[mete.dev/user]: Forbidden: names under mete.dev/"},
        {"{'status':{'succeeded':7}}", NULL}, /* status belongs to a subresource: ignored */
    };
    AUTO(json_freep) json_t *job = create(TEMPLATE, &ann);
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = world_patch(&w, JOB("j", &ann), cases[i].patch, NULL);

        if ((e != NULL) != (cases[i].message != NULL))
            fail_msg("%s: %s", cases[i].patch, e ? err_message(e) : "taken");
        if (e && cases[i].message)
            assert_non_null(strstr(err_message(e), cases[i].message));
    }
    after = world_get(&w, JOB("j", &ann));
    assert_int_equal(json_int_at(after, "status", "succeeded", NULL), 0);
}

static void where_its_pods_may_go_can_change_until_it_begins(void **state)
{
    AUTO(json_freep) json_t *job = create("'suspend':true," TEMPLATE, &ann);

    (void)state;
    world_must(world_patch(&w, JOB("j", &ann),
                           "{'spec':{'template':{'spec':{'nodeSelector':{'a':'b'}}}}}", NULL));
    world_must(world_patch(
        &w,
        (struct target){
            .group = "batch", .kind = "jobs", .name = "j", .sub = "status", .who = &ours},
        "{'status':{'startTime':'2026-01-01T00:00:00Z'}}", NULL));
    {
        AUTO(err_freep)
        struct err *e = world_patch(
            &w, JOB("j", &ann), "{'spec':{'template':{'spec':{'nodeSelector':{'a':'c'}}}}}", NULL);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
    }
}

static void completions_of_an_indexed_job_go_with_parallelism(void **state)
{
    AUTO(json_freep) json_t *job = create(INDEXED, &ann);

    (void)state;
    world_refused(
        world_patch(&w, JOB("j", &ann), "{'spec':{'completions':5}}", NULL), 422,
        "Job.batch \"j\" is invalid: spec.completions: Invalid value: 5: can only be modified "
        "in tandem with spec.parallelism");
    world_must(world_patch(&w, JOB("j", &ann), "{'spec':{'completions':5,'parallelism':5}}", NULL));
}

static void who_writes_a_template_answers_for_its_pods(void **state)
{
    static const char other[] =
        "{'metadata':{'name':'j'},'spec':{'template':{'spec':{'restartPolicy':'Never',"
        "'securityContext':{'runAsUser':0},'containers':[{'name':'main','image':'host'}]}}}}";
    AUTO(json_freep) json_t *job = NULL;
    AUTO_FREE char *plain = mem_format("{'metadata':{'name':'j'},'spec':{%s}}", TEMPLATE);

    (void)state;
    world_refused(world_create(&w, JOB(NULL, &ann), other, NULL), 403,
                  "jobs.batch \"j\" is forbidden: container main: image `host` with "
                  "securityContext.runAsUser 0: ann may run as 1000 only");
    world_refused(world_create(&w, JOB(NULL, &nobody), plain, NULL), 403,
                  "jobs.batch \"j\" is forbidden: image `host` runs as the calling user, and "
                  "nobody has no uid on this system; an administrator adds one to users.yaml");
    job = create(TEMPLATE, &ann);
    assert_int_equal(
        json_int_at(job, "spec", "template", "spec", "securityContext", "runAsUser", NULL), 1000);
}

static void add_cronjob(const struct kind_context *who)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'c'},'spec':{'schedule':'@hourly',"
                                      "'jobTemplate':{'spec':{%s}}}}",
                                      TEMPLATE);

    world_must(world_create(&w, CRONJOB(NULL, who), text, NULL));
}

static void another_ones_cron_job_cannot_be_made_to_run_something_else(void **state)
{
    static const struct kind_context bob = {.user = "bob", .host_uid = 1001};
    static const char command[] =
        "{'spec':{'jobTemplate':{'spec':{'template':{'spec':{'containers':[{'name':'main','image':"
        "'host','command':['id']}]}}}}}}";
    AUTO(json_freep) json_t *cronjob = NULL;

    (void)state;
    add_cronjob(&ann);
    world_must(world_patch(&w, CRONJOB("c", &bob), "{'spec':{'suspend':true}}", NULL));
    world_refused(world_patch(&w, CRONJOB("c", &bob), command, NULL), 403,
                  "cronjobs.batch \"c\" is forbidden: container main: image `host` with "
                  "securityContext.runAsUser 1000: bob may run as 1001 only");
    world_must(world_patch(&w, CRONJOB("c", &bob),
                           "{'spec':{'jobTemplate':{'spec':{'template':{'spec':{"
                           "'securityContext':{'runAsUser':1001}}}}}}}",
                           NULL));
    cronjob = world_get(&w, CRONJOB("c", &bob));
    assert_string_equal(json_text_at(cronjob, "metadata", "annotations", POD_USER, NULL), "bob");
}

static void says_what_is_wrong_with_a_cron_job(void **state)
{
    static const struct {
        const char *spec;
        const char *message;
    } cases[] = {
        {"'jobTemplate':{'spec':{" TEMPLATE "}}", "spec.schedule: Required value"},
        {"'schedule':'* *','jobTemplate':{'spec':{" TEMPLATE "}}",
         "spec.schedule: Invalid value: \"* *\": expected exactly 5 fields, found 2: [* *]"},
        {"'schedule':'TZ=UTC 0 * * * *','jobTemplate':{'spec':{" TEMPLATE "}}",
         "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in "
         "schedule, use timeZone field instead"},
        {"'schedule':'@daily','timeZone':'Mars/Base','jobTemplate':{'spec':{" TEMPLATE "}}",
         "spec.timeZone: Invalid value: \"Mars/Base\": unknown time zone Mars/Base"},
        {"'schedule':'@daily','concurrencyPolicy':'Queue','jobTemplate':{'spec':{" TEMPLATE "}}",
         "spec.concurrencyPolicy: Unsupported value: \"Queue\": supported values: \"Allow\", "
         "\"Forbid\", \"Replace\""},
        {"'schedule':'@daily','jobTemplate':{'spec':{'manualSelector':true," TEMPLATE "}}",
         "spec.jobTemplate.spec.manualSelector: Unsupported value: \"true\": supported values: "
         "\"nil\", \"false\""},
        {"'schedule':'@daily','jobTemplate':{'spec':{'completions':-1," TEMPLATE "}}",
         "spec.jobTemplate.spec.completions: Invalid value: -1: must be greater than or equal to "
         "0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'c'},'spec':{%s}}", cases[i].spec);
        AUTO_FREE char *want = mem_format("CronJob.batch \"c\" is invalid: %s", cases[i].message);

        world_refused(world_create(&w, CRONJOB(NULL, &ann), text, NULL), 422, want);
    }
}

static json_t *row_of(const struct kind *k, const char *text, int64_t now_ns)
{
    AUTO(json_freep) json_t *object = manifest(text);

    return k->cells(object, now_ns);
}

static void the_table_is_kubectls(void **state)
{
    static const struct {
        const char *job;
        const char *status;
        const char *completions;
        const char *duration;
    } cases[] = {
        {"{'metadata':{'name':'j'},'spec':{'completions':3,'parallelism':1},'status':{}}",
         "Running", "0/3", ""},
        {"{'spec':{'parallelism':3},'status':{'succeeded':1,'startTime':'2026-01-01T00:00:00Z'}}",
         "Running", "1/1 of 3", "60s"},
        {"{'spec':{'completions':1},'status':{'succeeded':1,'startTime':'2026-01-01T00:00:00Z',"
         "'completionTime':'2026-01-01T00:00:07Z','conditions':[{'type':'Complete','status':'True'"
         "}]}}",
         "Complete", "1/1", "7s"},
        {"{'spec':{'completions':1},'status':{'conditions':[{'type':'Suspended','status':'True'}]}"
         "}",
         "Suspended", "0/1", ""},
    };
    const struct kind *k = kind_find("batch", "jobs");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep)
        json_t *row = row_of(k, cases[i].job, INT64_C(1767225660) * INT64_C(1000000000));

        assert_string_equal(json_string_value(json_array_get(row, 1)), cases[i].status);
        assert_string_equal(json_string_value(json_array_get(row, 2)), cases[i].completions);
        assert_string_equal(json_string_value(json_array_get(row, 3)), cases[i].duration);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fills_in_what_kubernetes_does),
        TEST(parallelism_alone_leaves_completions_open),
        TEST(says_what_is_wrong),
        TEST(changes_only_what_may_change),
        TEST(where_its_pods_may_go_can_change_until_it_begins),
        TEST(completions_of_an_indexed_job_go_with_parallelism),
        TEST(who_writes_a_template_answers_for_its_pods),
        TEST(another_ones_cron_job_cannot_be_made_to_run_something_else),
        TEST(says_what_is_wrong_with_a_cron_job),
        TEST(the_table_is_kubectls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
