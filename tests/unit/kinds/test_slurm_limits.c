/* test_slurm_limits.c - limits of associations and QOS, and the reasons beyond them */

#include "base/mem.h"
#include "base/str.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_preempt.h"
#include "kinds/slurm/slurm_qos.h"
#include "kinds/slurm/slurm_rules.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;

    assert_null(json_parse(str_of(text), &tree));
    return tree;
}

/* 4 cpus, 8 GiB, 2 gpus h100 on 2 nodes for an hour. */
static const struct slurm_size job = {
    .cpus = 4, .memory_mib = 8192, .gpus = 2, .nodes = 2, .minutes = 60, .model = "h100"};

static void names_the_limit_that_a_job_exceeds(void **state)
{
    static const struct {
        const char *association;
        const char *qos;
        const char *want; /* "": none */
    } cases[] = {
        {"{}", "{}", ""},
        {"{\"maxTRES\":\"cpu=4,mem=8G,node=2,gres/gpu=2\",\"maxWall\":60}", "{}", ""},
        {"{\"maxTRES\":\"cpu=3\"}", "{}", "AssocMaxCpuPerJobLimit"},
        {"{\"maxTRES\":\"mem=4G\"}", "{}", "AssocMaxMemPerJob"},
        {"{\"maxTRES\":\"node=1\"}", "{}", "AssocMaxNodePerJobLimit"},
        {"{\"maxTRES\":\"gres/gpu=1\"}", "{}", "AssocMaxGRESPerJob"},
        {"{\"maxTRES\":\"gres/gpu:a100=1\"}", "{}", ""},
        {"{\"maxTRES\":\"gres/gpu:h100=1\"}", "{}", "AssocMaxGRESPerJob"},
        {"{\"maxTRESPerNode\":\"cpu=2\"}", "{}", ""},
        {"{\"maxTRESPerNode\":\"cpu=1\"}", "{}", "AssocMaxCpuPerNode"},
        {"{\"grpTRES\":\"cpu=3\"}", "{}", "AssocGrpCpuLimit"},
        {"{\"grpTRES\":\"gres/gpu=0\"}", "{}", "AssocGrpGRES"},
        {"{\"maxWall\":59}", "{}", "AssocMaxWallDurationPerJobLimit"},
        {"{\"maxTRESMins\":\"cpu=240\"}", "{}", ""},
        {"{\"maxTRESMins\":\"cpu=239\"}", "{}", "AssocMaxCpuMinutesPerJobLimit"},
        {"{\"maxWall\":1}", "{\"maxWall\":30}", "QOSMaxWallDurationPerJobLimit"},
        {"{}", "{\"maxTRESPerUser\":\"gres/gpu=1\"}", "QOSMaxGRESPerUser"},
        {"{}", "{\"maxTRESPerUser\":\"cpu=1\"}", "QOSMaxCpuPerUserLimit"},
        {"{}", "{\"maxTRESPerUser\":\"mem=1G\"}", "QOSMaxMemoryPerUser"},
        {"{}", "{\"maxTRESPerAccount\":\"gres/gpu=1\"}", "MaxGRESPerAccount"},
        {"{}", "{\"minTRES\":\"cpu=4,gres/gpu=2\"}", ""},
        {"{}", "{\"minTRES\":\"cpu=5\"}", "QOSMinCpuNotSatisfied"},
        {"{}", "{\"minTRES\":\"gres/gpu=4\"}", "QOSMinGRES"},
        {"{}", "{\"grpTRES\":\"mem=1G\"}", "QOSGrpMemLimit"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *association = parse(cases[i].association);
        AUTO(json_freep) json_t *qos = parse(cases[i].qos);
        const struct slurm_chain chain = {.at = {association}, .n = 1};
        bool denies = true;
        AUTO_FREE char *reason = slurm_limits_find(&chain, qos, &job, &denies);

        assert_string_equal(text_or_empty(reason), cases[i].want);
        assert_false(denies);
    }
}

static void counts_what_others_hold(void **state)
{
    AUTO(json_freep) json_t *part = parse("{\"grpTRES\":\"cpu=8,gres/gpu=3\"}");
    const struct slurm_size held = {.cpus = 4, .gpus = 1, .model = ""};
    const struct slurm_size more = {.cpus = 5, .model = ""};
    AUTO_FREE char *within = slurm_limits_with(part, "grpTRES", false, &job, &held);
    AUTO_FREE char *beyond = slurm_limits_with(part, "grpTRES", true, &job, &more);

    (void)state;
    assert_null(within);
    assert_string_equal(beyond, "QOSGrpCpuLimit");
}

static void counts_minutes_that_are_left(void **state)
{
    static const struct {
        const char *part;
        const char *key;
        bool is_of_qos;
        const char *want; /* "": none */
    } cases[] = {
        {"{\"grpTRESRunMins\":\"cpu=300,gres/gpu=180\"}", "grpTRESRunMins", false, ""},
        {"{\"grpTRESRunMins\":\"cpu=299\"}", "grpTRESRunMins", false, "AssocGrpCPURunMinutesLimit"},
        {"{\"grpTRESRunMins\":\"gres/gpu=179\"}", "grpTRESRunMins", true, "QOSGrpGRESRunMinutes"},
        {"{\"grpTRESRunMins\":\"mem=1G\"}", "grpTRESRunMins", true, "QOSGrpMemoryRunMinutes"},
        {"{\"grpTRESRunMins\":\"mem=1G\"}", "grpTRESRunMins", false, "AssocGrpMemRunMinutes"},
        {"{\"maxTRESRunMinsPerUser\":\"node=1\"}", "maxTRESRunMinsPerUser", true,
         "QOSGrpNodeRunMinutes"},
    };
    const struct slurm_size own = slurm_size_minutes(&job, job.minutes); /* cpu=240, gpu=120 */
    const struct slurm_size endless = slurm_size_minutes(&own, INT64_MAX);
    struct slurm_size held = {.cpus = 60, .gpus = 60, .model = ""};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *part = parse(cases[i].part);
        AUTO_FREE char *reason =
            slurm_limits_with(part, cases[i].key, cases[i].is_of_qos, &own, &held);

        assert_string_equal(text_or_empty(reason), cases[i].want);
    }
    slurm_size_add(&held, &endless);
    slurm_size_add(&held, &endless);
    assert_true(held.cpus == endless.cpus && held.cpus > 0);
}

static json_t *find_in_tree(void *arg, const char *plural, const char *name)
{
    return json_incref(json_at(arg, plural, name, NULL));
}

static void joins_the_qos_of_the_partition(void **state)
{
    static const struct {
        const char *qos;
        const char *partitions;
        const char *want; /* names and limits that hold */
    } cases[] = {
        {"mine", "plain", "mine grp=5 tres=cpu=8,gres/gpu=4"},
        {"mine", "special,plain", "mine grp=-1 tres=cpu=8; parts grp=2 tres=gres/gpu=1"},
        {"over", "special", "over grp=-1 tres=gres/gpu=9; parts grp=2 tres="},
        {"parts", "special", "parts grp=2 tres=gres/gpu=1"},
        {NULL, "special", "normal grp=-1 tres=; parts grp=2 tres=gres/gpu=1"},
        {"mine", NULL, "mine grp=5 tres=cpu=8,gres/gpu=4"},
    };
    AUTO(json_freep)
    json_t *tree = parse(
        "{\"slurmpartitions\":{\"plain\":{\"spec\":{}},\"special\":{\"spec\":{\"qos\":\"parts\"}}},"
        "\"slurmqoses\":{\"mine\":{\"spec\":{\"grpJobs\":5,\"maxTRES\":\"cpu=8,gres/gpu=4\"}},"
        "\"over\":{\"spec\":{\"flags\":[\"OverPartQOS\"],\"maxTRES\":\"gres/gpu=9\"}},"
        "\"parts\":{\"spec\":{\"grpJobs\":2,\"maxTRES\":\"gres/gpu=1\"}}}}");
    const struct slurm_books books = {find_in_tree, tree};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        struct slurm_qos_limits q;

        slurm_qos_find(&books, cases[i].qos, cases[i].partitions, &q);
        for (size_t k = 0; k < q.n; k++)
            buf_printf(&out, "%s%s grp=%d tres=%s", k > 0 ? "; " : "", q.names[k],
                       (int)json_int(q.specs[k], "grpJobs", -1),
                       text_or_empty(json_text(q.specs[k], "maxTRES")));
        assert_string_equal(out.at, cases[i].want);
        buf_done(&out);
        slurm_qos_done(&q);
    }
}

static void applies_rules_to_new_jobs(void **state)
{
    static const char rules_text_of[] =
        "[{\"when\":\"job.partition == \\\"\\\" && job.gpus > 0\",\"set\":{\"partition\":\"gpu\","
        "\"nice\":5}},{\"when\":\"job.partition == \\\"gpu\\\" && job.timeLimitMinutes == 0\","
        "\"set\":{\"timeLimitMinutes\":60}},"
        "{\"when\":\"job.gpus > 4 && !(job.qos in [\\\"high\\\"])\",\"refuse\":\"more than 4 GPUs "
        "need --qos=high\"}]";
    static const struct {
        const char *spec;
        const char *want; /* partition, time limit; or the refusal */
    } cases[] = {
        {"{\"cpusPerTask\":2}", "- 0"},
        {"{\"gpusPerNode\":\"2\"}", "gpu 60"},
        {"{\"gpusPerNode\":\"2\",\"timeLimitMinutes\":5}", "gpu 5"},
        {"{\"gpusPerNode\":\"4\",\"nodesMin\":2}",
         "more than 4 GPUs need --qos=high\nAccess/permission denied"},
        {"{\"gpusPerNode\":\"8\",\"qos\":\"high\",\"partition\":\"x\"}", "x 0"},
    };
    AUTO(json_freep) json_t *rules = parse(rules_text_of);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *spec = parse(cases[i].spec);
        AUTO(err_freep) struct err *e = slurm_rules_apply(rules, spec);
        const char *partition = json_text(spec, "partition");
        AUTO_FREE char *found = mem_format("%s %d", partition ? partition : "-",
                                           (int)json_int(spec, "timeLimitMinutes", 0));

        assert_string_equal(e ? err_message(e) : found, cases[i].want);
    }
}

static void refuses_rules_that_cannot_be_judged(void **state)
{
    static const struct {
        const char *when;
        const char *want; /* "": none */
    } cases[] = {
        {"job.elements > 10 || job.hasScript", ""},
        {"job.gpu > 1", "column 5: a job has no \"gpu\""},
        {"device.driver == 'x'", "column 1: the name \"device\" is not known here"},
        {"job.gpus > 'x'", NULL},
        {"job.gpus", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = slurm_rule_check(cases[i].when);

        if (cases[i].want)
            assert_string_equal(e ? err_message(e) : "", cases[i].want);
        else
            assert_non_null(e);
    }
}

static void reads_what_is_enforced(void **state)
{
    static const struct {
        const char *text;
        struct slurm_enforce want;
    } cases[] = {
        {"none", {false, false, false}},
        {"associations", {true, false, false}},
        {"limits,nosteps", {true, true, false}},
        {"safe,qos", {true, true, true}},
        {"all", {true, true, true}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *o = json_pack("{s:s}", "AccountingStorageEnforce", cases[i].text);
        struct slurm_enforce found = slurm_enforce_read(o);

        assert_true(found.associations == cases[i].want.associations &&
                    found.limits == cases[i].want.limits && found.qos == cases[i].want.qos);
    }
}

/* "BY VICTIM..." of each class, in the order of their names; a class that cancels ends in '!', one
 * that is suspended in '~'. */
static char *rules_text(const json_t *rules)
{
    struct buf out = {0};
    const char *name;
    json_t *class;

    json_object_foreach (json_object_get(rules, "classes"), name, class) {
        const json_t *victims = json_object_get(class, "victims");

        buf_printf(&out, "%s%s", out.size > 0 ? ", " : "", name);
        for (size_t i = 0; i < json_array_size(victims); i++)
            buf_printf(&out, " %lld", json_integer_value(json_array_get(victims, i)));
        buf_add_text(&out, json_bool(class, "cancels", false) ? "!" : "");
        buf_add_text(&out, json_bool(class, "suspends", false) ? "~" : "");
    }
    return out.size > 0 ? buf_steal(&out) : mem_strdup("");
}

static void says_who_preempts_whom(void **state)
{
    static const char qoses[] =
        "{\"high\":{\"preempt\":[\"low\",\"normal\"]},\"low\":{\"preemptMode\":\"cancel\"},"
        "\"other\":{\"preempt\":[\"gone\"]}}";
    static const char partitions[] =
        "{\"a\":{\"priorityTier\":9,\"preemptMode\":\"OFF\"},\"b\":{\"priorityTier\":5},"
        "\"c\":{\"preemptMode\":\"CANCEL\"},\"d\":{}}";
    static const struct {
        const char *settings;
        const char *want;
    } cases[] = {
        {"{}", ""},
        {"{\"PreemptType\":\"preempt/none\",\"PreemptMode\":\"REQUEUE\"}", ""},
        {"{\"PreemptType\":\"preempt/qos\",\"PreemptMode\":\"REQUEUE\"}", "high 2 3, low!, normal"},
        {"{\"PreemptType\":\"preempt/qos\"}", "high 2, low!"}, /* OFF but for `low` */
        {"{\"PreemptType\":\"preempt/partition_prio\",\"PreemptMode\":\"REQUEUE\"}",
         "a 2 3 4, b 3 4, c!, d"},
        {"{\"PreemptType\":\"preempt/partition_prio\"}", "a 3, b 3, c!"},
        {"{\"PreemptType\":\"preempt/partition_prio\",\"PreemptMode\":\"SUSPEND,GANG\"}",
         "a 2 3 4, b 3 4~, c!, d~"},
        {"{\"PreemptType\":\"preempt/qos\",\"PreemptMode\":\"suspend,gang\"}",
         "high 2 3~, low!, normal~"},
    };
    AUTO(json_freep) json_t *of_qos = parse(qoses);
    AUTO(json_freep) json_t *of_partitions = parse(partitions);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *settings = parse(cases[i].settings);
        size_t n_left = 1;
        AUTO(json_freep)
        json_t *rules = slurm_preempt_rules(settings, of_qos, of_partitions, &n_left);
        AUTO_FREE char *text = rules_text(rules);

        assert_string_equal(text, cases[i].want);
        assert_int_equal(n_left, 0);
    }
}

static void finds_the_class_of_a_job(void **state)
{
    AUTO(json_freep)
    json_t *settings =
        parse("{\"PreemptType\":\"preempt/partition_prio\",\"PreemptMode\":\"CANCEL\","
              "\"PreemptExemptTime\":\"2\"}");
    AUTO(json_freep)
    json_t *partitions = parse("{\"a\":{\"priorityTier\":2},\"b\":{\"graceTimeSeconds\":60}}");
    size_t n_left = 0;
    AUTO(json_freep) json_t *rules = slurm_preempt_rules(settings, NULL, partitions, &n_left);
    const json_t *first = slurm_preempt_class(rules, "x", "b,a");

    (void)state;
    assert_int_equal(json_int(first, "class", 0), 2);
    assert_int_equal(json_int(first, "exemptSeconds", 0), 120);
    assert_int_equal(json_int(first, "graceSeconds", 0), 60);
    assert_true(json_bool(first, "cancels", false));
    assert_null(slurm_preempt_class(rules, NULL, "c"));
    assert_null(slurm_preempt_class(NULL, NULL, "a"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_limit_that_a_job_exceeds),
        cmocka_unit_test(counts_what_others_hold),
        cmocka_unit_test(counts_minutes_that_are_left),
        cmocka_unit_test(joins_the_qos_of_the_partition),
        cmocka_unit_test(applies_rules_to_new_jobs),
        cmocka_unit_test(refuses_rules_that_cannot_be_judged),
        cmocka_unit_test(reads_what_is_enforced),
        cmocka_unit_test(says_who_preempts_whom),
        cmocka_unit_test(finds_the_class_of_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
