#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/output.h"

enum {
    LIMIT_TABLE = 50
};

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

/* Waiting: since it was submitted; running: since it started; ended: from start to end. */
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

static json_t *row_of(const json_t *pod, bool has_ns, int64_t now_ns)
{
    struct job job = job_of(pod);
    json_t *row = json_array();

    (void)json_array_append_new(row, text_or_null(job.id));
    if (has_ns)
        (void)json_array_append_new(row, text_or_null(job.ns));
    (void)json_array_append_new(row, text_or_null(job.name));
    (void)json_array_append_new(row, text_or_null(job.user));
    (void)json_array_append_new(row, text_or_null(job.state));
    (void)json_array_append_new(row, json_integer(job.gpus));
    (void)json_array_append_new(row, text_or_null(job.node));
    (void)json_array_append_new(row, time_of(&job, now_ns));
    (void)json_array_append_new(
        row, job.exit_code >= 0 && job.is_ended ? json_integer(job.exit_code) : json_null());
    (void)json_array_append_new(row, text_or_null(job.reason));
    return row;
}

/* What programs get of a job: numbers in plain units, null for unknown. New reference. */
static json_t *object_of(const json_t *pod)
{
    struct job job = job_of(pod);
    json_t *object = json_object();
    json_t *metadata = json_object_at(object, "metadata");
    json_t *status = json_object();
    char stamp[STAMP_TEXT_SIZE];

    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "Job");
    json_put_text(metadata, "name", job.name);
    json_put_text(metadata, "namespace", job.ns);
    json_put_text(metadata, "uid", json_text_at(pod, "metadata", "uid", NULL));
    json_put(object, "spec",
             json_pack("{s:o, s:o, s:I}", "jobId", job.id[0] ? json_string(job.id) : json_null(),
                       "user", text_or_null(job.user), "gpus", (json_int_t)job.gpus));
    json_put(object, "status", status);
    json_put_text(status, "state", job.state);
    json_put(status, "reason", text_or_null(job.reason));
    json_put(status, "node", text_or_null(job.node));
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

static void make_columns(struct listing *l, bool has_ns)
{
    listing_column(l, "#JOB");
    if (has_ns)
        listing_column(l, "NAMESPACE");
    listing_column(l, "NAME");
    listing_column(l, "!USER");
    listing_column(l, "STATE");
    listing_column(l, "#GPUS");
    listing_column(l, "NODE");
    listing_column(l, "#TIME");
    listing_column(l, "#EXIT");
    listing_column(l, "REASON");
}

static struct err *list_jobs(struct cli *c, struct session *s, struct list_result *ret)
{
    bool is_all_ns = flag_switch(c->in, "all-namespaces");
    enum output_format format = output_format_of(c->in);
    AUTO_FREE char *base = is_all_ns
                               ? mem_strdup("/api/v1/pods")
                               : path_format("/api/v1/namespaces/%s/pods", session_namespace(s));
    AUTO_FREE char *path =
        mem_format("%s%s", base,
                   flag_switch(c->in, "all")
                       ? ""
                       : "?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed");
    struct list_query q = {.path = path};

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

/* Ids grow: the oldest first. */
static int compare_pods(const void *a, const void *b)
{
    int64_t x = id_of(*(json_t *const *)a);
    int64_t y = id_of(*(json_t *const *)b);

    return x < y ? -1 : x > y;
}

static void fill(struct listing *l, const json_t *pods, bool has_ns, int64_t now_ns)
{
    VEC(json_t *) sorted = {0};
    json_t *pod;
    size_t i;

    json_array_foreach (pods, i, pod)
        vec_add(&sorted, pod);
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(*sorted.at), compare_pods);
    VEC_EACH (&sorted, at) {
        AUTO(json_freep) json_t *object = object_of(*at);

        listing_add(l, row_of(*at, has_ns, now_ns), object);
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
    struct list_result list = {0};
    struct listing l;
    bool has_ns = flag_switch(c->in, "all-namespaces");
    struct err *e;

    TRY(session_open(c, &s));
    TRY(list_jobs(c, s, &list));
    listing_init(&l, "JobList");
    l.prefix = "pod";
    make_columns(&l, has_ns);
    fill(&l, json_object_get(list.first, "items"), has_ns, loop_wall_ns(session_loop(s)));
    json_decref(list.first);
    e = listing_print(c, &l);
    if (!e)
        say_rest(c, &l, list.more);
    listing_done(&l);
    return e;
}

static const struct flag ps_flags[] = {
    {.name = "all", .letter = 'a', .type = FLAG_SWITCH, .doc = "those that have ended too"},
    {0},
};

const struct command command_ps = {
    .name = "ps",
    .summary = "list jobs that wait or run, and why they wait",
    .examples = {{"ps", "lists the jobs of the namespace that have not ended"},
                 {"ps -a -A -o json", "all jobs of all namespaces, for programs"},
                 {0}},
    .flags = ps_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_LIMIT | FLAGS_OUTPUT,
    .n_max = 0,
    .run = ps_run,
};
