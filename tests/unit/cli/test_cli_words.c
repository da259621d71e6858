/* test_cli_words.c - words that users type and texts that they read: gpus, names, addresses,
 * configuration, kubeconfigs, jobs, reasons */

#include "base/mem.h"
#include "base/stamp.h"
#include "base/yaml.h"
#include "cli/job/job_flags.h"
#include "cli/job/jobs.h"
#include "cli/job/refusal.h"
#include "cli/job/summary.h"
#include "cli/job/why.h"
#include "cli/kubeconfig.h"
#include "cli/role/supervisor.h"
#include "cli/role/up.h"
#include "test.h"

static json_t *parse(const char *text)
{
    AUTO(json_freep) json_t *documents = NULL;

    assert_null(yaml_parse("test", str_of(text), &documents));
    return json_incref(json_array_get(documents, 0));
}

static void reads_how_many_gpus(void **state)
{
    static const struct {
        const char *text;
        int64_t count; /* -1: an error */
        const char *model;
    } cases[] = {
        {"2", 2, ""},
        {"0", 0, ""},
        {"A100:2", 2, "a100"},
        {"0.5", -1, "want a number of whole GPUs"},
        {"20Gi", -1, "want a number of whole GPUs"},
        {"mig-2g.20gb", -1, "want a number of whole GPUs"},
        {"a100:", -1, "want a number"},
        {":2", -1, "want a number"},
        {"eight", -1, "want a number"},
        {"-1", -1, "want a number"},
        {"", -1, "want a number"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t count = -1;
        char model[JOB_MODEL_SIZE] = "";
        AUTO(err_freep) struct err *e = job_gpus_parse(cases[i].text, &count, model);

        assert_int_equal(count, cases[i].count);
        if (cases[i].count < 0)
            assert_non_null(strstr(err_message(e), cases[i].model));
        else
            assert_string_equal(model, cases[i].model);
    }
}

static void reads_parts_of_gpus(void **state)
{
    static const struct {
        const char *text;
        const char *ask; /* NULL: an error */
        const char *model;
    } cases[] = {
        {"A100:0.5", "0.5", "a100"},
        {"20Gi", "20Gi", ""},
        {"mig-1g.10gb", "mig-1g.10gb", ""},
        {"h100:2xmig-1g.10gb", "2xmig-1g.10gb", "h100"},
        {"2xshared", "2xshared", ""},
        {"mig-1g.10gb:2", NULL, NULL},
        {"1.5", NULL, NULL},
        {"h100:", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu_ask ask = {0};
        char model[JOB_MODEL_SIZE] = "";
        char text[GPU_ASK_TEXT_SIZE];
        AUTO(err_freep) struct err *e = job_ask_parse(cases[i].text, &ask, model);

        if (!cases[i].ask) {
            assert_non_null(strstr(err_message(e), "want a number of GPUs or a part of one"));
            continue;
        }
        assert_null(e);
        gpu_ask_format(&ask, text);
        assert_string_equal(text, cases[i].ask);
        assert_string_equal(model, cases[i].model);
    }
}

static void makes_names_that_are_names(void **state)
{
    static const struct {
        const char *command;
        const char *stem;
    } cases[] = {{"/usr/bin/python3", "python3-"},
                 {"train.PY", "train-py-"},
                 {"./__x__", "x-"},
                 {"...", "job-"},
                 {"averyveryveryveryveryveryveryverylongcommandname",
                  "averyveryveryveryveryveryveryverylongcom-"}};
    static const uint8_t dice[JOB_NAME_RANDOM] = {0, 1, 2, 100, 255};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *name = job_name_make(cases[i].command, dice);

        assert_true(text_starts_with(name, cases[i].stem));
        assert_int_equal(strlen(name), strlen(cases[i].stem) + 5);
    }
}

/* The Pod of `mete run` with these flags, in namespace `team`. */
static struct err *pod_of(const struct invocation *in, const char *cwd, json_t **ret)
{
    static const uint8_t dice[JOB_NAME_RANDOM] = {0};
    AUTO(job_spec_done) struct job_spec spec = {.ns = "team", .cwd = cwd};

    TRY(job_flags_read(in, &spec));
    return job_spec_make(&spec, dice, ret);
}

static void a_command_line_becomes_a_pod(void **state)
{
    static const char *const words[] = {"--gpus", "h100:2", "--cpu",  "4",        "--memory=8Gi",
                                        "--time", "90",     "--name", "train",    "-e",
                                        "A=b=c",  "--",     "python", "train.py", "--fast"};
    struct invocation in = {0};
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep)
    json_t *want = parse("{apiVersion: v1, kind: Pod, metadata: {name: train, namespace: team}, "
                         "spec: {restartPolicy: Never, activeDeadlineSeconds: 5400,"
                         " nodeSelector: {mete.dev/gpu.model: h100}, containers: [{name: main, "
                         "image: host, command: [python, train.py, --fast],"
                         " workingDir: /home/ann, resources: {limits: {cpu: '4', memory: 8Gi, "
                         "nvidia.com/gpu: 2}}, env: [{name: A, value: b=c}]}]}}");
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_null(invocation_parse(command_find("run"), COUNT(words), words, &in));
    assert_null(pod_of(&in, "/home/ann", &pod));
    text = json_format(pod);
    if (!json_equal(pod, want))
        fail_msg("%s", text);
    invocation_done(&in);
}

static void refuses_amounts_that_are_none(void **state)
{
    static const struct {
        const char *words[4];
        const char *message;
    } cases[] = {
        {{"--cpu", "none", "--", "x"}, "cpu \"none\": want an amount above 0: 4, 500m"},
        {{"--memory", "-1Gi", "--", "x"}, "memory \"-1Gi\": want an amount above 0: 512Mi, 8Gi"},
        {{"--env", "=x", "--", "x"}, "--env \"=x\": want NAME=VALUE"},
        {{"--env", "METE_SURELY_NOT_SET", "--", "x"},
         "--env \"METE_SURELY_NOT_SET\": the variable is not set in this shell: want NAME=VALUE"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct invocation in = {0};
        json_t *pod = NULL;
        AUTO(err_freep) struct err *e = NULL;

        assert_null(invocation_parse(command_find("run"), 4, cases[i].words, &in));
        e = pod_of(&in, NULL, &pod);
        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(pod);
        invocation_done(&in);
    }
}

static void reads_addresses_of_each_form(void **state)
{
    static const struct {
        const char *text;
        const char *host; /* NULL: an error */
        unsigned port;
    } cases[] = {
        {"127.0.0.1:7443", "127.0.0.1", 7443},
        {"[::1]:0", "::1", 0},
        {":80", "0.0.0.0", 80},
        {"host:65535", "host", 65535},
        {"host", NULL, 0},
        {"host:65536", NULL, 0},
        {"::1:80", NULL, 0},
        {"host:", NULL, 0},
        {"host:x", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *host = NULL;
        unsigned port = 1;
        AUTO(err_freep) struct err *e = listen_parse("listen", cases[i].text, &host, &port);

        assert_true((e == NULL) == (cases[i].host != NULL));
        if (cases[i].host) {
            assert_string_equal(host, cases[i].host);
            assert_int_equal(port, cases[i].port);
        }
    }
}

static void flags_go_before_the_configuration(void **state)
{
    AUTO(json_freep)
    json_t *config = parse("{apiVersion: mete.dev/v1, kind: Config, data: /srv/mete, gpus: none}");
    const struct up_given given = {.gpus = "emulated:4xT4"};
    struct up_options o = {0};

    (void)state;
    assert_null(up_options_make(&given, config, &o));
    assert_string_equal(o.data, "/srv/mete");
    assert_string_equal(o.gpus, "emulated:4xT4");
    assert_string_equal(o.host, "127.0.0.1");
    assert_int_equal(o.port, 7443);
    up_options_done(&o);
}

static void roots_of_flags_replace_those_of_the_configuration(void **state)
{
    AUTO(json_freep)
    json_t *config = parse("{apiVersion: mete.dev/v1, kind: Config, hostPathRoots: ['/a:ro', /b]}");
    const char *const flags[] = {"/c", NULL};
    const struct up_given given = {.host_path_roots = flags};
    struct up_options o = {0};

    (void)state;
    assert_null(up_options_make(&(struct up_given){0}, config, &o));
    assert_int_equal(o.host_roots.list.n, 2);
    assert_string_equal(o.host_roots.list.at[0].path, "/a");
    assert_true(o.host_roots.list.at[0].is_read_only);
    up_options_done(&o);
    assert_null(up_options_make(&given, config, &o));
    assert_int_equal(o.host_roots.list.n, 1);
    assert_string_equal(o.host_roots.list.at[0].path, "/c");
    up_options_done(&o);
}

static void a_configuration_is_read_strictly(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{kind: Config}", "want apiVersion: mete.dev/v1, kind: Config"},
        {"{apiVersion: mete.dev/v1, kind: Config, gpu: all}", "unknown member \"gpu\""},
        {"{apiVersion: mete.dev/v1, kind: Config, gpus: 8}", "gpus: want a string"},
        {"{apiVersion: mete.dev/v1, kind: Config, gpus: all}",
         "gpus \"all\": want auto, none or emulated:PROFILE (emulated:8xH100)"},
        {"{apiVersion: mete.dev/v1, kind: Config, dashboard: here}",
         "dashboard \"here\": want HOST:PORT"},
        {"{apiVersion: mete.dev/v1, kind: Config, logLevel: loud}",
         "log level \"loud\": want error, warn, info or debug"},
        {"{apiVersion: mete.dev/v1, kind: Config, hostPathRoots: /data}",
         "hostPathRoots: want a list of strings"},
        {"{apiVersion: mete.dev/v1, kind: Config, hostPathRoots: [1]}",
         "hostPathRoots: want a list of strings"},
        {"{apiVersion: mete.dev/v1, kind: Config, hostPathRoots: [data]}",
         "host path root 'data': want an absolute path without '.' and '..'"},
        {"{apiVersion: mete.dev/v1, kind: Config, schedulerNames: 'mine,mete'}",
         "schedulerNames: \"mete\" is there already"},
        {"{apiVersion: mete.dev/v1, kind: Config, cpus: '0'}",
         "cpus: number '0': want an integer from 1 to 65536"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *config = parse(cases[i].text);
        struct up_options o = {0};
        AUTO(err_freep) struct err *e = up_options_make(&(struct up_given){0}, config, &o);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(o.data);
    }
}

#define KUBECONFIG(cluster, user)                                                                 \
    "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: " \
    "k, user: u, namespace: team}}], "                                                            \
    "clusters: [{name: k, cluster: {" cluster "}}], users: [{name: u, user: {" user "}}]}"

#define V1 "apiVersion: client.authentication.k8s.io/"

static void reads_the_credential_plugin_of_a_kubeconfig(void **state)
{
    static const char text[] =
        KUBECONFIG("server: 'https://h:1/'",
                   "exec: {" V1 "v1, command: bin/get, args: [a, 'b c'], env: [{name: X, value: "
                   "'1'}], interactiveMode: Always, provideClusterInfo: true, installHint: buy}");
    static const char beta[] =
        KUBECONFIG("server: 'https://h:1/'", "exec: {" V1 "v1beta1, command: get}");
    const struct kubeconfig_file file = {"/etc/kube/config", str_of(text)};
    const struct kubeconfig_file old = {"/etc/kube/config", str_of(beta)};
    struct kubeconfig k = {0};

    (void)state;
    assert_null(kubeconfig_parse(&file, 1, NULL, &k));
    assert_string_equal(k.exec->api_version, "client.authentication.k8s.io/v1");
    assert_string_equal(k.exec->argv[0], "/etc/kube/bin/get");
    assert_string_equal(k.exec->argv[2], "b c");
    assert_null(k.exec->argv[3]);
    assert_string_equal(k.exec->env[0], "X=1");
    assert_null(k.exec->env[1]);
    assert_string_equal(k.exec->hint, "buy");
    assert_true(k.exec->wants_cluster && k.exec->needs_terminal && k.exec->may_ask);
    kubeconfig_done(&k);
    assert_null(kubeconfig_parse(&old, 1, NULL, &k));
    assert_string_equal(k.exec->argv[0], "get"); /* of PATH */
    assert_true(k.exec->may_ask && !k.exec->needs_terminal);
    kubeconfig_done(&k);
}

static void reads_a_kubeconfig(void **state)
{
    static const char text[] =
        KUBECONFIG("server: 'https://h:1/', certificate-authority-data: Q0E=",
                   "client-certificate: certs/c.pem, client-key-data: S0VZ, token: t");
    const struct kubeconfig_file file = {"/etc/kube/config", str_of(text)};
    struct kubeconfig k = {0};

    (void)state;
    assert_null(kubeconfig_parse(&file, 1, NULL, &k));
    assert_string_equal(k.server, "https://h:1");
    assert_string_equal(k.ca, "CA");
    assert_string_equal(k.key, "KEY");
    assert_string_equal(k.cert_file, "/etc/kube/certs/c.pem");
    assert_string_equal(k.token, "t");
    assert_string_equal(k.ns, "team");
    kubeconfig_done(&k);
}

static void a_kubeconfig_that_we_cannot_honour_is_refused_by_name(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{}", "f: no current-context"},
        {"{current-context: x}", "f: current-context \"x\" is not in contexts"},
        {KUBECONFIG("", ""), "f: the cluster has no server of the form https://HOST:PORT"},
        {KUBECONFIG("server: 'ftp://h'", ""),
         "f: the cluster has no server of the form https://HOST:PORT"},
        {KUBECONFIG("server: 'https://h', insecure-skip-tls-verify: true", ""),
         "f: its cluster has \"insecure-skip-tls-verify\", which mete does not support"},
        {KUBECONFIG("server: 'https://h'", "auth-provider: {name: x}"),
         "f: its user has \"auth-provider\", which mete does not support"},
        {KUBECONFIG("server: 'https://h'", "exec: {command: x}"),
         "f: exec.apiVersion: want client.authentication.k8s.io/v1 or v1beta1, not none"},
        {KUBECONFIG("server: 'https://h'", "exec: {" V1 "v1alpha1, command: x}"),
         "f: exec.apiVersion: want client.authentication.k8s.io/v1 or v1beta1, not "
         "client.authentication.k8s.io/v1alpha1"},
        {KUBECONFIG("server: 'https://h'", "exec: {" V1 "v1, command: x}"),
         "f: exec.interactiveMode: want Never, IfAvailable or Always, not none"},
        {KUBECONFIG("server: 'https://h'", "exec: {" V1 "v1, interactiveMode: Never}"),
         "f: exec.command: want a program"},
        {KUBECONFIG("server: 'https://h', certificate-authority-data: '!'", ""),
         "f: certificate-authority-data is not base64 at byte 0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct kubeconfig k = {0};
        const struct kubeconfig_file file = {"f", str_of(cases[i].text)};
        AUTO(err_freep) struct err *e = kubeconfig_parse(&file, 1, NULL, &k);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(k.server);
    }
}

static void kubeconfigs_are_merged_as_kubectl_does(void **state)
{
    static const char contexts[] =
        "{current-context: far, contexts: [{name: near, context: {cluster: k, user: u}}, "
        "{name: far, context: {cluster: gone, user: u}}, {name: mute, context: {cluster: k, user: "
        "nobody}}]}";
    static const char server[] =
        "{current-context: near, clusters: [{name: k, cluster: {server: 'https://h', "
        "certificate-authority: ca.pem}}]}";
    static const char again[] =
        "{clusters: [{name: k, cluster: {server: 'https://other'}}], users: [{name: u, user: "
        "{tokenFile: t}}]}";
    const struct kubeconfig_file files[] = {{"/a/c", str_of(contexts)},
                                            {"/b/s", str_of(server)},
                                            {"/e", str_of("")},
                                            {"/c/u", str_of(again)}};
    static const struct {
        const char *context;
        const char *message;
    } cases[] = {
        {NULL, "/a/c: the cluster of the context is not in clusters"},
        {"mute", "/a/c: user \"nobody\" of the context is not in users"},
        {"none", "/a/c:/b/s:/e:/c/u: no context \"none\""},
    };
    struct kubeconfig k = {0};

    (void)state;
    assert_null(kubeconfig_parse(files, COUNT(files), "near", &k));
    assert_string_equal(k.server, "https://h"); /* the first file with the name */
    assert_string_equal(k.ca_file, "/b/ca.pem");
    assert_string_equal(k.token_file, "/c/t");
    kubeconfig_done(&k);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep)
        struct err *e = kubeconfig_parse(files, COUNT(files), cases[i].context, &k);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

static void a_child_that_dies_is_started_at_once_then_less_often(void **state)
{
    int64_t last_ns = 0;

    (void)state;
    assert_int_equal(supervisor_delay_ns(1), 0);
    for (unsigned quick = 2; quick < 100; quick++) {
        int64_t delay_ns = supervisor_delay_ns(quick);

        assert_true(delay_ns >= last_ns && delay_ns > 0 && delay_ns <= 5 * NS_PER_SEC);
        last_ns = delay_ns;
    }
    assert_int_equal(last_ns, 5 * NS_PER_SEC);
}

static void tells_the_state_of_a_job(void **state)
{
    static const struct {
        const char *pod;
        const char *state;
        const char *reason;
        int64_t exit_code;
    } cases[] = {
        {"{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', message: "
         "needs 8}]}}",
         "waiting", "needs 8", -1},
        {"{spec: {nodeName: n1}, status: {phase: Pending}}", "starting", "", -1},
        {"{spec: {nodeName: n1}, status: {phase: Running}}", "running", "", -1},
        {"{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {nodeName: n1}, status: "
         "{phase: Running}}",
         "ending", "", -1},
        {"{status: {phase: Succeeded, containerStatuses: [{state: {terminated: {exitCode: 0, "
         "reason: Completed}}}]}}",
         "finished", "", 0},
        {"{status: {phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 0}}}, "
         "{state: {terminated: {exitCode: 137, reason: "
         "OOMKilled}}}]}}",
         "failed", "OOMKilled", 137},
        {"{status: {phase: Failed, reason: DeadlineExceeded}}", "failed", "DeadlineExceeded", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = parse(cases[i].pod);
        struct job job = job_of(pod);

        assert_string_equal(job.state, cases[i].state);
        assert_string_equal(job.reason, cases[i].reason);
        assert_int_equal(job.exit_code, cases[i].exit_code);
    }
}

static void a_reason_is_told_in_its_order(void **state)
{
    AUTO(json_freep)
    json_t *workload = parse(
        "metadata: {name: train}\n"
        "spec: {jobId: 12, queue: research}\n"
        "status:\n"
        "  phase: waiting\n"
        "  submittedAt: '2026-01-01T00:00:00Z'\n"
        "  reason:\n"
        "    code: NoNodeFits\n"
        "    message: needs 8 H100 on one node; the most free on one node is 5 (n1)\n"
        "    evaluatedAt: '2026-01-01T00:11:58Z'\n"
        "    position: 3\n"
        "    queueLength: 41\n"
        "    blocking:\n"
        "    - {node: n1, resource: nvidia.com/gpu, best: 5, asked: 8, why: 3 short}\n"
        "    nodes:\n"
        "    - {name: n1, resource: nvidia.com/gpu, free: 5, capacity: 8, until: "
        "'2026-01-01T14:20:00Z', text: \"3 "
        "short\\e[2J\"}\n"
        "    - {name: n2, resource: cpu, free: 1500, capacity: 64000, text: drained}\n"
        "    nodesLeftOut: 4\n"
        "    quotas:\n"
        "    - {queue: research, resource: gpu, held: '24', nominal: '32', borrowLimit: null}\n"
        "    - {queue: labs, resource: memory, held: 1Gi, nominal: 2Gi, borrowLimit: '0'}\n"
        "    values: 3f2a\n"
        "    estimate: {from: '2026-01-01T14:20:00Z', to: '2026-01-01T16:05:00Z', basis: from time "
        "limits}\n"
        "    wouldStartIf: [it asks for 5 gpus, job 4 ends]\n");
    int64_t now_ns = 0;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_null(stamp_parse(STR("2026-01-01T00:12:00Z"), &now_ns));
    text = why_format(workload, false, now_ns);
    assert_string_equal(
        text,
        "job 12 train   waiting 12m   queue research, place 3 of 41\n\n"
        "  NoNodeFits: needs 8 H100 on one node; the most free on one node is 5 (n1)\n\n"
        "  node      free   of     why not\n"
        "  n1      5 of 8   GPUs   3 short; room by 2026-01-01T14:20:00Z\n"
        "  n2     1 of 64   cpu    drained\n"
        "  4 more that are no nearer\n\n"
        "  Quota research: holds 24 GPUs, nominal 32, may borrow any unused quota. Not the "
        "cause.\n"
        "  Quota labs: holds 1Gi memory, nominal 2Gi, may borrow nothing. Not the cause.\n"
        "  Start estimate: 2026-01-01T14:20:00Z to 2026-01-01T16:05:00Z (from time limits; not "
        "a promise)\n\n"
        "  Would start now with:  it asks for 5 gpus\n"
        "                    or:  job 4 ends\n"
        "  Evaluated 2s ago.   Nodes are scored by learned values, table 3f2a.\n");
}

static void an_image_that_cannot_be_pulled_is_told(void **state)
{
    AUTO(json_freep)
    json_t *workload = parse("metadata: {name: train}\n"
                             "spec: {jobId: 12, queue: research}\n"
                             "status:\n"
                             "  phase: starting\n"
                             "  submittedAt: '2026-01-01T00:00:00Z'\n"
                             "  reason: {code: ImagePullFailed, message: 'container main: gone', "
                             "image: 'r/a:1', node: n1, advice: look}\n");
    int64_t now_ns = 0;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_null(stamp_parse(STR("2026-01-01T00:12:00Z"), &now_ns));
    text = why_format(workload, false, now_ns);
    assert_string_equal(text, "job 12 train   starting 12m   queue research\n\n"
                              "  ImagePullFailed: container main: gone\n\n"
                              "  Image: r/a:1, on node n1\n"
                              "  To do: look\n");
}

static void a_refusal_is_told_in_numbers(void **state)
{
    static const struct {
        const char *text;
        const char *told; /* NULL: the text reports no exceeded quota */
        int64_t n_free;
    } cases[] = {
        {"pods \"p\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=7, "
         "used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=10",
         "quota \"gpus\" has no room for 7 GPUs\n  used 4 of 10, asked 7, short by 1", 6},
        {"exceeded quota: q, requested: limits.memory=1Gi, used: limits.memory=3584Mi, limited: "
         "limits.memory=4Gi",
         "quota \"q\" has no room for 1Gi of limits.memory\n  used 3584Mi of 4Gi, asked 1Gi, short "
         "by 512Mi",
         -1},
        {"exceeded quota: q, requested: cpu=1500m,requests.nvidia.com/gpu=1, used: cpu=0,"
         "requests.nvidia.com/gpu=12, limited: cpu=1,requests.nvidia.com/gpu=10",
         "quota \"q\" has no room\n  cpu: used 0 of 1, asked 1500m, short by 500m\n  "
         "requests.nvidia.com/gpu: used 12 of 10, asked 1, short by 3",
         0},
        {"pods \"p\" is forbidden: failed quota: q: must specify cpu for: c", NULL, 0},
        {"exceeded quota: q, requested: pods=1, used: cpu=1, limited: pods=1", NULL, 0},
        {"exceeded quota: q, requested: pods=one, used: pods=1, limited: pods=1", NULL, 0},
        {"exceeded quota: q", NULL, 0},
        {"", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t n_free = 0;
        AUTO_FREE char *told = refusal_format(cases[i].text, &n_free);

        assert_int_equal(told != NULL, cases[i].told != NULL);
        if (!told)
            continue;
        assert_string_equal(told, cases[i].told);
        assert_int_equal(n_free, cases[i].n_free);
    }
}

static void counts_gpus_by_product(void **state)
{
    AUTO(json_freep) json_t *none = parse("{metadata: {name: n}}");
    AUTO(json_freep)
    json_t *node = parse("{metadata: {annotations: {mete.dev/gpus: "
                         "'[{\"product\":\"A\",\"emulated\":true},{\"product\":\"B\"},"
                         "{\"product\":\"A\"}]'}}, status: {conditions: [{type: Ready, status: "
                         "'True', lastHeartbeatTime: "
                         "'1970-01-01T00:01:40Z'}]}}");
    AUTO_FREE char *text = summary_gpus(node);

    (void)state;
    assert_string_equal(text, "Found 3 GPUs (2 x A, 1 x B), emulated");
    assert_null(summary_gpus(none));
    assert_true(summary_is_ready(node, 100 * NS_PER_SEC + 999));
    assert_false(summary_is_ready(node, 101 * NS_PER_SEC));
    assert_false(summary_is_ready(none, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_how_many_gpus),
        cmocka_unit_test(reads_parts_of_gpus),
        cmocka_unit_test(makes_names_that_are_names),
        cmocka_unit_test(a_command_line_becomes_a_pod),
        cmocka_unit_test(refuses_amounts_that_are_none),
        cmocka_unit_test(reads_addresses_of_each_form),
        cmocka_unit_test(flags_go_before_the_configuration),
        cmocka_unit_test(roots_of_flags_replace_those_of_the_configuration),
        cmocka_unit_test(a_configuration_is_read_strictly),
        cmocka_unit_test(reads_a_kubeconfig),
        cmocka_unit_test(reads_the_credential_plugin_of_a_kubeconfig),
        cmocka_unit_test(a_kubeconfig_that_we_cannot_honour_is_refused_by_name),
        cmocka_unit_test(kubeconfigs_are_merged_as_kubectl_does),
        cmocka_unit_test(a_child_that_dies_is_started_at_once_then_less_often),
        cmocka_unit_test(tells_the_state_of_a_job),
        cmocka_unit_test(a_reason_is_told_in_its_order),
        cmocka_unit_test(an_image_that_cannot_be_pulled_is_told),
        cmocka_unit_test(a_refusal_is_told_in_numbers),
        cmocka_unit_test(counts_gpus_by_product),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
