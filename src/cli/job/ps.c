/* ps.c - mete ps: the table of jobs */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/term/output.h"
#include "kinds/queue.h"

enum {
    LIMIT_TABLE = 50,
    SKIP_MAX = 4000 /* bytes of uids in one request */
};

/* Waiting: time since submission. Running: since the start. Ended: from start to end. */
static json_t *time_of(const struct job *job, int64_t now_ns)
{
    char text[STAMP_TEXT_SIZE];
    int64_t from_ns = job->started_ns ? job->started_ns : job->created_ns;
    int64_t to_ns = job->is_ended ? job->ended_ns : now_ns;

    if (from_ns == 0 || to_ns < from_ns)
        return json_null();
    stamp_format_age(to_ns - from_ns, text);
    return json_string(text);
}

static const char *queue_name_of(const json_t *job)
{
    const char *queue = queue_of(job);

    return queue ? queue : QUEUE_DEFAULT;
}

static json_t *ps_row(const json_t *pod, bool has_ns, int64_t now_ns)
{
    struct job job = job_of(pod);
    json_t *row = json_array();

    (void)json_array_append_new(row, json_text_new(job.id));
    if (has_ns)
        (void)json_array_append_new(row, json_text_new(job.ns));
    (void)json_array_append_new(row, json_text_new(job.name));
    (void)json_array_append_new(row, json_text_new(job.user));
    (void)json_array_append_new(row, json_text_new(queue_name_of(pod)));
    (void)json_array_append_new(row, json_text_new(job.state));
    (void)json_array_append_new(row, job_gpus_cell(&job));
    (void)json_array_append_new(row, json_text_new(job.node));
    (void)json_array_append_new(row, time_of(&job, now_ns));
    (void)json_array_append_new(
        row, job.exit_code >= 0 && job.is_ended ? json_integer(job.exit_code) : json_null());
    (void)json_array_append_new(row, json_text_new(*job.reason ? job.reason : job.progress));
    return row;
}

/* Counts of the Job's pods. New reference. */
static json_t *pods_of(const json_t *job)
{
    static const char *const counts[] = {"active", "ready", "succeeded", "failed", "terminating"};
    const json_t *completions = json_at(job, "spec", "completions", NULL);
    json_t *pods = json_object();

    if (completions)
        json_put_int(pods, "completions", json_integer_value(completions));
    else
        json_put(pods, "completions", json_null());
    for (size_t i = 0; i < COUNT(counts); i++)
        json_put_int(pods, counts[i], json_int_at(job, "status", counts[i], NULL));
    return pods;
}

static const char *prefix_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "status"), "pods") ? "job" : "pod";
}

/* The job in json and yaml: numbers in plain units, null for unknown. New reference. */
static json_t *ps_object(const json_t *pod)
{
    struct job job = job_of(pod);
    json_t *object = json_object();
    json_t *metadata = json_object_at(object, "metadata");
    json_t *status = json_object();
    AUTO_FREE char *devices = gpu_asks_format(&job.asks);
    char stamp[STAMP_TEXT_SIZE];

    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "Job");
    json_put_text(metadata, "name", job.name);
    json_put_text(metadata, "namespace", job.ns);
    json_put_text(metadata, "uid", json_text_at(pod, "metadata", "uid", NULL));
    json_put(object, "spec",
             json_pack("{s:s, s:o, s:o, s:I, s:s}", "queue", queue_name_of(pod), "jobId",
                       json_text_new(job.id), "user", json_text_new(job.user), "gpus",
                       (json_int_t)gpu_asks_count(&job.asks), "devices", devices));
    json_put(object, "status", status);
    if (batch_is(pod))
        json_put(status, "pods", pods_of(pod));
    json_put_text(status, "state", job.state);
    json_put(status, "reason", json_text_new(job.reason));
    json_put(status, "node", json_text_new(job.node));
    json_put(status, "exitCode",
             job.is_ended && job.exit_code >= 0 ? json_integer(job.exit_code) : json_null());
    stamp_format(job.created_ns, stamp);
    json_put(status, "submittedAt", job.created_ns ? json_string(stamp) : json_null());
    stamp_format(job.started_ns, stamp);
    json_put(status, "startedAt", job.started_ns ? json_string(stamp) : json_null());
    stamp_format(job.ended_ns, stamp);
    json_put(status, "endedAt", job.ended_ns ? json_string(stamp) : json_null());
    return object;
}

static void ps_columns(struct listing *l, bool has_ns)
{
    listing_column(l, "#JOB");
    if (has_ns)
        listing_column(l, "NAMESPACE");
    listing_column(l, "NAME");
    listing_column(l, "!USER");
    listing_column(l, "!QUEUE");
    listing_column(l, "STATE");
    listing_column(l, "#GPUS");
    listing_column(l, "NODE");
    listing_column(l, "#TIME");
    listing_column(l, "#EXIT");
    listing_column(l, "REASON");
}

static char *base_path(struct cli *c, struct session *s, const char *api, const char *resource)
{
    if (flag_switch(c->in, "all-namespaces"))
        return path_format("%s/%s", api, resource);
    return path_format("%s/namespaces/%s/%s", api, session_namespace(s), resource);
}

/* Lists the Jobs to show. `skip` becomes the part of a label selector that excludes their pods. */
static struct err *list_batch(struct cli *c, struct session *s, json_t *jobs, struct buf *skip)
{
    AUTO_FREE char *path = base_path(c, s, "/apis/batch/v1", "jobs");
    const struct list_query q = {.path = path};
    struct list_result list = {0};
    bool is_all = flag_switch(c->in, "all");
    json_t *job;
    size_t i;

    TRY(session_list(s, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, job) {
        const char *uid = json_text_at(job, "metadata", "uid", NULL);

        if (!is_all && job_of(job).is_ended)
            continue;
        (void)json_array_append(jobs, job); /* a tree of its own: cannot fail */
        if (skip->size < SKIP_MAX)
            buf_printf(skip, "%s%s", skip->size > 0 ? "%2C" : "", uid ? uid : "");
    }
    json_decref(list.first);
    return NULL;
}

/* Lists the pods that belong to none of these Jobs. With too many Jobs to name, pods of all Jobs
 * are excluded. */
static struct err *list_pods(struct cli *c, struct session *s, const struct buf *skip,
                             struct list_result *ret)
{
    static const char active[] =
        "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
    enum output_format format = output_format_of(c->in);
    AUTO_FREE char *base = base_path(c, s, "/api/v1", "pods");
    AUTO(buf_done) struct buf path = {0};
    struct list_query q = {0};

    buf_printf(&path, "%s?", base);
    if (skip->size >= SKIP_MAX)
        buf_add_text(&path, "labelSelector=%21batch.kubernetes.io%2Fcontroller-uid");
    else if (skip->size > 0)
        buf_printf(&path,
                   "labelSelector=batch.kubernetes.io%%2Fcontroller-uid%%20notin%%20%%28%s%%29",
                   skip->at);
    if (!flag_switch(c->in, "all"))
        buf_add_text(&path, active);
    q.path = path.at;
    q.limit = flag_count(c->in, "limit",
                         format == OUTPUT_TABLE || format == OUTPUT_WIDE ? LIMIT_TABLE : 0);
    return session_list(s, &q, ret);
}

static int64_t id_of(const json_t *pod)
{
    const char *id = job_of(pod).id;
    int64_t n = 0;

    while (*id >= '0' && *id <= '9' && n < INT64_MAX / 10 - 1)
        n = n * 10 + (*id++ - '0');
    return n;
}

/* Orders by job number: the oldest first. */
static int compare_pods(const void *a, const void *b)
{
    int64_t x = id_of(*(json_t *const *)a);
    int64_t y = id_of(*(json_t *const *)b);

    return x < y ? -1 : x > y;
}

static void ps_fill(struct listing *l, const json_t *jobs, bool has_ns, int64_t now_ns)
{
    VEC(json_t *) sorted = {0};
    json_t *job;
    size_t i;

    json_array_foreach (jobs, i, job)
        vec_add(&sorted, job);
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(*sorted.at), compare_pods);
    VEC_EACH (&sorted, at) {
        AUTO(json_freep) json_t *object = ps_object(*at);

        listing_add(l, ps_row(*at, has_ns, now_ns), object);
    }
    vec_done(&sorted);
}

static void say_rest(struct cli *c, const struct listing *l, int64_t more)
{
    size_t n = json_array_size(l->objects);

    if (more > 0)
        cli_say(c, "%zu of %" PRId64 "; --limit 0 for all", n, (int64_t)n + more);
    else if (more < 0)
        cli_say(c, "the first %zu; --limit 0 for all", n);
}

static struct err *ps_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *jobs = json_array();
    AUTO(buf_done) struct buf skip = {0};
    struct list_result list = {0};
    struct listing l;
    bool has_ns = flag_switch(c->in, "all-namespaces");
    struct err *e;

    TRY(session_open(c, &s));
    TRY(list_batch(c, s, jobs, &skip));
    TRY(list_pods(c, s, &skip, &list));
    (void)json_array_extend(jobs, json_object_get(list.first, "items")); /* both are arrays */
    json_decref(list.first);
    listing_init(&l, "JobList");
    l.prefix_of = prefix_of;
    ps_columns(&l, has_ns);
    ps_fill(&l, jobs, has_ns, loop_wall_ns(session_loop(s)));
    e = listing_print(c, &l);
    if (!e)
        say_rest(c, &l, list.more);
    listing_done(&l);
    return e;
}

static const struct flag ps_flags[] = {
    {.name = "all", .letter = 'a', .type = FLAG_SWITCH, .doc = "list ended jobs, too"},
    {0},
};

const struct command command_ps = {
    .name = "ps",
    .summary = "list waiting and running jobs, and the reasons for waiting",
    .examples = {{"ps", "lists the jobs of the namespace that have not ended"},
                 {"ps -a -A -o json", "lists all jobs of all namespaces, for programs"},
                 {0}},
    .flags = ps_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_LIMIT | FLAGS_OUTPUT,
    .n_max = 0,
    .run = ps_run,
};
