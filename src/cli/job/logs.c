/* logs.c - mete logs: the log of a job */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/job/log_stream.h"
#include "client/informer.h"

#define PATIENCE_NS (60 * NS_PER_SEC)

struct logs {
    struct cli *cli;
    struct session *session;
    json_t *pod;
    char *path;
    struct informer *informer;
    struct log_stream *stream;
    struct err *result;
    bool is_waiting; /* the user was told that the job has not started */
};

static void on_end(void *arg, const struct err *e)
{
    struct logs *l = arg;

    if (e)
        l->result = err_new(err_code(e), "%s", err_message(e));
    session_stop(l->session);
}

static void logs_begin(struct logs *l)
{
    const struct invocation *in = l->cli->in;
    int64_t since_ns = flag_duration_ns(in, "since", 0);
    const struct log_options o = {
        .cli = l->cli,
        .session = l->session,
        .pod_path = l->path,
        .container = flag_text(in, "container"),
        .tail = flag_count(in, "tail", -1),
        .is_followed = flag_switch(in, "follow"),
        .is_raw = flag_switch(in, "raw"),
        .is_previous = flag_switch(in, "previous"),
        .has_stamps = flag_switch(in, "timestamps"),
        .since_ns = since_ns > 0 ? loop_wall_ns(session_loop(l->session)) - since_ns : 0,
        .patience_ns = PATIENCE_NS,
        .on_end = on_end,
        .arg = l,
    };

    if (!l->stream)
        l->stream = log_stream_new(&o);
}

/* Has the pod a log? A log exists from the first start of any container on. */
static bool has_log(const json_t *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    json_t *status;
    size_t n;

    for (size_t i = 0; i < COUNT(lists); i++) {
        json_array_foreach (json_at(pod, "status", lists[i], NULL), n, status)
            if (json_at(status, "state", "running", NULL) ||
                json_at(status, "state", "terminated", NULL) ||
                json_at(status, "lastState", "terminated", NULL))
                return true;
    }
    return job_of(pod).is_ended;
}

static void logs_on_pod(void *arg, const json_t *pod)
{
    struct logs *l = arg;
    struct job job = job_of(pod);

    if (job.is_ended && l->stream)
        log_stream_hurry(l->stream);
    if (has_log(pod)) {
        logs_begin(l);
        return;
    }
    if (!l->is_waiting)
        cli_say(l->cli, "job %s has not started%s%s", job.id, job.reason[0] ? ": " : "",
                job.reason);
    l->is_waiting = true;
}

static void logs_on_removed(void *arg, const json_t *pod)
{
    struct logs *l = arg;

    if (l->stream) {
        log_stream_hurry(l->stream);
        return;
    }
    l->result = err_new(ERR_NOT_FOUND, "job %s was deleted before it started", job_of(pod).id);
    session_stop(l->session);
}

static struct err *logs_follow(struct logs *l)
{
    struct job job = job_of(l->pod);
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/pods?fieldSelector=metadata.name%%3D%s", job.ns, job.name);
    const struct informer_options o = {.client = session_client(l->session),
                                       .loop = session_loop(l->session),
                                       .path = path,
                                       .put = logs_on_pod,
                                       .removed = logs_on_removed,
                                       .arg = l};

    l->informer = informer_new(&o);
    return session_run(l->session);
}

static struct err *logs_show(struct logs *l)
{
    struct job job = job_of(l->pod);

    if (flag_switch(l->cli->in, "follow"))
        return logs_follow(l);
    if (!has_log(l->pod)) {
        cli_try(l->cli, "mete why %s   or: mete logs -f %s", job.id, job.id);
        return err_new(ERR_BAD_REQUEST, "job %s has no log yet: it is %s", job.id, job.state);
    }
    logs_begin(l);
    return session_run(l->session);
}

static struct err *logs_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    struct logs l = {.cli = c};
    struct err *e;

    TRY(session_open(c, &s));
    l.session = s;
    TRY(job_find(s, c->in->arguments.at[0], &l.pod));
    l.path = job_path(l.pod);
    e = logs_show(&l);
    informer_free(l.informer);
    log_stream_free(l.stream);
    json_decref(l.pod);
    free(l.path);
    if (e) {
        err_free(l.result);
        return e;
    }
    return l.result;
}

static const struct flag logs_flags[] = {
    {.name = "follow",
     .letter = 'f',
     .type = FLAG_SWITCH,
     .doc = "follow the log until the container ends; if it has not started, wait for it"},
    {.name = "tail",
     .type = FLAG_COUNT,
     .value = "LINES",
     .doc = "start with the last LINES lines"},
    {.name = "container",
     .letter = 'c',
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "container of the pod. Required if the pod has several"},
    {.name = "previous",
     .letter = 'p',
     .type = FLAG_SWITCH,
     .doc = "log of the previous attempt, if the container was restarted"},
    {.name = "since",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "only lines of the last 10s, 5m, 2h"},
    {.name = "timestamps", .type = FLAG_SWITCH, .doc = "prefix each line with its time"},
    {.name = "raw",
     .type = FLAG_SWITCH,
     .doc = "print control bytes unchanged, also on a terminal"},
    {0},
};

const struct command command_logs = {
    .name = "logs",
    .arguments = "JOB",
    .summary = "print the log of a job",
    .doc = "JOB is a job's number, its name, or pod/NAME.",
    .examples = {{"logs 12", "prints the whole log so far"},
                 {"logs -f --tail 20 train", "prints the last 20 lines, then follows"},
                 {0}},
    .flags = logs_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_min = 1,
    .n_max = 1,
    .run = logs_run,
};
