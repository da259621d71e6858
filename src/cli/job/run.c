/* run.c - mete run: submits a pod and follows it */

#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/follow.h"
#include "cli/job/job_flags.h"
#include "cli/job/jobs.h"
#include "cli/job/refusal.h"
#include "cli/job/waiting.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "cli/term/terminal.h"

static const char *or_word(const char *text, const char *word)
{
    return text && text[0] ? text : word;
}

/* The largest numbers of free and of healthy gpus (of `model`) on one node. */
struct offer {
    int64_t most_free;
    int64_t most;
    const char *node; /* node with the most free gpus; borrowed from the view */
};

static bool is_offered(const json_t *gpu, const char *model)
{
    return text_equal(json_text_at(gpu, "status", "health", NULL), "healthy") &&
           (!model || text_equal(json_text_at(gpu, "spec", "model", NULL), model));
}

static struct offer offer_of(const json_t *gpus, const char *model)
{
    const json_t *items = json_at(gpus, "items", NULL);
    struct offer offer = {0};
    json_t *gpu;
    json_t *other;
    size_t i;
    size_t j;

    json_array_foreach (items, i, gpu) {
        const char *node = json_text_at(gpu, "spec", "node", NULL);
        int64_t total = 0;
        int64_t n_free = 0;

        if (i > 0 &&
            text_equal(node, json_text_at(json_array_get(items, i - 1), "spec", "node", NULL)))
            continue; /* the view is sorted by node */
        json_array_foreach (items, j, other) {
            if (!is_offered(other, model) ||
                !text_equal(node, json_text_at(other, "spec", "node", NULL)))
                continue;
            total++;
            n_free += !json_at(other, "status", "holder", "pod", NULL);
        }
        offer.most = total > offer.most ? total : offer.most;
        if (n_free > offer.most_free) {
            offer.most_free = n_free;
            offer.node = node;
        }
    }
    return offer;
}

/* Prints the server's answer to the dry run, and the gpus that are free now. */
static struct err *tell_trial(struct cli *c, struct session *s, const json_t *pod)
{
    const char *model = json_text_at(pod, "spec", "nodeSelector", "mete.dev/gpu.model", NULL);
    struct job job = job_of(pod);
    AUTO(json_freep) json_t *gpus = NULL;
    int64_t n = job.asks.n == 1 && job.asks.at[0].kind == DEVICE_WHOLE ? job.asks.at[0].count : 0;
    struct offer offer;

    cli_say(c, "the job would be accepted as %s in namespace %s", job.name, job.ns);
    if (n == 0) /* the server decides about parts of gpus */
        return NULL;
    TRY(session_get(s, "/apis/mete.dev/v1/gpus", &gpus));
    offer = offer_of(gpus, model);
    if (n > offer.most && !flag_switch(c->in, "allow-never")) {
        cli_try(c, "mete gpus   lists the GPUs");
        return err_new(ERR_INVALID, "NeverFits: no node has more than %" PRId64 " healthy %s GPUs",
                       offer.most, or_word(model, "NVIDIA"));
    }
    if (n <= offer.most_free)
        cli_say(c, "%" PRId64 " GPUs are free on %s now", offer.most_free,
                or_word(offer.node, "a node"));
    else
        cli_say(c,
                "it would wait: needs %" PRId64
                " GPUs on one node; the most free on one node is %" PRId64,
                n, offer.most_free);
    return NULL;
}

/* The Pod of the flags and arguments. */
static struct err *run_make(const struct cli *c, const char *ns, json_t **ret)
{
    AUTO(job_spec_done) struct job_spec spec = {.ns = ns};
    AUTO_FREE char *cwd = NULL;
    uint8_t dice[JOB_NAME_RANDOM];

    if (text_equal(flag_text(c->in, "image"), "host"))
        TRY(working_directory(&cwd));
    spec.cwd = cwd;
    TRY(job_flags_read(c->in, &spec));
    random_bytes(dice, sizeof(dice));
    return job_spec_make(&spec, dice, ret);
}

static struct err *run_create(struct cli *c, struct session *s, bool is_trial, json_t **ret)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *path =
        path_format("/api/v1/namespaces/%s/pods?fieldManager=mete-run&fieldValidation=Strict%s",
                    session_namespace(s), is_trial ? "&dryRun=All" : "");
    struct call call = {.method = "POST", .path = path};
    struct err *e;

    e = run_make(c, session_namespace(s), &pod);
    if (e) {
        cli_try(c, "mete run --help");
        return e;
    }
    call.body = pod;
    e = session_call(s, &call, ret);
    if (e && err_code(e) == ERR_EXISTS)
        cli_try(c, "another --name, or mete cancel %s", or_word(flag_text(c->in, "name"), "NAME"));
    return refusal_explain(c, e, session_namespace(s));
}

static struct err *run_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    bool is_trial = flag_switch(c->in, "dry-run");
    struct follow_options o = {
        .cli = c,
        .is_detached = flag_switch(c->in, "detach"),
        .allows_never = flag_switch(c->in, "allow-never"),
        .timeout_ns = flag_duration_ns(c->in, "timeout", 0),
    };
    AUTO_FREE char *id = NULL;

    TRY(session_open(c, &s));
    if (flag_text(c->in, "queue"))
        TRY(queue_must_exist(c, s, flag_text(c->in, "queue")));
    TRY(run_create(c, s, is_trial, &pod));
    if (is_trial)
        return tell_trial(c, s, pod);
    o.session = s;
    o.pod = pod;
    TRY(follow_job(&o));
    if (!o.is_detached)
        return NULL;
    id = mem_format("%s\n", job_of(pod).id);
    return output_write(c, str_of(id));
}

static const struct flag run_flags[] = {
    {.name = "gpus",
     .letter = 'g',
     .type = FLAG_TEXT,
     .value = "N|PART|MODEL:N",
     .doc = "GPUs, all on one node: 2, a100:2. Parts of a GPU: 0.5 (compute and memory), 20Gi, "
            "0.3,20Gi, mig-1g.10gb, 2xmig-1g.10gb, shared. Of other vendors: amd, 2xamd, i915, xe"},
    {.name = "name",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "name of the pod. Default: made from the command"},
    {.name = "env",
     .letter = 'e',
     .type = FLAG_TEXT,
     .value = "NAME=VALUE",
     .is_repeated = true,
     .doc = "environment variable of the job; NAME alone passes on its value from this shell. "
            "Repeatable"},
    {.name = "cpu", .type = FLAG_TEXT, .value = "AMOUNT", .doc = "CPU limit: 4, 500m"},
    {.name = "memory", .type = FLAG_TEXT, .value = "AMOUNT", .doc = "memory limit: 8Gi"},
    {.name = "time",
     .letter = 't',
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "time limit; Mete ends the job after it: 30m, 1h30m, 2d, or as sbatch: 90 (minutes), "
            "1:30:00, 2-12"},
    {.name = "expect",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "expected run time, for queues that order by size. No limit: the job may run longer"},
    {.name = "queue",
     .letter = 'q',
     .type = FLAG_TEXT,
     .value = "QUEUE",
     .doc = "queue of the job. Default: the queue of its namespace"},
    {.name = "priority",
     .type = FLAG_TEXT,
     .value = "CLASS",
     .doc = "PriorityClass of the job; kubectl get priorityclasses lists them"},
    {.name = "hold",
     .type = FLAG_SWITCH,
     .doc = "submit the job on hold; mete release lets it start"},
    {.name = "no-requeue",
     .type = FLAG_SWITCH,
     .doc = "do not requeue the job after it was preempted"},
    {.name = "reservation",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "run only in this reservation; mete reserve ls lists them"},
    {.name = "image",
     .type = FLAG_TEXT,
     .value = "IMAGE",
     .fallback = "host",
     .doc = "container image; host: the node's own file system, as your user. Default: host"},
    {.name = "detach",
     .letter = 'd',
     .type = FLAG_SWITCH,
     .doc = "print the job's number and exit at once"},
    {.name = "dry-run",
     .type = FLAG_SWITCH,
     .doc = "print what would happen, without submitting the job"},
    {.name = "timeout",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "wait at most this long; the job continues"},
    {.name = "allow-never",
     .type = FLAG_SWITCH,
     .doc = "accept a job that no node could ever hold, for a cluster that will grow"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .summary = "run a command in a container with GPUs, now or when there is room",
    .doc = "The job starts in the current directory, as your user. Its output goes to standard "
           "output, state changes to standard\nerror; the exit code is the job's own. Ctrl-C "
           "detaches: the job continues, and a hint tells how to follow it again.\nA second Ctrl-C "
           "cancels the job.",
    .examples = {{"run --gpus 1 -- nvidia-smi", "runs with one GPU and prints the output"},
                 {"run -d --gpus a100:4 --time 2h --name train -- python train.py",
                  "queues a job on four A100 for at most two hours"},
                 {0}},
    .flags = run_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .passes_on = true,
    .failure_code = EXIT_RUN_FAILED,
    .run = run_run,
};
