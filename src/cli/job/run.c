#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/follow.h"
#include "cli/job/job_spec.h"
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

/* The most gpus (of `model`) that are free, and that there are, on one node. */
struct offer {
    int64_t most_free;
    int64_t most;
    const char *node; /* with the most free; borrowed from the view */
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
            continue; /* sorted by node */
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

/* What the server said to a trial, and what is free at this moment. */
static struct err *tell_trial(struct cli *c, struct session *s, const json_t *pod)
{
    const char *model = json_text_at(pod, "spec", "nodeSelector", "mete.dev/gpu.model", NULL);
    struct job job = job_of(pod);
    AUTO(json_freep) json_t *gpus = NULL;
    struct offer offer;

    cli_say(c, "it would be accepted as %s in namespace %s", job.name, job.ns);
    if (job.gpus == 0)
        return NULL;
    TRY(session_get(s, "/apis/mete.dev/v1/gpus", &gpus));
    offer = offer_of(gpus, model);
    if (job.gpus > offer.most && !flag_switch(c->in, "allow-never")) {
        cli_try(c, "mete gpus   shows what there is");
        return err_new(ERR_INVALID, "NeverFits: no node has more than %" PRId64 " healthy %s GPUs",
                       offer.most, or_word(model, "NVIDIA"));
    }
    if (job.gpus <= offer.most_free)
        cli_say(c, "%" PRId64 " GPUs are free on %s now", offer.most_free,
                or_word(offer.node, "a node"));
    else
        cli_say(c,
                "it would wait: needs %" PRId64
                " GPUs on one node; the most free on one node is %" PRId64,
                job.gpus, offer.most_free);
    return NULL;
}

static struct err *create(struct cli *c, struct session *s, bool is_trial, json_t **ret)
{
    AUTO_FREE char *cwd = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *path =
        path_format("/api/v1/namespaces/%s/pods?fieldManager=mete-run&fieldValidation=Strict%s",
                    session_namespace(s), is_trial ? "&dryRun=All" : "");
    struct call call = {.method = "POST", .path = path};
    struct err *e;

    if (text_equal(flag_text(c->in, "image"), "host"))
        TRY(working_directory(&cwd));
    e = job_spec_make(c->in, session_namespace(s), cwd, &pod);
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
    TRY(create(c, s, is_trial, &pod));
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
     .value = "N|MODEL:N",
     .doc = "how many GPUs, all on one node: 2, a100:2"},
    {.name = "name",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "of the pod (made from the command when not given)"},
    {.name = "env",
     .letter = 'e',
     .type = FLAG_TEXT,
     .value = "NAME=VALUE",
     .is_repeated = true,
     .doc = "environment of the job; NAME alone passes on the value that it has here"},
    {.name = "cpu",
     .type = FLAG_TEXT,
     .value = "AMOUNT",
     .doc = "at most so many processors: 4, 500m"},
    {.name = "memory", .type = FLAG_TEXT, .value = "AMOUNT", .doc = "at most so much memory: 8Gi"},
    {.name = "time",
     .letter = 't',
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "ended after so long: 30m, 1h30m, 2d, or 90 (minutes), 1:30:00, 2-12"},
    {.name = "expect",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "how long it probably runs, where the queue goes by size; nothing ends it then"},
    {.name = "queue",
     .letter = 'q',
     .type = FLAG_TEXT,
     .value = "QUEUE",
     .doc = "where it waits; else as its namespace says"},
    {.name = "priority",
     .type = FLAG_TEXT,
     .value = "CLASS",
     .doc = "a priority class: kubectl get priorityclasses"},
    {.name = "hold", .type = FLAG_SWITCH, .doc = "it does not start before mete release"},
    {.name = "no-requeue",
     .type = FLAG_SWITCH,
     .doc = "if it is ended for a job with a higher priority, it does not come back"},
    {.name = "reservation",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "it runs in this reservation only: mete reserve ls"},
    {.name = "image",
     .type = FLAG_TEXT,
     .value = "IMAGE",
     .fallback = "host",
     .doc = "host: the node's own file system, as your user"},
    {.name = "detach",
     .letter = 'd',
     .type = FLAG_SWITCH,
     .doc = "do not stay with it: prints the job's number and ends"},
    {.name = "dry-run", .type = FLAG_SWITCH, .doc = "say what would happen, submit nothing"},
    {.name = "timeout",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "stay with it at most so long; the job goes on"},
    {.name = "allow-never",
     .type = FLAG_SWITCH,
     .doc = "keep a job that no node could ever hold, for a cluster that grows"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .summary = "run a command in a container with GPUs, now or when there is room",
    .doc = "Starts in the current directory, as your user. Output comes to standard output as it "
           "is written, phases to standard\n"
           "error; the exit code is the job's own. Ctrl-C leaves the job running and says how to "
           "come back; twice cancels it.",
    .examples = {{"run --gpus 1 -- nvidia-smi", "runs with one GPU and shows the output"},
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
