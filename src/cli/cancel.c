#include "base/mem.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/remove.h"
#include "cli/terminal.h"

static struct err *add_jobs(struct cli *c, struct session *s, struct removal *r)
{
    for (size_t i = 0; i < c->in->arguments.n; i++) {
        AUTO(json_freep) json_t *pod = NULL;

        TRY(job_find(s, c->in->arguments.at[i], &pod));
        removal_add_job(r, pod);
    }
    return NULL;
}

/* The caller's jobs of the namespace that have not ended. */
static struct err *add_all(struct session *s, struct removal *r)
{
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/"
        "pods?fieldSelector=status.phase%%21%%3DSucceeded%%2Cstatus.phase%%21%%3DFailed",
        session_namespace(s));
    const struct list_query q = {.path = path};
    struct list_result list = {0};
    json_t *pod;
    size_t i;

    TRY(session_list(s, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, pod)
        removal_add_job(r, pod);
    json_decref(list.first);
    return NULL;
}

static struct err *confirm(struct cli *c, const struct removal *r)
{
    AUTO_FREE char *question = mem_format("cancel %zu jobs?", r->targets.n);

    if (r->targets.n < 2 || flag_switch(c->in, "yes") || terminal_confirm(c, question))
        return NULL;
    cli_try(c, "the same with -y");
    return err_new(ERR_BAD_REQUEST,
                   "nothing was cancelled: %zu jobs would be, which nobody confirmed",
                   r->targets.n);
}

static struct err *cancel_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    struct resource pods = {0};
    struct removal r = {.cli = c,
                        .grace_s = flag_count(c->in, "grace", -1),
                        .waits = flag_switch(c->in, "wait"),
                        .past = "cancelled"};
    bool is_all = flag_switch(c->in, "all");
    struct err *e;

    if (is_all == (c->in->arguments.n > 0))
        return cli_usage(c, "cancel wants JOB..., or --all");
    TRY(session_open(c, &s));
    TRY(resource_find(s, "pods", &pods));
    r.session = s;
    r.resource = &pods;
    e = is_all ? add_all(s, &r) : add_jobs(c, s, &r);
    if (!e)
        e = confirm(c, &r);
    if (!e && r.targets.n == 0)
        cli_say(c, "there is no job to cancel");
    if (!e)
        e = removal_run(&r);
    removal_done(&r);
    resource_done(&pods);
    return e;
}

static const struct flag cancel_flags[] = {
    {.name = "all",
     .type = FLAG_SWITCH,
     .doc = "all jobs of the namespace that have not ended; asks first"},
    {.name = "yes", .letter = 'y', .type = FLAG_SWITCH, .doc = "do not ask"},
    {.name = "grace",
     .type = FLAG_COUNT,
     .value = "SECONDS",
     .doc = "time that it gets to end (its own when not given, 30 s by default)"},
    {.name = "wait", .type = FLAG_SWITCH, .doc = "wait until they are gone"},
    {0},
};

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB...",
    .summary = "end jobs, whether they wait or run",
    .doc = "JOB is a job's number, its name, or pod/NAME. A job that runs gets SIGTERM, and "
           "SIGKILL after its grace period.",
    .examples = {{"cancel 12", "ends job 12"},
                 {"cancel 12 13 train -y", "ends three without asking"},
                 {0}},
    .flags = cancel_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_max = SIZE_MAX,
    .run = cancel_run,
};
