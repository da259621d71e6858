#include "sim/job_trace.h"

#include <math.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "sim/chance.h"
#include "sim/csv.h"

struct user {
    const char *name;
    uint32_t index;
    struct map_handle handle;
};

struct job_trace {
    struct arena *arena;
    VEC(struct sim_job) jobs;
    VEC(const char *) users;
    struct user *by_name;
};

/* Where a format keeps what; CSV_NONE: nowhere. */
struct columns {
    size_t submit, duration, gpus, vc, user;
};

static const char *const own_columns[] = {"submit_s", "duration_s", "gpus",    "user",
                                          "queue",    "priority",   "limit_s", NULL};
static const char *const itp_columns[] = {"job",        "submit_s",   "duration_s",
                                          "num_gpu",    "model",      "batch_size",
                                          "iterations", "deadline_s", NULL};
static const char *const philly_columns[] = {"submit_s", "duration_s", "num_gpu", "vc", NULL};

/* The first column that is none of `known`; CSV_NONE: all are. */
static size_t find_strange(const struct csv *c, const char *const *known)
{
    for (size_t i = 0; i < c->n_columns; i++) {
        bool is_known = false;

        for (size_t j = 0; known[j]; j++)
            is_known = is_known || str_equal(c->columns[i], str_of(known[j]));
        if (!is_known)
            return i;
    }
    return CSV_NONE;
}

static struct err *read_columns(const struct csv *c, struct columns *ret)
{
    const bool is_own = csv_find(c, "gpus") != CSV_NONE;
    const char *const *known = csv_find(c, "vc") != CSV_NONE ? philly_columns : itp_columns;
    size_t strange;

    TRY(csv_need(c, "submit_s", &ret->submit));
    TRY(csv_need(c, "duration_s", &ret->duration));
    TRY(csv_need(c, is_own || csv_find(c, "num_gpu") == CSV_NONE ? "gpus" : "num_gpu", &ret->gpus));
    strange = find_strange(c, is_own ? own_columns : known);
    if (strange != CSV_NONE)
        return csv_error(c, "column '" STR_FMT "' is not replayed: see docs/simulator.md",
                         STR_ARG(c->columns[strange]));
    ret->vc = csv_find(c, "vc");
    ret->user = csv_find(c, "user");
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

static struct err *read_job(struct job_trace *t, const struct csv *c, const struct columns *at,
                            const char *vc)
{
    struct sim_job j = {0};
    int64_t gpus = 0;

    if (vc && !str_equal(csv_text(c, at->vc), str_of(vc)))
        return NULL;
    TRY(csv_int64(c, at->submit, 0, JOB_TIME_MAX_S, &j.submit_s));
    TRY(csv_int64(c, at->duration, 0, JOB_TIME_MAX_S, &j.duration_s));
    TRY(csv_int64(c, at->gpus, 1, JOB_GPUS_MAX, &gpus));
    if (t->jobs.n == JOBS_MAX)
        return csv_error(c, "over %d jobs", JOBS_MAX);
    j.duration_s = j.duration_s > 0 ? j.duration_s : 1;
    j.estimate_s = j.duration_s;
    j.gpus = (uint32_t)gpus;
    j.user = intern_user(t, csv_text(c, at->user));
    vec_add(&t->jobs, j);
    return NULL;
}

/* Merges two sorted runs; those of one second keep their order. */
static void merge(struct sim_job *to, const struct sim_job *from, size_t middle, size_t end)
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

            merge(other + at, jobs + at, width < end ? width : end, end);
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
