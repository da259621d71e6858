/* slurm_pod.c - pods of Slurm jobs: script, files, environment, resources, nodes */

#include "kinds/slurm/slurm_pod.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_container.h"
#include "kinds/slurm/slurm_env.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_partition.h"
#include "kinds/topology.h"
#include "model/quantity.h"
#include "model/slurm_pattern.h"

struct slurm_indexes slurm_indexes_of(const struct index_set *indexes)
{
    struct slurm_indexes a = {.first = -1, .step = 1};
    int64_t before = -1;

    for (size_t i = 0; i < indexes->n_words * 64; i++) {
        if (!index_set_has(indexes, i))
            continue;
        if (a.first < 0)
            a.first = (int64_t)i;
        else if (a.count == 1)
            a.step = (int64_t)i - before;
        else if ((int64_t)i - before != a.step)
            a.step = 1;
        before = (int64_t)i;
        a.last = before;
        a.count++;
    }
    return a;
}

static const char *job_name(const struct slurm_element *e)
{
    return text_or_empty(json_text_at(e->job, "metadata", "name", NULL));
}

char *slurm_pod_name(const struct slurm_element *e)
{
    AUTO_FREE char *index = e->index >= 0 ? mem_format("-%" PRId64, e->index) : mem_strdup("");
    AUTO_FREE char *again =
        e->restarts > 0 ? mem_format("-r%" PRId64, e->restarts) : mem_strdup("");
    AUTO_FREE char *rank = e->rank > 0 ? mem_format("-n%" PRId64, e->rank) : mem_strdup("");

    return mem_format("%s%s%s%s", job_name(e), index, again, rank);
}

/* ---- files ---- */

static char *expand_path(const struct slurm_element *e, const char *pattern)
{
    const json_t *spec = json_object_get(e->job, "spec");
    const struct slurm_pattern_values values = {
        .job_id = e->raw_id,
        .array_id = e->index >= 0 ? json_int_at(e->job, "status", "jobId", NULL) : 0,
        .array_index = e->index,
        .restarts = e->restarts,
        .host = e->host ? e->host : "%N",
        .user = json_text_at(spec, "user", "name", NULL),
        .name = json_text(spec, "name"),
    };
    AUTO_FREE char *path = slurm_pattern_expand(pattern, &values);
    const char *dir = json_text(spec, "workDir");

    if (*path == '/')
        return TAKE(path);
    return mem_format("%s/%s", dir ? dir : "", path);
}

char *slurm_stdout_path(const struct slurm_element *e)
{
    const char *pattern = json_text_filled(json_object_get(e->job, "spec"), "stdout");

    if (!pattern)
        pattern = e->index >= 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
    return expand_path(e, pattern);
}

char *slurm_stderr_path(const struct slurm_element *e)
{
    const char *pattern = json_text_filled(json_object_get(e->job, "spec"), "stderr");

    return pattern ? expand_path(e, pattern) : slurm_stdout_path(e);
}

char *slurm_stdin_path(const struct slurm_element *e)
{
    const char *pattern = json_text_filled(json_object_get(e->job, "spec"), "stdin");

    return pattern ? expand_path(e, pattern) : mem_strdup("/dev/null");
}

/* The members of HOST_PROCESS_ANNOTATION, without the script. */
static json_t *process_streams(const struct slurm_element *e)
{
    const json_t *spec = json_object_get(e->job, "spec");
    struct slurm_element on_node = *e;
    json_t *process = json_object();
    AUTO_FREE char *in = NULL;
    AUTO_FREE char *out = NULL;
    AUTO_FREE char *err = NULL;
    const char *mode = json_text(spec, "openMode");

    on_node.host = SLURM_HOST_MARK;
    in = slurm_stdin_path(&on_node);
    out = slurm_stdout_path(&on_node);
    err = slurm_stderr_path(&on_node);
    json_put_text(process, "stdin", in);
    json_put_text(process, "stdout", out);
    if (!text_equal(out, err))
        json_put_text(process, "stderr", err);
    if (!mode)
        mode = text_equal(json_text(e->settings, "JobFileAppend"), "1") ? "append" : "truncate";
    json_put_text(process, "openMode", mode);
    if (json_object_get(spec, "umask"))
        json_put_int(process, "umask", json_int(spec, "umask", 0));
    return process;
}

/* ---- metadata ---- */

json_t *slurm_account_facts(const struct slurm_element *e, const struct slurm_ask *ask)
{
    static const char *const copied[] = {"name",    "account",    "partition",  "qos",
                                         "comment", "submitLine", "workDir",    "constraint",
                                         "wckey",   "licenses",   "reservation"};
    const json_t *spec = json_object_get(e->job, "spec");
    json_t *facts = json_object();
    AUTO_FREE char *tres = slurm_ask_tres(ask);

    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_text_filled(spec, copied[i]))
            json_put_text(facts, copied[i], json_text(spec, copied[i]));
    if (!json_text(facts, "partition"))
        json_put_text(facts, "partition", SLURM_PARTITION);
    if (e->index >= 0) {
        json_put_int(facts, "arrayJobId", json_int_at(e->job, "status", "jobId", NULL));
        json_put_int(facts, "arrayTaskId", e->index);
    }
    json_put(facts, "user", json_deep_copy(json_object_get(spec, "user")));
    json_put_text(facts, "tresRequested", tres);
    json_put_int(facts, "cpus", ask->cpus * ask->nodes);
    json_put_int(facts, "nodeCount", ask->nodes);
    if (ask->nodes > 1)
        json_put_int(facts, "rank", e->rank - e->first_rank);
    if (e->whole) {
        json_put_int(facts, "hetJobId", e->raw_id);
        json_put_int(facts, "hetJobOffset", e->component);
    }
    json_put_int(facts, "memoryBytes", ask->memory_bytes);
    json_put_int(facts, "timeLimit", json_int(spec, "timeLimitMinutes", 0));
    json_put_int(facts, "restarts", e->restarts);
    json_put_text(facts, "submitTime", json_text_at(e->job, "metadata", "creationTimestamp", NULL));
    if (e->eligible_ns > 0)
        json_put_int(facts, "eligibleNs", e->eligible_ns);
    return facts;
}

static void add_owner(json_t *metadata, const struct slurm_element *e)
{
    (void)json_array_append_new(
        json_array_at(metadata, "ownerReferences"),
        json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "apiVersion", "mete.dev/v1", "kind", "SlurmJob",
                  "name", job_name(e), "uid",
                  text_or_empty(json_text_at(e->job, "metadata", "uid", NULL)), "controller", 1,
                  "blockOwnerDeletion", 1));
}

static void put_number(json_t *map, const char *key, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    json_put_text(map, key, text);
}

static void put_signal(json_t *annotations, const json_t *signal)
{
    AUTO_FREE char *text = mem_format("%" PRId64 " %" PRId64 "%s", json_int(signal, "number", 0),
                                      json_int(signal, "secondsBefore", 60),
                                      json_bool(signal, "batch", false) ? "" : " steps");

    if (signal)
        json_put_text(annotations, SLURM_SIGNAL_ANNOTATION, text);
}

static void put_gang(json_t *labels, const struct slurm_element *e)
{
    AUTO_FREE char *gang = mem_format("%" PRId64 ".%" PRId64, e->raw_id, e->restarts);

    json_put_text(labels, SLURM_GANG_LABEL, gang);
    put_number(labels, SLURM_RANK_LABEL, e->rank);
}

static void put_component(json_t *metadata, const struct slurm_element *e)
{
    AUTO(slurm_het_done) struct slurm_het het = {0};
    AUTO_FREE char *counts = NULL;

    err_free(slurm_het_read(json_object_get(e->whole, "spec"), &het)); /* read at the creation */
    counts = slurm_het_counts(&het);
    put_number(json_object_at(metadata, "labels"), SLURM_HET_LABEL, e->component);
    json_put_text(json_object_at(metadata, "annotations"), SLURM_HET_ANNOTATION, counts);
}

bool slurm_pod_waits(const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");

    return json_int(spec, "switches", 0) > 0 && json_int(spec, "switchesWait", 0) > 0;
}

/* A pod of a changed request keeps the place of its job in the queue. */
static void put_revision(json_t *annotations, const struct slurm_element *e)
{
    int64_t revision = json_int_at(e->job, "spec", "revision", NULL);
    char since[STAMP_TEXT_SIZE];

    if (revision == 0)
        return;
    put_number(annotations, SLURM_REVISION_ANNOTATION, revision);
    if (e->eligible_ns == 0)
        return;
    stamp_format_micro(e->eligible_ns, since);
    json_put_text(annotations, QUEUE_SINCE, since);
}

/* The nearest switch is preferred within the one that the job waits for. */
static void put_switches(json_t *annotations, const struct slurm_element *e)
{
    AUTO_FREE char *required = mem_format(SLURM_SWITCH_LABEL "%" PRId64, e->switch_level);
    bool waits = slurm_pod_waits(e->job) && e->switch_level > 0;

    if (waits)
        json_put_text(annotations, TOPOLOGY_REQUIRED, required);
    if (!waits || e->switch_level > 1)
        json_put_text(annotations, TOPOLOGY_PREFERRED, SLURM_SWITCH_LABEL "1");
}

/* The facts for accounting: `asked` is the job's request, `ask` its allocation. */
static json_t *account_facts(const struct slurm_element *e, const struct slurm_ask *asked,
                             const struct slurm_ask *ask)
{
    json_t *facts = slurm_account_facts(e, asked);
    AUTO_FREE char *tres = slurm_ask_tres(ask);

    if (ask->cpus == asked->cpus)
        return facts;
    json_put_text(facts, "tresAllocated", tres);
    json_put_int(facts, "cpus", ask->cpus * ask->nodes);
    return facts;
}

static void put_metadata(json_t *pod, const struct slurm_element *e, const struct slurm_ask *asked,
                         const struct slurm_ask *ask)
{
    json_t *metadata = json_object_at(pod, "metadata");
    json_t *labels = json_object_at(metadata, "labels");
    json_t *annotations = json_object_at(metadata, "annotations");
    const char *user = json_text_at(e->job, "metadata", "annotations", POD_USER, NULL);
    const char *reservation = json_text_filled(json_object_get(e->job, "spec"), "reservation");
    AUTO_FREE char *name = slurm_pod_name(e);
    AUTO(json_freep) json_t *account = account_facts(e, asked, ask);
    AUTO_FREE char *facts = json_format(account);
    AUTO_FREE char *environment = slurm_env(e, ask);

    json_put_text(metadata, "name", name);
    json_put_text(labels, SLURM_JOB_LABEL, job_name(e));
    put_number(labels, POD_JOB_ID, e->raw_id + e->component);
    if (e->index >= 0) {
        put_number(labels, SLURM_ARRAY_LABEL, json_int_at(e->job, "status", "jobId", NULL));
        put_number(labels, SLURM_INDEX_LABEL, e->index);
    }
    if (ask->nodes > 1 || e->whole)
        put_gang(labels, e);
    if (e->whole)
        put_component(metadata, e);
    if (ask->nodes > 1 && e->switch_level >= 0)
        put_switches(annotations, e);
    json_put_text(labels, QUEUE_LABEL, e->queue);
    json_put_text(annotations, POD_USER, user ? user : "");
    json_put_text(annotations, SLURM_ACCOUNT_ANNOTATION, facts);
    json_put_text(annotations, SLURM_ENVIRONMENT_ANNOTATION, environment);
    json_put_text(annotations, QUEUE_RESERVATION, reservation);
    json_put_text(annotations, SLURM_LICENSE_ANNOTATION, e->license);
    json_put_text(annotations, SLURM_WINDOW_ANNOTATION, e->window);
    json_put_text(annotations, SLURM_PARTITION_CPUS_ANNOTATION, e->partition_cpus);
    put_revision(annotations, e);
    if (e->rank == 0)
        put_signal(annotations, json_at(e->job, "spec", "signal", NULL));
    if (e->restarts > 0)
        put_number(annotations, SLURM_RESTARTS_ANNOTATION, e->restarts);
    add_owner(metadata, e);
    (void)json_array_append_new(json_array_at(metadata, "finalizers"),
                                json_string(SLURM_TRACKING)); /* fresh: cannot fail */
}

/* ---- spec ---- */

/* Makes the pod's node have no other pod. */
static void put_exclusive(json_t *affinity)
{
    json_put(affinity, "podAntiAffinity",
             json_pack("{s:[{s:{},s:{},s:s}]}", "requiredDuringSchedulingIgnoredDuringExecution",
                       "labelSelector", "namespaceSelector", "topologyKey",
                       "kubernetes.io/hostname"));
}

/* The terms of the job, each with the label of one of the partitions. Takes `terms`. */
static json_t *partition_terms(json_t *terms, const json_t *partitions)
{
    json_t *all;

    if (!partitions)
        return terms;
    all = json_array();
    for (size_t i = 0; i < json_array_size(partitions); i++)
        slurm_partition_add_terms(json_string_value(json_array_get(partitions, i)), terms, all);
    json_decref(terms);
    return all;
}

/* Keeps the pods of the attempt, or of its component, on different nodes. */
static void put_apart(json_t *pod, json_t *affinity)
{
    static const char *const keys[] = {SLURM_GANG_LABEL, SLURM_HET_LABEL};
    const json_t *labels = json_at(pod, "metadata", "labels", NULL);
    json_t *match = json_object();

    for (size_t i = 0; i < COUNT(keys); i++)
        if (json_text(labels, keys[i]))
            json_put_text(match, keys[i], json_text(labels, keys[i]));
    json_put(affinity, "podAntiAffinity",
             json_pack("{s:[{s:{s:o},s:s}]}", "requiredDuringSchedulingIgnoredDuringExecution",
                       "labelSelector", "matchLabels", match, "topologyKey",
                       "kubernetes.io/hostname"));
}

enum {
    PREFER_WEIGHT = 100,
    NODE_WEIGHT_MOST = 50, /* of the lowest weight of nodes */
    NODE_WEIGHTS_MAX = 16  /* nodes of higher weights are equal */
};

static void add_wish(json_t *wishes, int64_t weight, json_t *term)
{
    (void)json_array_append_new(wishes, json_pack("{s:I,s:o}", "weight", (json_int_t)weight,
                                                  "preference", term)); /* cannot fail */
}

/* Nodes with the features that the job prefers, and nodes of low weight, come first. */
static void put_wishes(json_t *affinity, const struct slurm_element *of)
{
    const char *prefer = json_text_at(of->job, "spec", "prefer", NULL);
    json_t *wishes = json_array();
    AUTO(json_freep) json_t *terms = NULL;
    AUTO(err_freep) struct err *e = slurm_constraint_terms(prefer, &terms);
    size_t n = json_array_size(of->weights);
    json_t *term;
    size_t i;

    if (!e) /* else it was refused at the creation */
        json_array_foreach (terms, i, term)
            add_wish(wishes, PREFER_WEIGHT, json_incref(term));
    for (i = 0; n > 1 && i + 1 < n && i < NODE_WEIGHTS_MAX; i++) {
        int64_t weight = json_integer_value(json_array_get(of->weights, i));
        AUTO_FREE char *value = mem_format("%" PRId64, weight);

        add_wish(wishes, NODE_WEIGHT_MOST - (int64_t)i * (NODE_WEIGHT_MOST - 1) / NODE_WEIGHTS_MAX,
                 json_pack("{s:[{s:s,s:s,s:[s]}]}", "matchExpressions", "key", SLURM_WEIGHT_LABEL,
                           "operator", "In", "values", value));
    }
    if (json_array_size(wishes) > 0)
        json_put(json_object_at(affinity, "nodeAffinity"),
                 "preferredDuringSchedulingIgnoredDuringExecution", json_incref(wishes));
    json_decref(wishes);
}

/* A type that Slurm's files name is a label of nodes, others are models. */
static void put_model(json_t *pod_spec, const struct slurm_element *of, const char *model)
{
    AUTO_FREE char *label = mem_format(SLURM_GPU_TYPE_LABEL "%s", model);
    json_t *selector = json_object_at(pod_spec, "nodeSelector");

    if (json_object_get(of->gpu_types, model))
        json_put_text(selector, label, "");
    else
        json_put_text(selector, "mete.dev/gpu.model", model);
}

static void put_nodes(json_t *pod, const struct slurm_element *of, const struct slurm_ask *ask)
{
    const json_t *spec = json_object_get(of->job, "spec");
    json_t *pod_spec = json_object_at(pod, "spec");
    json_t *terms = NULL;
    AUTO(err_freep) struct err *e = slurm_node_terms(spec, of->rank - of->first_rank, &terms);

    if (!e && of->window)
        e = slurm_window_terms(of->window, &terms);
    terms = partition_terms(terms, of->partitions);
    /* A malformed constraint was refused at the creation. */
    if (!e && terms)
        json_put(
            json_object_at(json_object_at(json_object_at(pod_spec, "affinity"), "nodeAffinity"),
                           "requiredDuringSchedulingIgnoredDuringExecution"),
            "nodeSelectorTerms", terms);
    if (ask->is_exclusive)
        put_exclusive(json_object_at(pod_spec, "affinity"));
    else if (ask->nodes > 1)
        put_apart(pod, json_object_at(pod_spec, "affinity"));
    if (*ask->model)
        put_model(pod_spec, of, ask->model);
    if (json_text_at(of->job, "spec", "prefer", NULL) || json_array_size(of->weights) > 1)
        put_wishes(json_object_at(pod_spec, "affinity"), of);
}

static void put_resources(json_t *pod, json_t *container, const struct slurm_ask *ask)
{
    json_t *resources = json_object_at(container, "resources");
    json_t *limits = json_object_at(resources, "limits");
    json_t *requests = json_object_at(resources, "requests");

    json_put_int(limits, "cpu", ask->cpus);
    json_put_int(requests, "cpu", ask->cpus);
    if (ask->memory_bytes > 0) {
        json_put_int(limits, "memory", ask->memory_bytes);
        json_put_int(requests, "memory", ask->memory_bytes);
    }
    if (ask->tmp_bytes > 0)
        json_put_int(requests, "ephemeral-storage", ask->tmp_bytes);
    if (ask->gpus.count > 0)
        pod_ask_for(pod, container, &ask->gpus);
}

/* A process of the machine is the user's. */
static void put_process(json_t *pod, const struct slurm_element *e, json_t *process)
{
    const json_t *spec = json_object_get(e->job, "spec");
    const char *timeout = json_text(e->settings, "PrologEpilogTimeout");
    int64_t timeout_s = 0;
    AUTO_FREE char *text = NULL;

    json_put_text(process, "prolog", json_text_filled(e->settings, "Prolog"));
    json_put_text(process, "epilog", json_text_filled(e->settings, "Epilog"));
    if (timeout)
        err_free(num_parse_int64(str_of(timeout), 0, INT32_MAX, &timeout_s)); /* was checked */
    if (timeout_s > 0)
        json_put_int(process, "programTimeout", timeout_s);
    text = json_format(process);

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  HOST_PROCESS_ANNOTATION, text);
    json_put_int(json_object_at(json_object_at(pod, "spec"), "securityContext"), "runAsUser",
                 json_int_at(spec, "user", "uid", NULL));
}

/* The container of a node that is held. Such a node may lack the job's working directory. */
static void put_hold(json_t *pod, json_t *container, const struct slurm_element *e)
{
    AUTO(json_freep) json_t *process = json_pack("{s:b}", "hold", 1);

    put_process(pod, e, process);
    json_put_text(container, "image", "host");
    json_put_text(container, "workingDir", "/");
}

/* The container of a process of the machine. */
static void put_host(json_t *pod, json_t *container, const struct slurm_element *e, json_t *process)
{
    const json_t *spec = json_object_get(e->job, "spec");

    json_put_bool(process, "jobScript", true);
    put_process(pod, e, process);
    json_put_text(container, "image", "host");
    if (json_array_size(json_object_get(spec, "arguments")) > 0)
        json_put(container, "command", json_deep_copy(json_object_get(spec, "arguments")));
    if (e->trigger)
        (void)json_array_append_new(json_array_at(container, "command"), json_string(e->trigger));
    json_put_text(container, "workingDir", json_text(spec, "workDir"));
}

static json_t *make_container(json_t *pod, const struct slurm_element *e,
                              const struct slurm_ask *ask)
{
    const json_t *spec = json_object_get(e->job, "spec");
    AUTO(json_freep) json_t *process = process_streams(e);
    json_t *container = json_object();

    json_put_text(container, "name", "main");
    if (e->rank > 0 || !json_text(spec, "script")) /* an allocation: only steps run */
        put_hold(pod, container, e);
    else if (slurm_has_container(spec))
        slurm_container_put(pod, container, spec, process);
    else
        put_host(pod, container, e, process);
    put_resources(pod, container, ask);
    return container;
}

static json_t *make_pod(const struct slurm_element *e)
{
    const json_t *spec = json_object_get(e->job, "spec");
    json_t *pod = json_pack("{s:s,s:s}", "apiVersion", "v1", "kind", "Pod");
    json_t *pod_spec;
    int64_t minutes = json_int(spec, "timeLimitMinutes", 0);
    struct slurm_ask asked = {.nodes = 1, .tasks = 1, .cpus = 1};
    struct slurm_ask ask;

    err_free(slurm_ask_read(spec, &asked)); /* was read at the creation */
    ask = asked;
    if (e->whole_cpus > ask.cpus)
        ask.cpus = e->whole_cpus;
    slurm_ask_bill(&asked, e->billing, slurm_is_max_tres(e->settings));
    slurm_ask_bill(&ask, e->billing, slurm_is_max_tres(e->settings));
    put_metadata(pod, e, &asked, &ask);
    pod_spec = json_object_at(pod, "spec");
    (void)json_array_append_new(json_array_at(pod_spec, "containers"),
                                make_container(pod, e, &ask)); /* fresh: cannot fail */
    json_put_text(pod_spec, "restartPolicy", "Never");
    json_put_int(pod_spec, "terminationGracePeriodSeconds", e->kill_wait_s);
    if (minutes > 0)
        json_put_int(pod_spec, "activeDeadlineSeconds", minutes * 60);
    if (e->over_minutes > 0)
        put_number(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                   SLURM_OVER_ANNOTATION, e->over_minutes);
    put_nodes(pod, e, &ask);
    return pod;
}

json_t *slurm_pod_make(const struct slurm_element *e)
{
    const json_t *spec = json_object_get(e->job, "spec");
    AUTO(slurm_het_done) struct slurm_het het = {0};
    AUTO(json_freep) json_t *job = NULL;
    struct slurm_element own = *e;

    if (slurm_het_size(spec) == 1)
        return make_pod(e);
    err_free(slurm_het_read(spec, &het)); /* was read at the creation */
    own.whole = e->job;
    own.component = (int64_t)slurm_het_of_rank(&het, e->rank, &own.first_rank);
    job = json_copy((json_t *)(uintptr_t)e->job);
    json_put(job, "spec", slurm_het_spec(spec, own.component));
    own.job = job;
    return make_pod(&own);
}
