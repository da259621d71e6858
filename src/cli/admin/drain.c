/*
 * drain.c - mete drain and resume: takes a node or a gpu out of use, and puts it back into use
 *
 * As in Slurm, a drained node gets no new jobs, and running jobs continue. --evict evicts the pods
 * through the eviction API, which respects disruption budgets.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/admin/drain_gpu.h"
#include "cli/admin/gpu_annotation.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/session.h"

#define REASON "mete.dev/drain-reason"

static const int64_t look_again_ns = 500 * NS_PER_MS;

/* ---- the node ---- */

static struct err *set_drained(struct session *s, const char *name, const char *reason)
{
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", name);
    AUTO(json_freep) json_t *patch = json_object();
    json_t *annotations = json_object_at(json_object_at(patch, "metadata"), "annotations");
    json_t *spec = json_object_at(patch, "spec");
    const struct call call = {.method = "PATCH",
                              .path = path,
                              .content_type = "application/merge-patch+json",
                              .body = patch};

    json_put(annotations, REASON, reason ? json_string(reason) : json_null());
    json_put(spec, "unschedulable", reason ? json_true() : json_null());
    return session_call(s, &call, NULL);
}

/* ---- its pods ---- */

struct draining {
    struct cli *cli;
    struct session *session;
    const char *node;
    const char *what;            /* "node n1" */
    const struct drain_gpu *gpu; /* NULL: the whole node */
    size_t n_refused;            /* evictions that disruption budgets refused in this round */
    bool has_told;               /* refused evictions were reported */
};

/* The pods to be ended. A new array. */
static struct err *list_pods(const struct draining *d, json_t **ret)
{
    AUTO_FREE char *path = path_format("/api/v1/pods?fieldSelector=spec.nodeName%%3D%s"
                                       "%%2Cstatus.phase%%21%%3DSucceeded"
                                       "%%2Cstatus.phase%%21%%3DFailed",
                                       d->node);
    const struct list_query q = {.path = path};
    struct list_result list = {0};
    json_t *pods = json_array();
    json_t *pod;
    size_t i;

    TRY(session_list(d->session, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, pod) {
        if (!d->gpu || drain_gpu_holds(d->gpu, pod))
            (void)json_array_append(pods, pod);
    }
    json_decref(list.first);
    *ret = pods;
    return NULL;
}

static void on_time(void *arg)
{
    session_stop(arg);
}

static struct err *wait_a_little(struct session *s)
{
    struct loop_timer *timer = loop_timer_new(session_loop(s), on_time, s);
    struct err *e = NULL;

    loop_timer_set(timer, look_again_ns);
    e = session_run(s);
    loop_timer_free(timer);
    return e;
}

/* A pod that its disruption budget protects is tried again in the next round. */
static struct err *drain_evict(struct draining *d, const json_t *pod)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    const char *name = json_text_at(pod, "metadata", "name", NULL);
    int64_t grace = flag_count(d->cli->in, "grace", -1);
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s/pods/%s/eviction", ns, name);
    AUTO(json_freep) json_t *body = json_object();
    const struct call call = {.method = "POST", .path = path, .body = body};
    struct err *e = NULL;

    json_put_text(body, "apiVersion", "policy/v1");
    json_put_text(body, "kind", "Eviction");
    json_put_text(json_object_at(body, "metadata"), "name", name);
    if (grace >= 0)
        json_put_int(json_object_at(body, "deleteOptions"), "gracePeriodSeconds", grace);
    e = session_call(d->session, &call, NULL);
    if (!e) {
        cli_say(d->cli, "%s/%s was asked to end", ns, name);
        return NULL;
    }
    if (err_code(e) != ERR_BUSY && err_code(e) != ERR_NOT_FOUND)
        return e;
    d->n_refused += err_code(e) == ERR_BUSY;
    if (err_code(e) == ERR_BUSY && !d->has_told)
        cli_say(d->cli, "%s/%s cannot be evicted now: %s", ns, name, err_message(e));
    d->has_told |= err_code(e) == ERR_BUSY;
    err_free(e);
    return NULL;
}

static struct err *evict_all(struct draining *d, const json_t *pods)
{
    d->n_refused = 0;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);

        if (!json_text_at(pod, "metadata", "deletionTimestamp", NULL))
            TRY(drain_evict(d, pod));
    }
    return NULL;
}

/* Evicts pods until the node or gpu is empty, or the time is over. */
static struct err *drain_empty(struct draining *d)
{
    const struct invocation *in = d->cli->in;
    int64_t timeout_ns = flag_duration_ns(in, "timeout", 0);
    int64_t until_ns = loop_now_ns(session_loop(d->session)) + timeout_ns;

    for (;;) {
        AUTO(json_freep) json_t *pods = NULL;
        size_t n = 0;

        TRY(list_pods(d, &pods));
        n = json_array_size(pods);
        if (n == 0) {
            cli_say(d->cli, "%s is empty", d->what);
            return NULL;
        }
        if (flag_switch(in, "evict"))
            TRY(evict_all(d, pods));
        if (timeout_ns > 0 && loop_now_ns(session_loop(d->session)) >= until_ns)
            return err_new(ERR_TIMEOUT,
                           "%s still runs %zu pods; disruption budgets protect %zu of them",
                           d->what, n, d->n_refused);
        TRY(wait_a_little(d->session));
    }
}

/* Ends the pods, if that is asked for. */
static struct err *drain_pods(struct draining *d)
{
    AUTO(json_freep) json_t *pods = NULL;
    size_t n = 0;

    TRY(list_pods(d, &pods));
    n = json_array_size(pods);
    cli_say(d->cli, "%s is drained: no new jobs start on it; %zu %s on it", d->what, n,
            n == 1 ? "pod is" : "pods are");
    if (!flag_switch(d->cli->in, "evict") && !flag_switch(d->cli->in, "wait"))
        return NULL;
    return drain_empty(d);
}

static struct err *drain_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(drain_gpu_done) struct drain_gpu gpu = {0};
    const char *reason = flag_text(c->in, "reason");
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *what = NULL;
    struct draining d = {.cli = c};

    if (!reason || !*reason)
        return cli_usage(c, "drain needs --reason, which users see");
    gpu_target_split(c->in->arguments.at[0], &node, &gpu.which);
    gpu.node = node;
    what = mem_format("node %s", node);
    TRY(session_open(c, &s));
    if (gpu.which)
        TRY(drain_gpu_set(s, &gpu, reason));
    else
        TRY(set_drained(s, node, reason));
    d.session = s;
    d.node = node;
    d.gpu = gpu.which ? &gpu : NULL;
    d.what = gpu.which ? gpu.name : what;
    return drain_pods(&d);
}

static const struct flag drain_flags[] = {
    {.name = "reason",
     .value = "TEXT",
     .type = FLAG_TEXT,
     .doc = "reason, shown to all users. Required"},
    {.name = "evict",
     .type = FLAG_SWITCH,
     .doc = "evict the pods, as their disruption budgets allow, and wait until the node or GPU is "
            "empty"},
    {.name = "wait", .type = FLAG_SWITCH, .doc = "wait until the pods have ended by themselves"},
    {.name = "grace",
     .value = "SECONDS",
     .type = FLAG_COUNT,
     .doc = "seconds between SIGTERM and SIGKILL of evicted pods. Default: each pod's own"},
    {.name = "timeout", .value = "TIME", .type = FLAG_DURATION, .doc = "wait at most this long"},
    {0},
};

const struct command command_drain = {
    .name = "drain",
    .arguments = "NODE|NODE/GPU",
    .summary = "take a node or a GPU out of use: no new jobs start on it",
    .doc = "Running jobs continue, unless --evict asks them to end. mete why shows the reason to "
           "jobs\nthat wait for the node, mete gpus -o wide the reason of a GPU; mete resume puts "
           "both back into use.\nA GPU is named by its index or its UUID.",
    .examples = {{"drain gpu-01 --reason fans", "lets the running jobs finish"},
                 {"drain gpu-01/gpu3 --reason ticket-812",
                  "takes one GPU out of use; the node's others go on"},
                 {"drain gpu-01 --reason reboot --evict --timeout 10m", "empties the node"},
                 {0}},
    .flags = drain_flags,
    .groups = FLAGS_SERVER,
    .takes = TAKES_NODES,
    .n_min = 1,
    .n_max = 1,
    .run = drain_run,
};

static struct err *resume_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(drain_gpu_done) struct drain_gpu gpu = {0};
    AUTO_FREE char *node = NULL;

    gpu_target_split(c->in->arguments.at[0], &node, &gpu.which);
    gpu.node = node;
    TRY(session_open(c, &s));
    if (!gpu.which) {
        TRY(set_drained(s, node, NULL));
        cli_say(c, "node %s is in use again", node);
        return NULL;
    }
    TRY(drain_gpu_set(s, &gpu, NULL));
    if (gpu.is_ill)
        cli_say(c, "%s is checked now; if it passes, jobs start on it again", gpu.name);
    else
        cli_say(c, "%s is in use again", gpu.name);
    return NULL;
}

const struct command command_resume = {
    .name = "resume",
    .arguments = "NODE|NODE/GPU",
    .summary = "put a drained node or GPU back into use",
    .doc = "Of a GPU that is out of service by itself, resume says that its reset, reboot or "
           "inspection is done:\nit is checked, and jobs start on it again if it passes.",
    .examples = {{"resume gpu-01", "lets jobs start on the node again"},
                 {"resume gpu-01/gpu3", "lets jobs start on the GPU again"},
                 {"resume gpu-01 --data /srv/mete", "uses the server of another data directory"},
                 {0}},
    .groups = FLAGS_SERVER,
    .takes = TAKES_NODES,
    .n_min = 1,
    .n_max = 1,
    .run = resume_run,
};
