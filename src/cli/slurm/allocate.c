/* allocate.c - jobs without a script, for salloc and srun */

#include "cli/slurm/allocate.h"

#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/hostlist.h"
#include "slurm/query.h"

enum {
    PAUSE_FIRST_MS = 5,
    PAUSE_LONGEST_MS = 1000,
    SAY_AFTER_MS = 1000 /* a job that starts sooner is not said to wait */
};

static void allocation_on_time(void *arg)
{
    session_stop(arg);
}

struct err *allocation_pause(struct slurm_command *s, int64_t ms)
{
    struct loop_timer *timer =
        loop_timer_new(session_loop(s->session), allocation_on_time, s->session);
    struct err *e;

    loop_timer_set(timer, ms * NS_PER_MS);
    e = session_run(s->session);
    loop_timer_free(timer);
    return e;
}

void allocation_done(struct allocation *a)
{
    free(a->ns);
    free(a->name);
    json_decref(a->report);
    *a = (struct allocation){0};
}

/* ---- the job ---- */

static void put_caller(struct slurm_submit *submit, const struct caller *caller,
                       const struct slurm_command *s, const char *fallback_name)
{
    json_t *spec = submit->spec;
    struct buf line = {0};
    json_t *environment;

    if (!json_text_filled(spec, "name"))
        json_put_text(spec, "name", fallback_name);
    if (!json_text(spec, "workDir"))
        json_put_text(spec, "workDir", caller->cwd);
    json_put_text(spec, "submitHost", caller->host);
    json_put_int(spec, "umask", caller->umask);
    json_put_text(spec, "command", fallback_name);
    buf_add_text(&line, s->name);
    for (size_t i = 0; i < s->cli->in->arguments.n; i++)
        buf_printf(&line, " %s", s->cli->in->arguments.at[i]);
    if (line.size < UINT16_MAX)
        json_put_text(spec, "submitLine", line.at);
    buf_done(&line);
    /* Steps bring their variables with them. */
    json_put(spec, "environment", json_array());
    environment = json_array_at(spec, "environment");
    (void)json_array_append_new(environment, json_sprintf("SLURM_SUBMIT_DIR=%s", caller->cwd));
    (void)json_array_append_new(environment, json_sprintf("SLURM_SUBMIT_HOST=%s", caller->host));
}

/* The request of the job: streams are those of steps. */
static json_t *allocation_object(const struct slurm_submit *submit)
{
    static const char *const of_steps[] = {"stdin", "stdout", "stderr", "openMode"};
    json_t *object = json_pack("{s:s,s:s}", "apiVersion", "mete.dev/v1", "kind", "SlurmJob");
    json_t *spec = json_copy(submit->spec);

    for (size_t i = 0; i < COUNT(of_steps); i++)
        (void)json_object_del(spec, of_steps[i]); /* fails where the member is absent */
    json_put_text(json_object_at(object, "metadata"), "generateName", "slurm-");
    json_put(object, "spec", spec);
    return object;
}

struct err *allocation_create(struct allocation *a, struct slurm_submit *submit,
                              const struct caller *caller, const char *fallback_name)
{
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *job = NULL;
    struct call call = {.method = "POST"};

    put_caller(submit, caller, a->s, fallback_name);
    object = allocation_object(submit);
    TRY(slurm_command_open(a->s));
    path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs?fieldManager=%s&"
                       "fieldValidation=Strict%s",
                       session_namespace(a->s->session), a->s->name,
                       submit->is_test ? "&dryRun=All" : "");
    call.path = path;
    call.body = object;
    TRY(slurm_call(a->s, &call, &job));
    a->job_id = json_int_at(job, "status", "jobId", NULL);
    a->ns = mem_strdup(text_or_empty(json_text_at(job, "metadata", "namespace", NULL)));
    a->name = mem_strdup(text_or_empty(json_text_at(job, "metadata", "name", NULL)));
    a->is_ours = !submit->is_test;
    return NULL;
}

static struct err *allocation_read(struct allocation *a, const char *id)
{
    struct slurm_query query = {0};
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *report = NULL;

    slurm_query_begin(&query, "allocation");
    slurm_query_add(&query, "ids", id);
    path = slurm_query_end(&query);
    TRY(slurm_rows(a->s, path, "allocation", &report));
    json_decref(a->report);
    a->report = TAKE(report);
    return NULL;
}

struct err *allocation_find(struct allocation *a, const char *id)
{
    const char *object;
    const char *slash;

    TRY(allocation_read(a, id));
    object = json_text(a->report, "object");
    slash = object ? strchr(object, '/') : NULL;
    if (!slash)
        return err_new(ERR_NOT_FOUND, "Invalid job id specified");
    a->job_id = json_int(a->report, "jobId", 0);
    free(a->ns);
    free(a->name);
    a->ns = mem_strndup(object, (size_t)(slash - object));
    a->name = mem_strdup(slash + 1);
    return NULL;
}

/* ---- the wait ---- */

/* A job that is not ours may have lost nodes, and go on. */
static bool is_ready(const struct allocation *a)
{
    const json_t *nodes = json_object_get(a->report, "nodes");
    size_t least = a->is_ours ? (size_t)json_int(a->report, "nodeCount", 1) : 1;

    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!json_bool(json_array_get(nodes, i), "ready", false))
            return false;
    return json_array_size(nodes) >= least;
}

bool allocation_has_ended(const struct allocation *a)
{
    const char *state = text_or_empty(json_text(a->report, "state"));

    return !text_equal(state, "PENDING") && !text_equal(state, "RUNNING");
}

struct waiting {
    int64_t began_ns;
    int64_t pause_ms;
    bool was_said;
};

static void say_wait(struct allocation *a, struct waiting *w, bool is_quiet)
{
    int64_t now_ns = loop_now_ns(session_loop(a->s->session));
    bool is_placed = json_array_size(json_object_get(a->report, "nodes")) > 0;

    if (w->was_said || is_placed || now_ns - w->began_ns < SAY_AFTER_MS * NS_PER_MS)
        return;
    w->was_said = true;
    if (is_quiet)
        return;
    if (text_equal(a->s->name, "salloc"))
        (void)fprintf(a->s->cli->err, "salloc: Pending job allocation %" PRId64 "\n", a->job_id);
    (void)fprintf(a->s->cli->err, "%s: job %" PRId64 " queued and waiting for resources\n",
                  a->s->name, a->job_id);
}

struct err *allocation_wait(struct allocation *a, int64_t immediate_s, bool is_quiet)
{
    AUTO_FREE char *id = mem_format("%" PRId64, a->job_id);
    struct loop *loop = session_loop(a->s->session);
    struct waiting w = {.began_ns = loop_now_ns(loop), .pause_ms = PAUSE_FIRST_MS};

    for (;;) {
        TRY(allocation_read(a, id));
        if (is_ready(a))
            break;
        if (allocation_has_ended(a))
            return err_new(ERR_EXPIRED, "Job allocation %" PRId64 " has been revoked", a->job_id);
        if (a->signal == 0 && immediate_s >= 0 &&
            loop_now_ns(loop) - w.began_ns > immediate_s * NS_PER_SEC)
            a->signal = SIGALRM;
        if (a->signal != 0)
            return err_new(ERR_TIMEOUT,
                           a->signal == SIGALRM
                               ? "Unable to allocate resources: Requested nodes are busy"
                               : "Job allocation %" PRId64 " has been revoked",
                           a->job_id);
        say_wait(a, &w, is_quiet);
        TRY(allocation_pause(a->s, w.pause_ms));
        w.pause_ms = w.pause_ms * 2 < PAUSE_LONGEST_MS ? w.pause_ms * 2 : PAUSE_LONGEST_MS;
    }
    if (w.was_said && !is_quiet)
        (void)fprintf(a->s->cli->err, "%s: job %" PRId64 " has been allocated resources\n",
                      a->s->name, a->job_id);
    return NULL;
}

char *allocation_nodes(const struct allocation *a)
{
    const json_t *nodes = json_object_get(a->report, "nodes");
    struct hostlist names = {0};
    char *text;

    for (size_t i = 0; i < json_array_size(nodes); i++)
        hostlist_add(&names, text_or_empty(json_text(json_array_get(nodes, i), "node")));
    text = hostlist_format(&names);
    hostlist_done(&names);
    return text;
}

/* ---- the end ---- */

struct err *allocation_end(struct allocation *a, int code, int signal)
{
    AUTO(json_freep)
    json_t *patch = json_pack("{s:{s:s,s:{s:i,s:i}}}", "spec", "cancelled", "*", "end", "exitCode",
                              code, "exitSignal", signal);
    AUTO_FREE char *path = NULL;
    struct call call = {
        .method = "PATCH", .content_type = "application/merge-patch+json", .body = patch};

    if (!a->is_ours)
        return NULL;
    a->is_ours = false;
    path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs/%s", a->ns, a->name);
    call.path = path;
    return slurm_call(a->s, &call, NULL);
}
