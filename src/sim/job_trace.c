/* job_trace.c - the three formats of job traces, read into one */

#include "sim/job_trace.h"

#include <math.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/mig.h"
#include "sim/chance.h"
#include "sim/csv.h"

enum {
    MILLI = 1000,
    JOB_PODS_MAX = 16384,
    MIB_MAX = 1 << 30
};

struct user {
    const char *name;
    uint32_t index;
    struct map_handle handle;
};

struct job_trace {
    struct arena *arena;
    VEC(struct sim_job) jobs;
    VEC(struct sim_ask) asks;
    VEC(const char *) users;
    struct user *by_name;
    const char *needs_cluster;
};

/* The columns of a format's fields; CSV_NONE: the format lacks the field. */
struct columns {
    size_t submit, duration, gpus, vc, user;
    size_t queue, priority, limit, milli, gpu_memory, model, mig, pods, min_pods, cpu, memory,
        preempt;
};

static const char *const own_columns[] = {"submit_s", "duration_s", "gpus",    "user",
                                          "queue",    "priority",   "limit_s", NULL};
/* Columns that a pool of equal nodes cannot replay. */
static const char *const cluster_columns[] = {
    "gpu_milli", "gpu_memory_mib", "model",      "mig",         "pods",
    "min_pods",  "cpu_milli",      "memory_mib", "preemptible", NULL};
static const char *const itp_columns[] = {"job",        "submit_s",   "duration_s",
                                          "num_gpu",    "model",      "batch_size",
                                          "iterations", "deadline_s", NULL};
static const char *const philly_columns[] = {"submit_s", "duration_s", "num_gpu", "vc", NULL};

static bool is_listed(const char *const *names, struct str name)
{
    for (size_t i = 0; names[i]; i++)
        if (str_equal(name, str_of(names[i])))
            return true;
    return false;
}

/* The first column in neither `known` nor `more`; CSV_NONE: none. */
static size_t find_strange(const struct csv *c, const char *const *known, const char *const *more)
{
    for (size_t i = 0; i < c->n_columns; i++)
        if (!is_listed(known, c->columns[i]) && !is_listed(more, c->columns[i]))
            return i;
    return CSV_NONE;
}

/* Finds the optional columns of the own format. The model of itp is a network's, not a gpu's. */
static void find_asked(const struct csv *c, bool is_own, struct columns *ret)
{
    const struct {
        const char *name;
        size_t *at;
    } all[] = {
        {"queue", &ret->queue},
        {"priority", &ret->priority},
        {"limit_s", &ret->limit},
        {"gpu_milli", &ret->milli},
        {"gpu_memory_mib", &ret->gpu_memory},
        {"model", &ret->model},
        {"mig", &ret->mig},
        {"pods", &ret->pods},
        {"min_pods", &ret->min_pods},
        {"cpu_milli", &ret->cpu},
        {"memory_mib", &ret->memory},
        {"preemptible", &ret->preempt},
    };

    for (size_t i = 0; i < COUNT(all); i++)
        *all[i].at = is_own ? csv_find(c, all[i].name) : CSV_NONE;
}

static struct err *read_columns(const struct csv *c, struct columns *ret)
{
    const bool is_own = csv_find(c, "gpus") != CSV_NONE;
    const char *const *known = csv_find(c, "vc") != CSV_NONE ? philly_columns : itp_columns;
    size_t strange;

    TRY(csv_need(c, "submit_s", &ret->submit));
    TRY(csv_need(c, "duration_s", &ret->duration));
    TRY(csv_need(c, is_own || csv_find(c, "num_gpu") == CSV_NONE ? "gpus" : "num_gpu", &ret->gpus));
    strange =
        is_own ? find_strange(c, own_columns, cluster_columns) : find_strange(c, known, known);
    if (strange != CSV_NONE)
        return csv_error(c, "column '" STR_FMT "' is not replayed: see docs/simulator.md",
                         STR_ARG(c->columns[strange]));
    ret->vc = csv_find(c, "vc");
    ret->user = csv_find(c, ret->vc != CSV_NONE ? "vc" : "user");
    find_asked(c, is_own, ret);
    return NULL;
}

static uint32_t intern_user(struct job_trace *t, struct str name)
{
    struct user *u = NULL;

    map_find(handle, t->by_name, name.at, name.size, u);
    if (u)
        return u->index;
    u = arena_alloc(t->arena, sizeof(*u));
    u->name = arena_strndup(t->arena, name.at, name.size);
    u->index = (uint32_t)t->users.n;
    map_add(handle, t->by_name, u->name, name.size, u);
    vec_add(&t->users, u->name);
    return u->index;
}

static const char *keep_text(struct job_trace *t, struct str text)
{
    return text.size > 0 ? arena_strndup(t->arena, text.at, text.size) : "";
}

/* Reads a MIG profile in any spelling as "1g.10gb"; "": none. */
static struct err *read_mig(struct job_trace *t, const struct csv *c, size_t at, const char **ret)
{
    const char *text = keep_text(t, csv_text(c, at));
    char name[MIG_NAME_SIZE];

    *ret = "";
    if (!*text)
        return NULL;
    if (!mig_name_read(text, name))
        return csv_error(c, "mig '%.64s': want a profile such as '1g.10gb'", text);
    *ret = arena_strdup(t->arena, name);
    return NULL;
}

static struct err *read_ask(struct job_trace *t, const struct csv *c, const struct columns *at,
                            struct sim_ask *ret)
{
    int64_t priority = 0;
    int64_t milli = MILLI;
    int64_t gpu_mib = 0;
    int64_t mib = 0;
    int64_t pods = 0;
    int64_t min_pods = 0;
    int64_t is_preemptible = 1;

    TRY(csv_optional(c, at->priority, INT32_MIN, INT32_MAX, &priority));
    TRY(csv_optional(c, at->limit, 0, JOB_TIME_MAX_S, &ret->limit_s));
    TRY(csv_optional(c, at->milli, 1, MILLI, &milli));
    TRY(csv_optional(c, at->gpu_memory, 0, MIB_MAX, &gpu_mib));
    TRY(csv_optional(c, at->pods, 0, JOB_PODS_MAX, &pods));
    TRY(csv_optional(c, at->min_pods, 0, pods > 0 ? pods : 0, &min_pods));
    TRY(csv_optional(c, at->cpu, 0, MIB_MAX, &ret->cpu_milli));
    TRY(csv_optional(c, at->memory, 0, MIB_MAX, &mib));
    TRY(csv_optional(c, at->preempt, 0, 1, &is_preemptible));
    ret->queue = keep_text(t, csv_text(c, at->queue));
    ret->model = keep_text(t, csv_text(c, at->model));
    TRY(read_mig(t, c, at->mig, &ret->mig));
    if (*ret->mig && milli < MILLI)
        return csv_error(c, "mig and gpu_milli in one job: want a slice or a share");
    ret->priority = (int32_t)priority;
    ret->gpu_milli = (uint32_t)milli;
    ret->gpu_bytes = gpu_mib << 20;
    ret->memory_bytes = mib << 20;
    ret->pods = (uint32_t)pods;
    ret->min_pods = (uint32_t)min_pods;
    ret->is_preemptible = is_preemptible != 0;
    return NULL;
}

static bool is_same_ask(const struct sim_ask *a, const struct sim_ask *b)
{
    return text_equal(a->queue, b->queue) && text_equal(a->model, b->model) &&
           text_equal(a->mig, b->mig) && a->limit_s == b->limit_s && a->gpu_bytes == b->gpu_bytes &&
           a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->priority == b->priority && a->gpu_milli == b->gpu_milli && a->pods == b->pods &&
           a->min_pods == b->min_pods && a->is_preemptible == b->is_preemptible;
}

/* The index of `ask`. Compares with the first and the last only, which mostly match. */
static uint32_t keep_ask(struct job_trace *t, const struct sim_ask *ask)
{
    if (is_same_ask(&t->asks.at[0], ask))
        return 0;
    if (!is_same_ask(&t->asks.at[t->asks.n - 1], ask))
        vec_add(&t->asks, *ask);
    return (uint32_t)t->asks.n - 1;
}

static struct err *read_job(struct job_trace *t, const struct csv *c, const struct columns *at,
                            const char *vc)
{
    struct sim_ask ask = {0};
    struct sim_job j = {0};
    int64_t gpus = 0;

    if (vc && !str_equal(csv_text(c, at->vc), str_of(vc)))
        return NULL;
    TRY(csv_int64(c, at->submit, 0, JOB_TIME_MAX_S, &j.submit_s));
    TRY(csv_int64(c, at->duration, 0, JOB_TIME_MAX_S, &j.duration_s));
    TRY(csv_int64(c, at->gpus, 1, JOB_GPUS_MAX, &gpus));
    TRY(read_ask(t, c, at, &ask));
    if (t->jobs.n == JOBS_MAX)
        return csv_error(c, "over %d jobs", JOBS_MAX);
    if (ask.pods > 0 && gpus % ask.pods != 0)
        return csv_error(c, "%d gpus cannot be divided by %u pods", (int)gpus, ask.pods);
    j.duration_s = j.duration_s > 0 ? j.duration_s : 1;
    if (ask.limit_s > 0 && j.duration_s > ask.limit_s)
        j.duration_s = ask.limit_s; /* the job ends at its limit */
    j.estimate_s = j.duration_s;
    j.gpus = (uint32_t)gpus;
    j.milli = gpus * (*ask.mig ? (int64_t)mig_name_milli(ask.mig) : ask.gpu_milli);
    j.user = intern_user(t, csv_text(c, at->user));
    j.ask = keep_ask(t, &ask);
    vec_add(&t->jobs, j);
    return NULL;
}

static const char *find_needed(const struct csv *c)
{
    for (size_t i = 0; cluster_columns[i]; i++)
        if (csv_find(c, "gpus") != CSV_NONE && csv_find(c, cluster_columns[i]) != CSV_NONE)
            return cluster_columns[i];
    return NULL;
}

/* Merges two sorted runs; jobs of one second keep their order. */
static void jobs_merge(struct sim_job *to, const struct sim_job *from, size_t middle, size_t end)
{
    size_t a = 0;
    size_t b = middle;

    for (size_t i = 0; i < end; i++) {
        bool is_first = a < middle && (b == end || from[a].submit_s <= from[b].submit_s);

        to[i] = is_first ? from[a++] : from[b++];
    }
}

static bool is_sorted(const struct sim_job *jobs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (jobs[i].submit_s < jobs[i - 1].submit_s)
            return false;
    return true;
}

static void sort_jobs(struct sim_job *jobs, size_t n)
{
    AUTO_FREE struct sim_job *other = NULL;

    if (is_sorted(jobs, n))
        return;
    other = mem_alloc(n * sizeof(*jobs));
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t end = n - at < 2 * width ? n - at : 2 * width;

            jobs_merge(other + at, jobs + at, width < end ? width : end, end);
        }
        memcpy(jobs, other, n * sizeof(*jobs));
    }
}

struct err *job_trace_parse(const char *file, struct str text,
                            const struct job_trace_options *options, struct job_trace **ret)
{
    AUTO(job_trace_freep) struct job_trace *t = mem_alloc(sizeof(*t));
    struct csv c;
    struct columns at = {0};
    bool has = false;

    t->arena = arena_new();
    TRY(csv_open(&c, file, text));
    TRY(read_columns(&c, &at));
    t->needs_cluster = find_needed(&c);
    vec_add(&t->asks,
            (struct sim_ask){
                .queue = "", .model = "", .mig = "", .gpu_milli = MILLI, .is_preemptible = true});
    if (options->vc && at.vc == CSV_NONE)
        return csv_error(&c, "no column 'vc': only philly's traces have virtual clusters");
    for (;;) {
        TRY(csv_next(&c, &has));
        if (!has)
            break;
        TRY(read_job(t, &c, &at, options->vc));
    }
    if (t->jobs.n == 0 && options->vc)
        return err_new(ERR_INVALID, "%s: no job of the virtual cluster '%s'", file, options->vc);
    if (t->jobs.n == 0)
        return err_new(ERR_INVALID, "%s: no jobs: want a record a line after the header", file);
    sort_jobs(t->jobs.at, t->jobs.n);
    *ret = TAKE(t);
    return NULL;
}

void job_trace_free(struct job_trace *t)
{
    struct user *u = NULL;
    struct user *tmp = NULL;

    if (!t)
        return;
    map_each (handle, t->by_name, u, tmp)
        map_remove(handle, t->by_name, u);
    vec_done(&t->jobs);
    vec_done(&t->asks);
    vec_done(&t->users);
    arena_free(t->arena);
    free(t);
}

size_t job_trace_count(const struct job_trace *t)
{
    return t->jobs.n;
}

const struct sim_job *job_trace_jobs(const struct job_trace *t)
{
    return t->jobs.at;
}

const struct sim_ask *job_trace_asks(const struct job_trace *t)
{
    return t->asks.at;
}

const char *job_trace_needs_cluster(const struct job_trace *t)
{
    return t->needs_cluster;
}

size_t job_trace_user_count(const struct job_trace *t)
{
    return t->users.n;
}

const char *job_trace_user(const struct job_trace *t, size_t i)
{
    return t->users.at[i];
}

void job_trace_estimate(struct job_trace *t, int64_t sigma_milli, uint64_t seed)
{
    struct chance chance = chance_of(seed);

    for (size_t i = 0; i < t->jobs.n; i++) {
        struct sim_job *j = &t->jobs.at[i];
        double error = exp((double)sigma_milli / 1000 * chance_normal(&chance));
        double estimate = (double)j->duration_s * error;

        if (sigma_milli == 0)
            j->estimate_s = j->duration_s;
        else if (estimate >= (double)JOB_TIME_MAX_S)
            j->estimate_s = JOB_TIME_MAX_S;
        else
            j->estimate_s = estimate < 1 ? 1 : llround(estimate);
    }
}
