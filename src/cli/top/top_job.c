/* top_job.c - requests in turn: the object, a pod of it, its workload, the history of each gpu */

#include "cli/top/top_job.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/jobs.h"
#include "cli/job/why.h"
#include "cli/top/top_log.h"
#include "kinds/job/job_facts.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/queue.h"

enum {
    JOB_GPUS_MAX = 8,
    SPARKS = 8, /* steps of a sparkline */
    SPARK_STEP_S = 15
};

enum job_step {
    JOB_OBJECT,
    JOB_POD, /* of a Job */
    JOB_WORKLOAD,
    JOB_GPUS
};

/* A device of the job, and its last readings. */
struct job_gpu {
    char uuid[GPU_TEXT_SIZE];
    json_t *history; /* NULL: unknown */
};

struct top_job {
    struct top_job_options o;
    char *ns;
    char *name;
    char *pod; /* that the log is of; NULL: none yet */
    struct client_call *call;
    enum job_step step;
    json_t *object;
    json_t *shown; /* the pod */
    json_t *workload;
    struct job_gpu gpus[JOB_GPUS_MAX];
    size_t n_gpus;
    size_t at_gpu;
    struct top_lines facts;
    struct top_log *log; /* NULL: the pod has not started */
};

static void job_ask(struct top_job *j);

static void job_forget_answers(struct top_job *j)
{
    json_decref(j->object);
    json_decref(j->shown);
    json_decref(j->workload);
    j->object = j->shown = j->workload = NULL;
    for (size_t i = 0; i < j->n_gpus; i++)
        json_decref(j->gpus[i].history);
    memset(j->gpus, 0, sizeof(j->gpus));
    j->n_gpus = j->at_gpu = 0;
}

/* ---- the text ---- */

static void job_line(struct top_job *j, const char *fmt, ...) PRINTF(2, 3);
static void job_line(struct top_job *j, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    top_lines_add(&j->facts, str_of(text));
    top_lines_end(&j->facts);
}

static void add_time(struct buf *b, const char *what, int64_t at_ns, int64_t first_ns)
{
    char text[STAMP_TEXT_SIZE];

    if (at_ns <= 0)
        return;
    if (at_ns == first_ns) {
        stamp_format(at_ns, text);
        buf_printf(b, "%s %s", what, text);
        return;
    }
    stamp_format_age(at_ns - first_ns, text);
    buf_printf(b, ", %s +%s", what, text);
}

static void job_add_times(struct top_job *j, const struct job *job)
{
    const json_t *bound = object_condition(j->shown, "PodScheduled");
    bool is_bound = text_equal(json_text(bound, "status"), "True");
    AUTO(buf_done) struct buf b = {0};

    add_time(&b, "accepted", job->created_ns, job->created_ns);
    add_time(&b, "placed", is_bound ? stamp_or(json_text(bound, "lastTransitionTime"), 0) : 0,
             job->created_ns - 1);
    add_time(&b, "started", job->started_ns, job->created_ns - 1);
    add_time(&b, "ended", job->is_ended ? job->ended_ns : 0, job->created_ns - 1);
    job_line(j, "%s", text_or_empty(b.at));
}

/* The answer of the server about a job that waits, or cannot start. */
static void job_add_why(struct top_job *j, const struct job *job)
{
    int64_t now_ns = loop_wall_ns(session_loop(j->o.session));
    AUTO_FREE char *why = NULL;

    if (!job->is_ended && j->workload && !text_equal(job->state, "running")) {
        why = why_format(j->workload, false, now_ns);
        top_lines_add(&j->facts, str_of(why));
    } else if (*job->reason) {
        job_line(j, "why: %s", job->reason);
    }
}

/* Adds `SPARKS` characters for field `f` of the rows; `max` 0: the largest value. */
static void add_spark(struct buf *b, const struct top_job *j, const json_t *rows, size_t f,
                      int64_t max)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    size_t n = json_array_size(rows);
    size_t first = n > SPARKS ? n - SPARKS : 0;

    for (size_t i = first; i < n; i++) {
        int64_t value = json_integer_value(json_array_get(json_array_get(rows, i), f));

        max = value > max ? value : max;
    }
    for (size_t i = first; i < n; i++) {
        const json_t *cell = json_array_get(json_array_get(rows, i), f);
        int64_t level = max > 0 ? json_integer_value(cell) * 7 / max : 0;

        if (!json_is_integer(cell))
            buf_add_char(b, ' ');
        else
            buf_add_text(b, (j->o.is_utf8 ? blocks : letters)[level < 0 ? 0 : level]);
    }
}

/* The last known value of field `f`, as "%d" and a unit; "-": none. */
static void add_value(struct buf *b, const json_t *rows, size_t f, int64_t divisor,
                      const char *unit)
{
    size_t n = json_array_size(rows);
    const json_t *cell = NULL;

    for (size_t i = n; i > 0 && !json_is_integer(cell); i--)
        cell = json_array_get(json_array_get(rows, i - 1), f);
    if (json_is_integer(cell))
        buf_printf(b, " %" PRId64 "%s", (int64_t)json_integer_value(cell) / divisor, unit);
    else
        buf_add_text(b, " -");
}

/* The fields are those of use_history_device_fields, behind the time. */
static void job_add_gpu(struct top_job *j, const struct job_gpu *g)
{
    const json_t *rows = json_object_get(g->history, "rows");
    AUTO(buf_done) struct buf b = {0};

    buf_printf(&b, "%.12s util ", g->uuid);
    add_spark(&b, j, rows, 1, 100);
    add_value(&b, rows, 1, 1, "%");
    buf_add_text(&b, " SM ");
    add_spark(&b, j, rows, 2, 1000);
    add_value(&b, rows, 2, 10, "%");
    buf_add_text(&b, " mem ");
    add_spark(&b, j, rows, 4, 0);
    add_value(&b, rows, 4, 1 << 20, "G");
    buf_add_text(&b, " ");
    add_spark(&b, j, rows, 6, 0);
    add_value(&b, rows, 6, 1000, "W");
    job_line(j, "%s", b.at);
}

static void job_write(struct top_job *j)
{
    const struct job job = job_of(j->object);
    const struct job pod = job_of(j->shown);
    const char *queue = queue_of(j->object);
    AUTO_FREE char *gpus = gpu_asks_format(&job.asks);

    top_lines_done(&j->facts);
    job_line(j, "job %s %s/%s   %s%s%s   user %s, queue %s, GPUs %s", job.id, job.ns, job.name,
             job.state, *job.progress ? ", " : "", job.progress, job.user,
             queue ? queue : QUEUE_DEFAULT, gpus);
    job_add_why(j, &pod);
    job_add_times(j, &pod);
    if (pod.is_ended && pod.exit_code >= 0)
        job_line(j, "exit code %" PRId64, pod.exit_code);
    if (*pod.node)
        job_line(j, "pod %s on node %s", pod.name, pod.node);
    for (size_t i = 0; i < j->n_gpus; i++)
        job_add_gpu(j, &j->gpus[i]);
}

/* ---- requests ---- */

static void job_on_log(void *arg)
{
    struct top_job *j = arg;

    j->o.on_change(j->o.arg);
}

/* Follows the log of the pod that is shown, once it has started. */
static void job_follow(struct top_job *j)
{
    const struct job pod = job_of(j->shown);
    const char *container =
        json_text(json_array_get(json_at(j->shown, "spec", "containers", NULL), 0), "name");

    if (pod.started_ns <= 0 || !container || text_equal(j->pod, pod.name))
        return;
    top_log_free(j->log);
    free(j->pod);
    j->pod = mem_strdup(pod.name);
    j->log = top_log_new(&(struct top_log_options){.session = j->o.session,
                                                   .ns = pod.ns,
                                                   .pod = pod.name,
                                                   .container = container,
                                                   .on_change = job_on_log,
                                                   .arg = j});
}

static void job_end(struct top_job *j, const struct err *e)
{
    if (!e && j->shown) {
        job_write(j);
        job_follow(j);
    }
    job_forget_answers(j);
    j->o.on_refreshed(j->o.arg, e);
}

static bool job_add_device(void *arg, const char *container, const struct device *d)
{
    struct top_job *j = arg;
    const char *uuid = *d->instance ? d->instance : d->gpu;

    (void)container;
    for (size_t i = 0; i < j->n_gpus; i++)
        if (text_equal(j->gpus[i].uuid, uuid))
            return true;
    if (j->n_gpus == JOB_GPUS_MAX)
        return false;
    (void)snprintf(j->gpus[j->n_gpus++].uuid, GPU_TEXT_SIZE, "%s", uuid);
    return true;
}

/* The Job's pod that runs, else the first that has not ended, else the first. Borrowed. */
static json_t *choose_pod(const json_t *list)
{
    json_t *best = NULL;
    int best_rank = -1;
    json_t *pod;
    size_t i;

    json_array_foreach (json_object_get(list, "items"), i, pod) {
        const struct job job = job_of(pod);
        int rank = text_equal(job.state, "running") ? 2 : !job.is_ended;

        if (rank <= best_rank)
            continue;
        best = pod;
        best_rank = rank;
    }
    return best;
}

/* Takes the answer of the present step, and chooses the next step. False: that was the last. */
static bool job_take(struct top_job *j, json_t *answer)
{
    switch (j->step) {
    case JOB_OBJECT:
        j->object = json_incref(answer);
        if (!j->o.is_batch)
            j->shown = json_incref(answer);
        j->step = j->o.is_batch ? JOB_POD : JOB_WORKLOAD;
        break;
    case JOB_POD:
        j->shown = json_incref(choose_pod(answer));
        if (!j->shown)
            j->shown = json_incref(j->object); /* the Job has no pods */
        j->step = JOB_WORKLOAD;
        break;
    case JOB_WORKLOAD:
        j->workload = json_incref(answer);
        j->step = JOB_GPUS;
        break;
    case JOB_GPUS:
        j->gpus[j->at_gpu++].history = json_incref(answer);
        break;
    }
    if (j->step == JOB_GPUS && j->n_gpus == 0 && !batch_is(j->shown))
        pod_each_device(j->shown, job_add_device, j);
    return j->step != JOB_GPUS || j->at_gpu < j->n_gpus;
}

/* A missing workload or history is no failure: a job that has ended has none. */
static void job_on_answer(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_job *j = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *answer = NULL;

    j->call = NULL;
    if (!e)
        e = json_parse(reply->body, &answer);
    if (e && j->step >= JOB_WORKLOAD && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        e = NULL;
    }
    if (!e && job_take(j, answer))
        job_ask(j);
    else
        job_end(j, e);
}

static void job_add_path(struct buf *b, const char *prefix, const char *ns, const char *kind,
                         const char *name)
{
    buf_add_text(b, prefix);
    buf_add_text(b, "/namespaces/");
    client_add_escaped(b, str_of(ns));
    buf_printf(b, "/%s/", kind);
    client_add_escaped(b, str_of(name));
}

static void job_ask(struct top_job *j)
{
    struct client_request r = {.method = "GET"};
    AUTO(buf_done) struct buf path = {0};

    switch (j->step) {
    case JOB_OBJECT:
        job_add_path(&path, j->o.is_batch ? "/apis/batch/v1" : "/api/v1", j->ns,
                     j->o.is_batch ? "jobs" : "pods", j->name);
        break;
    case JOB_POD:
        buf_add_text(&path, "/api/v1/namespaces/");
        client_add_escaped(&path, str_of(j->ns));
        buf_add_text(&path, "/pods?limit=100&labelSelector=batch.kubernetes.io%2Fjob-name%3D");
        client_add_escaped(&path, str_of(j->name));
        break;
    case JOB_WORKLOAD:
        job_add_path(&path, "/apis/mete.dev/v1", j->ns, "workloads",
                     text_or_empty(json_text_at(j->shown, "metadata", "name", NULL)));
        break;
    case JOB_GPUS:
        buf_printf(&path,
                   "/apis/mete.dev/v1/history?from=%ds&step=%ds&uuid=", SPARKS * SPARK_STEP_S,
                   SPARK_STEP_S);
        client_add_escaped(&path, str_of(j->gpus[j->at_gpu].uuid));
        break;
    }
    r.path = path.at;
    client_send(session_client(j->o.session), &r, job_on_answer, j, &j->call);
}

struct top_job *top_job_new(const struct top_job_options *o)
{
    struct top_job *j = mem_alloc(sizeof(*j));

    j->o = *o;
    j->ns = mem_strdup(o->ns);
    j->name = mem_strdup(o->name);
    return j;
}

void top_job_free(struct top_job *j)
{
    if (!j)
        return;
    if (j->call)
        client_cancel(j->call);
    top_log_free(j->log);
    job_forget_answers(j);
    top_lines_done(&j->facts);
    free(j->ns);
    free(j->name);
    free(j->pod);
    free(j);
}

void top_job_refresh(struct top_job *j)
{
    if (j->call)
        return;
    j->step = JOB_OBJECT;
    job_ask(j);
}

const struct top_lines *top_job_facts(const struct top_job *j)
{
    return &j->facts;
}

const struct top_lines *top_job_log(const struct top_job *j)
{
    static const struct top_lines none = {0};

    return j->log ? top_log_lines(j->log) : &none;
}
