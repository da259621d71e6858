/* cancel.c - mete cancel: deletes pods and Jobs of the named jobs */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/object/remove.h"
#include "cli/term/terminal.h"

/* Single pods, and Jobs, whose pods are deleted with them. */
struct cancelling {
    struct removal pods;
    struct removal jobs;
};

static void cancel_add(struct cancelling *x, const json_t *job)
{
    removal_add_job(batch_is(job) ? &x->jobs : &x->pods, job);
}

static struct err *add_named(struct cli *c, struct session *s, struct cancelling *x)
{
    for (size_t i = 0; i < c->in->arguments.n; i++) {
        AUTO(json_freep) json_t *job = NULL;

        TRY(job_find_whole(s, c->in->arguments.at[i], &job));
        cancel_add(x, job);
    }
    return NULL;
}

static struct err *add_listed(struct session *s, struct cancelling *x, const char *path)
{
    const struct list_query q = {.path = path};
    struct list_result list = {0};
    json_t *job;
    size_t i;

    TRY(session_list(s, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, job)
        if (!job_of(job).is_ended)
            cancel_add(x, job);
    json_decref(list.first);
    return NULL;
}

/* Adds the jobs of the namespace that have not ended; pods of Jobs are deleted with their Job. */
static struct err *cancel_add_all(struct session *s, struct cancelling *x)
{
    AUTO_FREE char *pods =
        path_format("/api/v1/namespaces/%s/"
                    "pods?labelSelector=%%21batch.kubernetes.io%%2Fcontroller-uid&fieldSelector="
                    "status.phase%%21%%3DSucceeded%%2Cstatus.phase%%21%%3DFailed",
                    session_namespace(s));
    AUTO_FREE char *jobs = path_format("/apis/batch/v1/namespaces/%s/jobs", session_namespace(s));

    TRY(add_listed(s, x, jobs));
    return add_listed(s, x, pods);
}

static struct err *cancel_confirm(struct cli *c, size_t n)
{
    AUTO_FREE char *question = mem_format("cancel %zu jobs?", n);

    if (n < 2 || flag_switch(c->in, "yes") || terminal_confirm(c, question))
        return NULL;
    cli_try(c, "the same command with -y");
    return err_new(ERR_BAD_REQUEST, "no job was cancelled: confirm the cancellation of %zu jobs",
                   n);
}

static struct err *cancel_all(struct cli *c, struct cancelling *x)
{
    size_t n = x->jobs.targets.n + x->pods.targets.n;
    struct err *e;

    TRY(cancel_confirm(c, n));
    if (n == 0)
        cli_say(c, "there is no job to cancel");
    e = removal_run(&x->jobs);
    if (!e)
        return removal_run(&x->pods);
    err_free(removal_run(&x->pods)); /* only the first failure is reported */
    return e;
}

static struct err *cancel_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    struct resource pods = {0};
    struct resource jobs = {0};
    struct removal common = {.cli = c,
                             .grace_s = flag_count(c->in, "grace", -1),
                             .waits = flag_switch(c->in, "wait"),
                             .past = "cancelled"};
    struct cancelling x = {.pods = common, .jobs = common};
    bool is_all = flag_switch(c->in, "all");
    struct err *e;

    if (is_all == (c->in->arguments.n > 0))
        return cli_usage(c, "cancel needs JOB... or --all");
    TRY(session_open(c, &s));
    x.pods.session = x.jobs.session = s;
    x.pods.resource = &pods;
    x.jobs.resource = &jobs;
    e = resource_find(s, "pods", &pods);
    if (!e)
        e = resource_find(s, "jobs.batch", &jobs);
    if (!e)
        e = is_all ? cancel_add_all(s, &x) : add_named(c, s, &x);
    if (!e)
        e = cancel_all(c, &x);
    removal_done(&x.pods);
    removal_done(&x.jobs);
    resource_done(&pods);
    resource_done(&jobs);
    return e;
}

static const struct flag cancel_flags[] = {
    {.name = "all",
     .type = FLAG_SWITCH,
     .doc = "cancel all jobs of the namespace that have not ended; asks first"},
    {.name = "yes", .letter = 'y', .type = FLAG_SWITCH, .doc = "do not ask for confirmation"},
    {.name = "grace",
     .type = FLAG_COUNT,
     .value = "SECONDS",
     .doc = "seconds between SIGTERM and SIGKILL. Default: the pod's terminationGracePeriodSeconds "
            "(30)"},
    {.name = "wait", .type = FLAG_SWITCH, .doc = "wait until the jobs have ended"},
    {0},
};

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB...",
    .summary = "cancel waiting jobs and end running jobs",
    .doc = "JOB is a job's number, its name, pod/NAME or job/NAME. A running job gets SIGTERM, and "
           "SIGKILL after its grace period.",
    .examples = {{"cancel 12", "cancels job 12"},
                 {"cancel 12 13 train -y", "cancels three jobs without asking"},
                 {0}},
    .flags = cancel_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_max = SIZE_MAX,
    .run = cancel_run,
};
