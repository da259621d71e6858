/* test_node_env.c - tests of container variables */

#include "base/mem.h"
#include "node/spec/env.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

static void expands_as_the_kubelet_does(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"$(A)", "1"},        {"x$(A)y$(B)z", "x1y2z"},
        {"$$(A)", "$(A)"},    {"$$$(A)", "$1"},
        {"$$$$(A)", "$$(A)"}, {"$(NONE)", "$(NONE)"},
        {"$A", "$A"},         {"$(A", "$(A"},
        {"$", "$"},           {"$()", "$()"},
        {"$((A))", "$((A))"}, {"100%$", "100%$"},
        {"$(A)$(A)", "11"},   {"", ""},
        {"$(B)$", "2$"},
    };
    AUTO(json_freep) json_t *env = parse("{\"A\":\"1\",\"B\":\"2\"}");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *got = env_expand(cases[i].text, env);

        assert_string_equal(got, cases[i].want);
    }
}

#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"labels\":{\"a/b\":\"L\"}," \
    "\"annotations\":{\"k\":\"N\"}},\"spec\":{\"serviceAccountName\":\"sa\",\"containers\":["      \
    "{\"name\":\"other\",\"resources\":{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}}]}}"
#define REFS                                                         \
    "{\"configmaps/c\":{\"data\":{\"k\":\"v\",\"bad "                \
    "name\":\"x\",\"z\":\"zz\"},\"binaryData\":{\"raw\":\"AAEC\"}}," \
    "\"secrets/s\":{\"data\":{\"pw\":\"aMO0\",\"bin\":\"/w==\",\"nul\":\"YQBi\"}}}"

struct env_case {
    const char *container; /* members of the container */
    const char *want;      /* variables as JSON, or the error */
    int http;              /* 0: success */
};

static const struct env_case env_cases[] = {
    {"\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"$(A)$(C)\"},"
     "{\"name\":\"C\",\"value\":\"3\"}]",
     "{\"A\":\"1\",\"B\":\"1$(C)\",\"C\":\"3\"}", 0},
    {"\"env\":[{\"name\":\"A\"}]", "{\"A\":\"\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}]",
     "{\"N\":\"p\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.labels['a/"
     "b']\"}}}]",
     "{\"N\":\"L\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.annotations['"
     "q']\"}}}]",
     "{\"N\":\"\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.hostIP\"}}}]",
     "{\"N\":\"192.0.2.7\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.evil\"}}}]",
     "env N: fieldPath 'spec.evil' is not supported", 422},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}}"
     "]",
     "{\"N\":\"8\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"containerName\":\"other\","
     "\"resource\":\"limits.cpu\"}}}]",
     "{\"N\":\"2\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"containerName\":\"other\","
     "\"resource\":\"limits.memory\",\"divisor\":\"1Mi\"}}}]",
     "{\"N\":\"1024\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits\"}}}]",
     "env N: resourceFieldRef 'limits' is not supported", 422},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"c\",\"key\":\"k\"}}}"
     "]",
     "{\"N\":\"v\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"pw\"}}}]",
     "{\"N\":\"h\xc3\xb4\"}", 0},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"bin\"}}}]",
     "env N: variable N: the value is not text of at most 1048576 bytes", 422},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"nul\"}}}]",
     "env N: variable N: the value is not text of at most 1048576 bytes", 422},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"no\"}}}]",
     "env N: Secret 's': has no key 'no'", 404},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"no\",\"key\":\"k\"}}}]",
     "env N: Secret 'no' not found", 404},
    {"\"env\":[{\"name\":\"N\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"no\",\"key\":\"k\","
     "\"optional\":true}}}]",
     "{}", 0},
    {"\"envFrom\":[{\"prefix\":\"P_\",\"configMapRef\":{\"name\":\"c\"}}],"
     "\"env\":[{\"name\":\"P_k\",\"value\":\"own\"}]",
     "{\"P_bad name\":\"x\",\"P_k\":\"own\",\"P_z\":\"zz\"}", 0},
    {"\"envFrom\":[{\"secretRef\":{\"name\":\"no\",\"optional\":true}}]", "{}", 0},
    {"\"envFrom\":[{\"secretRef\":{\"name\":\"no\"}}]", "Secret 'no' not found", 404},
};

static void makes_variables_from_every_source(void **state)
{
    AUTO(json_freep) json_t *pod = parse(POD);
    AUTO(json_freep) json_t *refs = parse(REFS);

    (void)state;
    for (size_t i = 0; i < COUNT(env_cases); i++) {
        const struct env_case *c = &env_cases[i];
        AUTO_FREE char *text = mem_format("{\"name\":\"m\",%s}", c->container);
        AUTO(json_freep) json_t *container = parse(text);
        AUTO(json_freep) json_t *env = json_object();
        AUTO_FREE char *got = NULL;
        const struct env_input in = {.pod = pod,
                                     .container = container,
                                     .refs = refs,
                                     .node = "n1",
                                     .host_ip = "192.0.2.7",
                                     .pod_ip = "192.0.2.7",
                                     .cpu_milli = 8000,
                                     .memory_bytes = INT64_MAX};
        AUTO(err_freep) struct err *e = env_add(&in, env);

        got = e ? mem_strdup(err_message(e)) : json_format(env);
        assert_string_equal(got, c->want);
        assert_int_equal(e ? err_http(e) : 0, c->http);
    }
}

static void sets_the_variables_of_a_slurm_job_as_they_are(void **state)
{
    AUTO(json_freep)
    json_t *pod = parse("{\"metadata\":{\"annotations\":{\"mete.dev/slurm-environment\":"
                        "\"[\\\"A=$(B) $$\\\",\\\"BASH_FUNC_f%%=() { :; }\\\",\\\"=x\\\"]\"}},"
                        "\"spec\":{\"activeDeadlineSeconds\":60}}");
    AUTO(json_freep) json_t *container = parse("{\"name\":\"m\"}");
    AUTO(json_freep)
    json_t *labels = parse("{\"switch.mete.dev/1\":\"leaf\",\"switch.mete.dev/2\":\"core\"}");
    AUTO(json_freep) json_t *env = json_object();
    const struct env_input in = {.pod = pod,
                                 .container = container,
                                 .node = "n1",
                                 .labels = labels,
                                 .start_ns = INT64_C(1000000000000)};

    (void)state;
    assert_null(env_add(&in, env));
    assert_string_equal(json_text(env, "A"), "$(B) $$");
    assert_string_equal(json_text(env, "BASH_FUNC_f%%"), "() { :; }");
    assert_string_equal(json_text(env, "SLURMD_NODENAME"), "n1");
    assert_string_equal(json_text(env, "SLURM_JOB_START_TIME"), "1000");
    assert_string_equal(json_text(env, "SLURM_JOB_END_TIME"), "1060");
    assert_string_equal(json_text(env, "SLURM_TOPOLOGY_ADDR"), "core.leaf.n1");
    assert_string_equal(json_text(env, "SLURM_TOPOLOGY_ADDR_PATTERN"), "switch.switch.node");
    assert_int_equal(json_object_size(env), 9);
}

/* The variables of the submission are those of the pod's job, not of a later one of its name. */
static void variables_of_the_submission_come_from_the_job(void **state)
{
    static const char *const jobs[] = {
        "{'slurmjobs/j':{'metadata':{'uid':'u'},'spec':{'environment':['A=1','B=2','C']}}}",
        "{'slurmjobs/j':{'metadata':{'uid':'v'},'spec':{'environment':['A=1','B=2']}}}", "{}"};
    AUTO(json_freep)
    json_t *pod = parse(
        "{\"metadata\":{\"labels\":{\"mete.dev/slurm-job\":\"j\"},\"ownerReferences\":[{\"kind\":"
        "\"SlurmJob\",\"name\":\"j\",\"uid\":\"u\",\"controller\":true}],\"annotations\":{"
        "\"mete.dev/slurm-environment\":\"[\\\"B=3\\\"]\"}}}");
    AUTO(json_freep) json_t *container = parse("{\"name\":\"m\"}");

    (void)state;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        AUTO_FREE char *text = mem_strdup(jobs[i]);
        AUTO(json_freep) json_t *refs = NULL;
        AUTO(json_freep) json_t *env = json_object();
        struct env_input in = {.pod = pod, .container = container, .node = "n1"};

        for (char *c = text; *c; c++)
            if (*c == '\'')
                *c = '"';
        refs = parse(text);
        in.refs = refs;
        assert_null(env_add(&in, env));
        assert_string_equal(json_text(env, "B"), "3");
        if (i == 0)
            assert_string_equal(json_text(env, "A"), "1");
        else
            assert_null(json_text(env, "A"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_the_variables_of_a_slurm_job_as_they_are),
        cmocka_unit_test(variables_of_the_submission_come_from_the_job),
        cmocka_unit_test(expands_as_the_kubelet_does),
        cmocka_unit_test(makes_variables_from_every_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
