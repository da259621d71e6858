/* follow.c - following a job until it ends */

#include "cli/job/follow.h"

#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/jobs.h"
#include "cli/job/log_stream.h"
#include "cli/term/progress.h"
#include "client/informer.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"

#define SECOND_SIGNAL_NS (2 * NS_PER_SEC)
#define VERDICT_NS       (5 * NS_PER_SEC)
#define LOG_PATIENCE_NS  (60 * NS_PER_SEC)

enum {
    EXIT_INTERRUPTED = 130,
    EXIT_TERMINATED = 143
};

struct follow {
    struct follow_options options;
    struct informer *informer;
    struct progress *progress;
    struct log_stream *log;
    struct loop_timer *deadline;
    struct loop_timer *second_signal;
    struct client_call *verdict; /* request for the workload */
    json_t *pod;                 /* as last seen */
    char *path;
    char *name;    /* "job 12" */
    char *message; /* the pod's message when the workload was last requested */
    bool is_log_over;
    bool is_left;  /* detached by a signal: only a second signal is awaited */
    bool is_unfit; /* the job never fits and is being cancelled: the answer ends the command */
    bool is_over;
    struct err *result;
};

/* Ends following; takes `e`. The first call counts. */
static void follow_finish(struct follow *f, struct err *e)
{
    if (f->is_over) {
        err_free(e);
        return;
    }
    f->is_over = true;
    f->result = e;
    session_stop(f->options.session);
}

static void say_end(struct follow *f, const struct job *job)
{
    char elapsed[STAMP_TEXT_SIZE];

    elapsed_format(
        job->started_ns && job->ended_ns > job->started_ns ? job->ended_ns - job->started_ns : 0,
        elapsed);
    progress_quiet(f->progress);
    cli_say(f->options.cli, "%s  %s in %s (exit %" PRId64 ")%s%s", f->name, job->state, elapsed,
            job->exit_code, job->reason[0] ? ": " : "", job->reason);
}

/* A job whose container never ran has no exit code. */
static void finish_ended(struct follow *f)
{
    struct job job = job_of(f->pod);

    if (job.exit_code < 0 && text_equal(job.state, "failed")) {
        progress_quiet(f->progress);
        follow_finish(f, err_new(ERR_INTERNAL, "%s failed before it ran: %s", f->name,
                                 job.reason[0] ? job.reason : "no reason given"));
        return;
    }
    say_end(f, &job);
    f->options.cli->exit_code = (int)(job.exit_code & 0xFF);
    follow_finish(f, NULL);
}

/* Will the pod be made again, after a preemption or mete requeue? */
static bool comes_back(const json_t *pod)
{
    const char *reason = json_text(object_condition(pod, "DisruptionTarget"), "reason");

    return pod_is_deleting(pod) && pod_is_requeued(pod) &&
           (text_equal(reason, POD_PREEMPTED) || text_equal(reason, POD_REQUEUED) ||
            text_equal(reason, POD_GPU_LOST));
}

static void look_for_end(struct follow *f)
{
    if (job_of(f->pod).is_ended && (f->is_log_over || !f->log) && !comes_back(f->pod))
        finish_ended(f);
}

static void on_first_log(void *arg)
{
    struct follow *f = arg;

    progress_quiet(f->progress);
}

static void on_log_end(void *arg, const struct err *e)
{
    struct follow *f = arg;

    f->is_log_over = true;
    if (e) {
        progress_quiet(f->progress);
        cli_say(f->options.cli, "the log of %s is incomplete: %s", f->name, err_message(e));
    }
    look_for_end(f);
}

static bool has_started(const json_t *pod)
{
    const json_t *status = json_array_get(json_at(pod, "status", "containerStatuses", NULL), 0);

    return json_at(status, "state", "running", NULL) ||
           json_at(status, "state", "terminated", "startedAt", NULL);
}

static void begin_log(struct follow *f)
{
    struct log_options o = {
        .cli = f->options.cli,
        .session = f->options.session,
        .pod_path = f->path,
        .tail = -1,
        .is_followed = true,
        .patience_ns = LOG_PATIENCE_NS,
        .on_first = on_first_log,
        .on_end = on_log_end,
        .arg = f,
    };

    f->log = log_stream_new(&o);
}

static void say_how_to_come_back(struct follow *f)
{
    struct job job = job_of(f->pod);

    cli_say(f->options.cli, "%s continues.  Output: mete logs -f %s   state: mete show %s", f->name,
            job.id, job.id);
}

static void on_deleted_never(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct follow *f = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    if (failed)
        cli_say(f->options.cli, "warning: %s could not be cancelled: %s", f->name,
                err_message(failed));
    cli_try(f->options.cli,
            "mete gpus   lists the GPUs; --allow-never keeps the job for a cluster that will grow");
    follow_finish(f, err_new(ERR_INVALID, "%s can never run: NeverFits: %s", f->name, f->message));
}

static void delete_job(struct follow *f, client_done_fn done)
{
    const struct client_request r = {.method = "DELETE", .path = f->path};

    client_send(session_client(f->options.session), &r, done, f, NULL);
}

static void detach_now(struct follow *f)
{
    progress_quiet(f->progress);
    follow_finish(f, NULL);
}

static void on_verdict(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct follow *f = arg;
    AUTO(json_freep) json_t *workload = NULL;
    AUTO(err_freep) struct err *failed = client_error(e, reply);
    const char *code;

    f->verdict = NULL;
    if (!failed)
        failed = json_parse(reply->body, &workload);
    code = failed ? NULL : json_text_at(workload, "status", "reason", "code", NULL);
    if (text_equal(code, "NeverFits") && !f->options.allows_never) {
        progress_quiet(f->progress);
        f->is_unfit = true;
        delete_job(f, on_deleted_never);
        return;
    }
    if (f->options.is_detached && !failed && code && !text_equal(code, "NotYetEvaluated"))
        detach_now(f);
}

static void ask_verdict(struct follow *f, const char *message)
{
    struct job job = job_of(f->pod);
    AUTO_FREE char *path =
        path_format("/apis/mete.dev/v1/namespaces/%s/workloads/%s", job.ns, job.name);
    const struct client_request r = {.method = "GET", .path = path};

    if (f->verdict || !message[0] || text_equal(f->message, message))
        return;
    free(f->message);
    f->message = mem_strdup(message);
    client_send(session_client(f->options.session), &r, on_verdict, f, &f->verdict);
}

static char *detail_of(const struct job *job)
{
    if (text_equal(job->state, "starting") || text_equal(job->state, "running"))
        return mem_format("on %s%s%s", job->node, job->reason[0] ? ": " : "", job->reason);
    return mem_strdup(job->reason);
}

/* The job has a new pod: its log starts anew. */
static void begin_again(struct follow *f)
{
    log_stream_free(TAKE(f->log));
    f->is_log_over = false;
    free(f->message);
    f->message = NULL;
}

static void say_that_it_comes_back(struct follow *f)
{
    progress_quiet(f->progress);
    cli_say(f->options.cli, "%s  %s: the job is requeued when it has ended", f->name,
            json_text(object_condition(f->pod, "DisruptionTarget"), "message"));
}

/* Takes a new state of the pod. False: another pod, which is not followed. */
static bool take_pod(struct follow *f, const json_t *pod)
{
    bool is_same = text_equal(json_text_at(pod, "metadata", "uid", NULL),
                              json_text_at(f->pod, "metadata", "uid", NULL));
    bool came_back = comes_back(f->pod);

    if (!is_same && !came_back)
        return false;
    if (!is_same)
        begin_again(f);
    json_decref(f->pod);
    f->pod = json_deep_copy(pod);
    if (!came_back && comes_back(f->pod))
        say_that_it_comes_back(f);
    return true;
}

static void follow_on_pod(void *arg, const json_t *pod)
{
    struct follow *f = arg;
    AUTO_FREE char *detail = NULL;
    struct job job;

    if (f->is_over || f->is_left || !take_pod(f, pod) || comes_back(f->pod))
        return;
    job = job_of(f->pod);
    detail = detail_of(&job);
    if (!job.is_ended)
        progress_phase(f->progress, job.state, detail);
    if (text_equal(job.state, "waiting"))
        ask_verdict(f, job.reason);
    else if (f->options.is_detached)
        detach_now(f);
    if (!f->log && !f->options.is_detached && has_started(f->pod))
        begin_log(f);
    if (job.is_ended && f->log)
        log_stream_hurry(f->log);
    look_for_end(f);
}

static void follow_on_removed(void *arg, const json_t *pod)
{
    struct follow *f = arg;

    if (f->is_over || f->is_unfit ||
        !text_equal(json_text_at(pod, "metadata", "uid", NULL),
                    json_text_at(f->pod, "metadata", "uid", NULL)) ||
        comes_back(f->pod))
        return;
    if (job_of(f->pod).is_ended) {
        finish_ended(f);
        return;
    }
    progress_quiet(f->progress);
    cli_try(f->options.cli, "mete events   shows what happened");
    follow_finish(f, err_new(ERR_NOT_FOUND, "%s was cancelled", f->name));
}

static void follow_on_deadline(void *arg)
{
    struct follow *f = arg;

    progress_quiet(f->progress);
    if (f->options.is_detached) {
        follow_finish(f, NULL); /* no verdict in time; the job is accepted nevertheless */
        return;
    }
    say_how_to_come_back(f);
    cli_try(f->options.cli, "mete logs -f %s", job_of(f->pod).id);
    follow_finish(f, err_new(ERR_TIMEOUT, "%s did not end in time and continues", f->name));
}

static void on_cancelled(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct follow *f = arg;
    struct err *failed = client_error(e, reply);

    if (!failed)
        cli_say(f->options.cli, "%s is cancelled", f->name);
    follow_finish(f, failed);
}

static void leave(struct follow *f, int code)
{
    f->is_left = true;
    f->options.cli->exit_code = code;
    progress_quiet(f->progress);
    log_stream_free(TAKE(f->log));
    say_how_to_come_back(f);
}

static void on_interrupt(void *arg)
{
    struct follow *f = arg;

    if (f->is_over)
        return;
    if (f->is_left) {
        loop_timer_stop(f->second_signal);
        delete_job(f, on_cancelled);
        return;
    }
    (void)fputc('\n', f->options.cli->err);
    leave(f, EXIT_INTERRUPTED);
    cli_say(f->options.cli, "Ctrl-C again cancels it.");
    loop_timer_set(f->second_signal, SECOND_SIGNAL_NS);
}

static void on_terminate(void *arg)
{
    struct follow *f = arg;

    if (!f->is_over && !f->is_left)
        leave(f, EXIT_TERMINATED);
    follow_finish(f, NULL);
}

static void on_no_second_signal(void *arg)
{
    follow_finish(arg, NULL);
}

static void watch_pod(struct follow *f)
{
    struct job job = job_of(f->pod);
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/pods?fieldSelector=metadata.name%%3D%s", job.ns, job.name);
    const struct informer_options o = {
        .client = session_client(f->options.session),
        .loop = session_loop(f->options.session),
        .path = path,
        .put = follow_on_pod,
        .removed = follow_on_removed,
        .arg = f,
    };

    f->informer = informer_new(&o);
}

static void follow_done(struct follow *f)
{
    informer_free(f->informer);
    client_cancel(f->verdict);
    log_stream_free(f->log);
    progress_free(f->progress);
    loop_timer_free(f->deadline);
    loop_timer_free(f->second_signal);
    json_decref(f->pod);
    free(f->path);
    free(f->name);
    free(f->message);
}

struct err *follow_job(const struct follow_options *o)
{
    struct follow f = {.options = *o, .pod = json_deep_copy(o->pod)};
    struct loop *l = session_loop(o->session);
    int64_t deadline_ns = o->is_detached ? VERDICT_NS : o->timeout_ns;
    struct err *e;

    f.path = job_path(f.pod);
    f.name = mem_format("job %s", job_of(f.pod).id);
    f.progress = progress_new(o->cli, l, f.name);
    f.deadline = loop_timer_new(l, follow_on_deadline, &f);
    f.second_signal = loop_timer_new(l, on_no_second_signal, &f);
    if (deadline_ns > 0)
        loop_timer_set(f.deadline, deadline_ns);
    session_on_signal(o->session, SIGINT, on_interrupt, &f);
    session_on_signal(o->session, SIGTERM, on_terminate, &f);
    watch_pod(&f);
    e = session_run(o->session);
    if (!e)
        e = f.result;
    follow_done(&f);
    return e;
}
