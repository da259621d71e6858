/* sim_jobs_rows.c - results of the runs of `mete sim jobs` */

#include <math.h>

#include "base/mem.h"
#include "cli/sim/sim_jobs.h"
#include "cli/sim/sim_report.h"
#include "meter/prices.h"

#define HOUR_S 3600.0

static const struct sim_column columns[] = {
    {"policy", "POLICY"},
    {"nodes", "#NODES"},
    {"jobs", "#JOBS"},
    {"mean_jct_s", "#MEAN JCT"},
    {"mean_wait_s", "#MEAN WAIT"},
    {"p50_wait_s", "#P50 WAIT"},
    {"p95_wait_s", "!#P95 WAIT"},
    {"p99_wait_s", "#P99 WAIT"},
    {"max_wait_s", "#MAX WAIT"},
    {"p50_jct_s", "!#P50 JCT"},
    {"p95_jct_s", "!#P95 JCT"},
    {"p99_jct_s", "!#P99 JCT"},
    {"utilization", "#UTILIZATION"},
    {"preemptions", "#PREEMPTIONS"},
    {"jain", "#JAIN"},
    {"cost", "#COST"},
    {"idle_cost", "!#IDLE COST"},
    {"makespan_s", "!#MAKESPAN"},
    {"wall_s", "#TOOK"},
};

static const struct sim_column group_columns[] = {
    {"policy", "POLICY"},
    {"nodes", "#NODES"},
    {"group", "OF"},
    {"jobs", "#JOBS"},
    {"gpu_hours", "#GPU HOURS"},
    {"mean_jct_s", "#MEAN JCT"},
    {"mean_wait_s", "#MEAN WAIT"},
    {"p50_wait_s", "#P50 WAIT"},
    {"p95_wait_s", "#P95 WAIT"},
    {"p99_wait_s", "#P99 WAIT"},
    {"p50_jct_s", "!#P50 JCT"},
    {"p95_jct_s", "!#P95 JCT"},
    {"p99_jct_s", "!#P99 JCT"},
    {"share", "#SHARE"},
    {"preemptions", "#PREEMPTIONS"},
    {"cost", "#COST"},
};

/* ---- prices ---- */

static struct err *read_prices(struct jobs_question *q, const char *path)
{
    const int64_t hour_ns = INT64_C(3600) * 1000000000;
    const struct sim_ask *asks = job_trace_asks(q->trace);
    const char *const paths[] = {path, NULL};
    AUTO(prices_freep) struct prices *p = NULL;
    uint32_t most = 0;

    TRY(prices_load(paths, &p));
    if (!p)
        return err_new(ERR_NOT_FOUND, "%s: no such file", path);
    for (size_t i = 0; i < q->options.n; i++)
        most = q->options.jobs[i].ask > most ? q->options.jobs[i].ask : most;
    q->price.of_ask = mem_alloc((most + 1) * sizeof(double));
    for (uint32_t i = 0; i <= most; i++)
        q->price.of_ask[i] =
            (double)prices_gpu(p, *asks[i].model ? asks[i].model : "default", hour_ns) / 1e6;
    q->price.of_gpu = (double)prices_gpu(p, "default", hour_ns) / 1e6;
    if (prices_currency(p))
        q->price.currency = mem_strdup(prices_currency(p));
    return NULL;
}

struct err *jobs_price_read(struct jobs_question *q)
{
    const char *path = flag_text(q->cli->in, "prices");
    const char *each = flag_text(q->cli->in, "price");
    AUTO_FREE char *table = NULL;

    if (path && each)
        return cli_usage(q->cli, "--price and --prices exclude each other");
    q->price.is_known = path || each;
    if (path)
        return read_prices(q, path);
    if (each) {
        AUTO(prices_freep) struct prices *p = NULL;
        AUTO(err_freep) struct err *e = NULL;

        table = mem_format("currency: EUR\ngpuHour: {default: %s}\n", each);
        e = prices_parse("price", str_of(table), &p);
        if (e)
            return cli_usage(q->cli, "--price: %s", err_message(e));
        q->price.of_gpu = (double)prices_gpu(p, "default", INT64_C(3600) * 1000000000) / 1e6;
    }
    return NULL;
}

static double price_of(const struct jobs_question *q, const struct sim_job *j)
{
    return q->price.of_ask ? q->price.of_ask[j->ask] : q->price.of_gpu;
}

/* The cost of the jobs of a group; NULL: of all jobs. */
static double cost_of(const struct jobs_question *q, const struct replay_job *done,
                      const uint32_t *of, uint32_t group)
{
    double sum = 0;

    for (size_t i = 0; i < q->options.n; i++) {
        const struct sim_job *j = &q->options.jobs[i];

        if (!of || of[i] == group)
            sum += sim_job_gpus(j) * (double)(j->duration_s + done[i].lost_s) / HOUR_S *
                   price_of(q, j);
    }
    return sum;
}

/* ---- groups ---- */

struct user_time {
    uint32_t user;
    double gpu_s;
};

static int compare_users(const void *a, const void *b)
{
    const struct user_time *x = a;
    const struct user_time *y = b;

    if (x->gpu_s > y->gpu_s || x->gpu_s < y->gpu_s)
        return x->gpu_s > y->gpu_s ? -1 : 1;
    return (x->user > y->user) - (x->user < y->user);
}

void jobs_groups_find(struct jobs_question *q)
{
    const size_t n_users = job_trace_user_count(q->trace);
    AUTO_FREE struct user_time *all = mem_alloc((n_users + 1) * sizeof(*all));
    AUTO_FREE uint32_t *place = mem_alloc((n_users + 1) * sizeof(*place));

    q->size_of = mem_alloc((q->options.n + 1) * sizeof(uint32_t));
    q->user_of = mem_alloc((q->options.n + 1) * sizeof(uint32_t));
    q->users = mem_alloc((n_users + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < n_users; i++)
        all[i].user = i;
    for (size_t i = 0; i < q->options.n; i++) {
        const struct sim_job *j = &q->options.jobs[i];

        q->size_of[i] = (uint32_t)size_class_of(j->milli);
        all[j->user].gpu_s += sim_job_gpus(j) * (double)j->duration_s;
    }
    qsort(all, n_users, sizeof(*all), compare_users);
    for (uint32_t i = 0; i < n_users; i++) {
        q->users[i] = all[i].user;
        place[all[i].user] = i;
    }
    for (size_t i = 0; i < q->options.n; i++)
        q->user_of[i] = place[q->options.jobs[i].user];
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void put_summary(json_t *row, const struct summary *s)
{
    json_put_int(row, "jobs", (int64_t)s->jobs);
    json_put(row, "mean_jct_s", json_real(s->mean_jct_s));
    json_put(row, "mean_wait_s", json_real(s->mean_wait_s));
    json_put_int(row, "p50_wait_s", s->p50_wait_s);
    json_put_int(row, "p95_wait_s", s->p95_wait_s);
    json_put_int(row, "p99_wait_s", s->p99_wait_s);
    json_put_int(row, "max_wait_s", s->max_wait_s);
    json_put_int(row, "p50_jct_s", s->p50_jct_s);
    json_put_int(row, "p95_jct_s", s->p95_jct_s);
    json_put_int(row, "p99_jct_s", s->p99_jct_s);
    json_put_int(row, "preemptions", (int64_t)s->preemptions);
}

struct results {
    struct jobs_question *q;
    const struct jobs_run *run;
    const struct replay_options *options;
    const struct replay_job *done;
    const double *shares; /* by user */
};

/* Adds a row for the jobs of a group, unless the group is empty. */
static void add_group(const struct results *r, const char *key, const char *name,
                      const uint32_t *of, uint32_t group, json_t *list)
{
    const bool is_user = text_equal(key, "user");
    struct summary s;
    json_t *row;
    json_t *flat;

    summary_of_group(r->options, r->done, of, group, &s);
    if (s.jobs == 0)
        return;
    row = json_object();
    json_put_text(row, key, name);
    json_put(row, "gpu_hours", json_real(s.gpu_s / HOUR_S));
    put_summary(row, &s);
    if (is_user)
        json_put(row, "share", real_or_null(r->shares[r->q->users[group]]));
    if (r->q->price.is_known)
        json_put(row, "cost", json_real(cost_of(r->q, r->done, of, group)));
    (void)json_array_append_new(list, row);
    if (!text_equal(flag_text(r->q->cli->in, "by"), key))
        return;
    flat = json_copy(row);
    json_put_text(flat, "policy", r->run->policy);
    json_put_int(flat, "nodes", (int64_t)r->run->nodes);
    json_put_text(flat, "group", name);
    (void)json_array_append_new(r->q->groups, flat);
}

static void put_groups(const struct results *r, json_t *row)
{
    const size_t n_users = job_trace_user_count(r->q->trace);
    json_t *sizes = json_array();
    json_t *users = json_array();

    for (uint32_t i = 0; i < SIZE_CLASSES; i++)
        add_group(r, "size", size_class_name(i), r->q->size_of, i, sizes);
    for (uint32_t i = 0; n_users > 1 && i < n_users && i < JOBS_USERS_MAX; i++)
        add_group(r, "user", job_trace_user(r->q->trace, r->q->users[i]), r->q->user_of, i, users);
    json_put(row, "by_size", sizes);
    json_put(row, "by_user", users);
}

/* ---- curves ---- */

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* For points in time, the share of `n` times that are at most as long; sorts the times. */
static void make_curve(int64_t *times, size_t n, struct plot_point ret[JOBS_POINTS + 1])
{
    qsort(times, n, sizeof(*times), compare_int64);
    for (size_t i = 0; i <= JOBS_POINTS; i++) {
        const size_t at = (n - 1) * i / JOBS_POINTS;

        ret[i].x = (double)times[at];
        ret[i].y = 100.0 * (double)i / JOBS_POINTS;
    }
}

static void make_curves(const struct replay_options *options, const struct replay_job *done,
                        struct jobs_run *r)
{
    AUTO_FREE int64_t *times = mem_alloc(options->n * sizeof(*times));

    for (size_t i = 0; i < options->n; i++)
        times[i] = replay_job_wait(&options->jobs[i], &done[i]);
    make_curve(times, options->n, r->waits);
    for (size_t i = 0; i < options->n; i++)
        times[i] = done[i].end_s - options->jobs[i].submit_s;
    make_curve(times, options->n, r->jcts);
}

static void make_share_points(struct jobs_run *r)
{
    const struct share_curves *c = &r->shares;

    r->share_points = mem_alloc((c->n_users * c->n_bins + 1) * sizeof(*r->share_points));
    for (size_t i = 0; i < c->n_users * c->n_bins; i++)
        r->share_points[i] =
            (struct plot_point){(double)(c->bin_s * (int64_t)(i % c->n_bins)) / HOUR_S, c->held[i]};
}

static double find_fairness(struct jobs_question *q, struct jobs_run *r,
                            const struct replay_moves *moves, double *shares)
{
    const bool is_drawn = flag_text(q->cli->in, "report") && job_trace_user_count(q->trace) > 1;
    const struct fairness_options o = {
        .jobs = q->options.jobs,
        .n = q->options.n,
        .n_users = job_trace_user_count(q->trace),
        .moves = moves,
        .curves = is_drawn ? &r->shares : NULL,
    };
    double jain;

    r->shares = (struct share_curves){.n_users = is_drawn ? JOBS_CURVES : 0, .n_bins = JOBS_POINTS};
    jain = fairness_find(&o, shares);
    if (is_drawn)
        make_share_points(r);
    return jain;
}

void jobs_rows_add(struct jobs_question *q, struct jobs_run *r,
                   const struct replay_options *options, const struct replay_job *done,
                   const struct replay_moves *moves, double wall_s)
{
    AUTO_FREE double *shares = mem_alloc((job_trace_user_count(q->trace) + 1) * sizeof(*shares));
    const struct results results = {q, r, options, done, shares};
    const double gpus = replay_gpus(options);
    json_t *row = json_object();
    struct summary s = {0};

    summary_make(options, done, &s);
    make_curves(options, done, r);
    json_put_text(row, "policy", r->policy);
    json_put_int(row, "nodes", (int64_t)r->nodes);
    put_summary(row, &s);
    json_put(row, "utilization", json_real(s.utilization));
    json_put(row, "jain", real_or_null(find_fairness(q, r, moves, shares)));
    if (q->price.is_known) {
        const double idle_s = gpus * (double)s.makespan_s - s.gpu_s - s.lost_s;

        json_put(row, "cost", json_real(cost_of(q, done, NULL, 0)));
        json_put(row, "idle_cost", json_real(idle_s / HOUR_S * q->price.of_gpu));
        json_put(row, "currency", json_text_new(q->price.currency));
    }
    json_put_int(row, "makespan_s", s.makespan_s);
    json_put(row, "wall_s", json_real(wall_s));
    put_groups(&results, row);
    (void)json_array_append_new(q->rows, row);
}

/* ---- output ---- */

static struct err *jobs_report(struct jobs_question *q)
{
    struct plot_series waits[JOBS_RUNS_MAX];
    struct plot_series jcts[JOBS_RUNS_MAX];
    struct plot_series shares[JOBS_RUNS_MAX][JOBS_CURVES];
    const size_t n = q->n_runs < PLOT_SERIES_MAX ? q->n_runs : PLOT_SERIES_MAX;
    struct plot plots[2 + JOBS_RUNS_MAX] = {
        {"wait, over the jobs", "seconds of waiting", "% of jobs", true, waits, n},
        {"completion time, over the jobs", "seconds from submit to end", "% of jobs", true, jcts,
         n},
    };
    char *titles[JOBS_RUNS_MAX] = {0};
    size_t n_plots = 2;
    struct err *e;

    for (size_t i = 0; i < n; i++) {
        struct jobs_run *r = &q->runs[i];

        waits[i] = (struct plot_series){r->name, r->waits, JOBS_POINTS + 1};
        jcts[i] = (struct plot_series){r->name, r->jcts, JOBS_POINTS + 1};
        if (r->shares.n_users == 0)
            continue;
        for (size_t k = 0; k < r->shares.n_users; k++)
            shares[i][k] =
                (struct plot_series){job_trace_user(q->trace, r->shares.users[k]),
                                     r->share_points + k * r->shares.n_bins, r->shares.n_bins};
        titles[i] = mem_format("gpus of the users with the most, %s", r->name);
        plots[n_plots++] =
            (struct plot){titles[i], "hours", "gpus held", false, shares[i], r->shares.n_users};
    }
    e = sim_report(q->cli, columns, COUNT(columns), q->rows, plots, n_plots);
    for (size_t i = 0; i < n; i++)
        free(titles[i]);
    return e;
}

struct err *jobs_tell(struct jobs_question *q)
{
    const bool is_json = text_equal(flag_text(q->cli->in, "output"), "json");

    TRY(jobs_report(q));
    if (!flag_text(q->cli->in, "by") || is_json)
        return sim_print(q->cli, columns, COUNT(columns), q->rows);
    return sim_print(q->cli, group_columns, COUNT(group_columns), q->groups);
}
