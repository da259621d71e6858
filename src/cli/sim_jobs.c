#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/sim_report.h"
#include "cli/stopwatch.h"
#include "sim/job_trace.h"
#include "sim/replay.h"
#include "sim/summary.h"
#include "sim/trace_file.h"

enum {
    SIGMA_MAX_MILLI = 5000,
    POLICIES_MAX = 16,
    RUNS_MAX = 2 * POLICIES_MAX,
    POINTS = 200 /* of a curve */
};

struct estimates {
    int64_t sigma_milli;
    uint64_t seed;
};

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
    {"makespan_s", "!#MAKESPAN"},
    {"wall_s", "#TOOK"},
};

/* "1", "0.25": in 1/1000. */
static struct err *parse_milli(struct str text, int64_t max, int64_t *ret)
{
    struct str fraction = text;
    struct str whole = str_cut(&fraction, '.');
    int64_t units = 0;
    int64_t milli = 0;

    TRY(num_parse_int64(whole, 0, max / 1000, &units));
    if (fraction.at) {
        if (fraction.size > 3)
            return err_new(ERR_INVALID, "'" STR_FMT "': want at most 3 decimals", STR_ARG(text));
        TRY(num_parse_int64(fraction, 0, 999, &milli));
        for (size_t i = fraction.size; i < 3; i++)
            milli *= 10;
    }
    *ret = units * 1000 + milli;
    return NULL;
}

/* "sigma=1,seed=7" */
static struct err *parse_estimates(struct cli *c, struct estimates *ret)
{
    const char *text = flag_text(c->in, "estimates");
    struct str word;

    *ret = (struct estimates){.seed = 1};
    for (size_t i = 0; text && sim_list_at(text, i, &word); i++) {
        struct str value = word;
        struct str key = str_cut(&value, '=');
        AUTO(err_freep) struct err *e = NULL;

        if (value.at && str_equal(key, STR("sigma")))
            e = parse_milli(value, SIGMA_MAX_MILLI, &ret->sigma_milli);
        else if (value.at && str_equal(key, STR("seed")))
            e = num_parse_uint64(value, UINT64_MAX, &ret->seed);
        else
            return cli_usage(c, "--estimates: \"%s\" is not known: want sigma=1,seed=7", text);
        if (e)
            return cli_usage(c, "--estimates: " STR_FMT ": %s", STR_ARG(key), err_message(e));
    }
    return NULL;
}

static struct err *read_pool(struct cli *c, struct replay_options *ret)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t nodes = 0;
    const int64_t gpus = flag_count(c->in, "gpus-per-node", 8);

    e = num_parse_int64(str_of(flag_text(c->in, "nodes")), 1, POOL_NODES_MAX, &nodes);
    if (e)
        return cli_usage(c, "sim jobs wants --nodes N, from 1 to %d", POOL_NODES_MAX);
    if (gpus < 1 || gpus > POOL_GPUS_MAX)
        return cli_usage(c, "--gpus-per-node: want 1 to %d", POOL_GPUS_MAX);
    ret->nodes = (uint32_t)nodes;
    ret->gpus_per_node = (uint32_t)gpus;
    return NULL;
}

static struct err *read_trace(struct cli *c, struct job_trace **ret)
{
    const struct job_trace_options options = {.vc = flag_text(c->in, "vc")};
    const char *path = flag_text(c->in, "trace");
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(buf_done) struct buf text = {0};
    struct estimates estimates;

    if (!path)
        return cli_usage(c, "sim jobs wants --trace FILE");
    TRY(parse_estimates(c, &estimates));
    TRY(trace_file_read(path, &text));
    TRY(job_trace_parse(path, (struct str){text.at, text.size}, &options, &t));
    job_trace_estimate(t, estimates.sigma_milli, estimates.seed);
    *ret = TAKE(t);
    return NULL;
}

/* One policy on one pool. */
struct run {
    char *name; /* of plots: "mete", "mete, 21 nodes" */
    enum replay_policy policy;
    uint32_t nodes;
    struct plot_point waits[POINTS + 1]; /* seconds, % of jobs */
    struct plot_point jcts[POINTS + 1];
};

struct question {
    struct job_trace *trace;
    struct replay_options options;
    enum replay_policy policies[POLICIES_MAX];
    size_t n_policies;
    uint32_t nodes_then; /* of --what-if; 0: none */
    struct run runs[RUNS_MAX];
    size_t n_runs;
    json_t *rows;
};

static json_t *row_of(const struct run *r, const struct summary *s, double wall_s)
{
    return json_pack(
        "{s:s, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:f}",
        "policy", replay_policy_name(r->policy), "nodes", (json_int_t)r->nodes, "jobs",
        (json_int_t)s->jobs, "mean_jct_s", s->mean_jct_s, "mean_wait_s", s->mean_wait_s,
        "p50_wait_s", (json_int_t)s->p50_wait_s, "p95_wait_s", (json_int_t)s->p95_wait_s,
        "p99_wait_s", (json_int_t)s->p99_wait_s, "max_wait_s", (json_int_t)s->max_wait_s,
        "p50_jct_s", (json_int_t)s->p50_jct_s, "p95_jct_s", (json_int_t)s->p95_jct_s, "p99_jct_s",
        (json_int_t)s->p99_jct_s, "utilization", s->utilization, "preemptions",
        (json_int_t)s->preemptions, "makespan_s", (json_int_t)s->makespan_s, "wall_s", wall_s);
}

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* How many of `n` times are at most so long; sorts them. */
static void make_curve(int64_t *times, size_t n, struct plot_point ret[POINTS + 1])
{
    qsort(times, n, sizeof(*times), compare_int64);
    for (size_t i = 0; i <= POINTS; i++) {
        const size_t at = (n - 1) * i / POINTS;

        ret[i].x = (double)times[at];
        ret[i].y = 100.0 * (double)i / POINTS;
    }
}

static void make_curves(const struct replay_options *options, const struct replay_job *done,
                        struct run *r)
{
    AUTO_FREE int64_t *times = mem_alloc(options->n * sizeof(*times));

    for (size_t i = 0; i < options->n; i++)
        times[i] = replay_job_wait(&options->jobs[i], &done[i]);
    make_curve(times, options->n, r->waits);
    for (size_t i = 0; i < options->n; i++)
        times[i] = done[i].end_s - options->jobs[i].submit_s;
    make_curve(times, options->n, r->jcts);
}

static void on_progress(void *arg, size_t ended)
{
    sim_progress_show(arg, ended);
}

static struct err *run_one(struct cli *c, struct question *q, enum replay_policy policy,
                           uint32_t nodes)
{
    struct run *r = &q->runs[q->n_runs++];
    struct replay_options options = q->options;
    AUTO_FREE struct replay_job *done = mem_alloc(options.n * sizeof(*done));
    struct sim_progress progress = {0};
    struct summary s = {0};
    int64_t began;
    struct err *e;

    r->policy = policy;
    r->nodes = nodes;
    r->name = q->nodes_then ? mem_format("%s, %u nodes", replay_policy_name(policy), nodes)
                            : mem_strdup(replay_policy_name(policy));
    sim_progress_begin(&progress, c, r->name, options.n);
    options.nodes = nodes;
    options.progress = on_progress;
    options.arg = &progress;
    began = stopwatch_ns();
    e = replay_run(policy, &options, done);
    sim_progress_end(&progress);
    if (e)
        return err_wrap(e, "%s", flag_text(c->in, "trace"));
    began = stopwatch_ns() - began;
    summary_make(&options, done, &s);
    make_curves(&options, done, r);
    (void)json_array_append_new(q->rows, row_of(r, &s, (double)began / (double)NS_PER_SEC));
    return NULL;
}

/* "add 8 x 8xH100": 8; "remove 2": -2. `gpus` is what a node has. */
static struct err *parse_change(struct str text, uint32_t gpus, int64_t *ret)
{
    struct str rest = text;
    struct str verb = str_cut(&rest, ' ');
    struct str count = str_cut(&rest, ' ');
    const bool is_removal = str_equal(verb, STR("remove"));
    int64_t n = 0;
    int64_t each = 0;

    if (!is_removal && !str_equal(verb, STR("add")))
        return err_new(ERR_INVALID, "'" STR_FMT "' is no change", STR_ARG(verb));
    TRY(num_parse_int64(count, 1, POOL_NODES_MAX, &n));
    if (rest.at) {
        struct str x = str_cut(&rest, ' ');
        struct str size = str_cut(&rest, 'x');

        if (!str_equal(x, STR("x")))
            return err_new(ERR_INVALID, "'" STR_FMT "' is not x", STR_ARG(x));
        TRY(num_parse_int64(size, 1, POOL_GPUS_MAX, &each));
        if (each != gpus)
            return err_new(ERR_INVALID, "nodes of %d gpus among nodes of %u: all are alike",
                           (int)each, gpus);
    }
    *ret = is_removal ? -n : n;
    return NULL;
}

static struct err *read_what_if(struct cli *c, struct question *q)
{
    const char *text = flag_text(c->in, "what-if");
    AUTO(err_freep) struct err *e = NULL;
    int64_t change = 0;

    if (!text)
        return NULL;
    e = parse_change(str_of(text), q->options.gpus_per_node, &change);
    if (e)
        return cli_usage(c, "--what-if \"%s\": %s: want 'add 8 x %uxH100' or 'remove 2'", text,
                         err_message(e), q->options.gpus_per_node);
    change += q->options.nodes;
    if (change < 1 || change > POOL_NODES_MAX)
        return cli_usage(c, "--what-if: that makes %d nodes: want 1 to %d", (int)change,
                         POOL_NODES_MAX);
    q->nodes_then = (uint32_t)change;
    return NULL;
}

static struct err *read_policies(struct cli *c, enum replay_policy ret[POLICIES_MAX],
                                 size_t *ret_count)
{
    const char *list = flag_text(c->in, "policies");
    struct str word;
    size_t n = 0;

    for (; sim_list_at(list ? list : "fifo,sjf,srtf,mete", n, &word); n++) {
        AUTO(err_freep) struct err *e = NULL;

        if (n == POLICIES_MAX)
            return cli_usage(c, "--policies: over %d", POLICIES_MAX);
        e = replay_policy_parse(word, &ret[n]);
        if (e)
            return cli_usage(c, "--policies: %s", err_message(e));
    }
    *ret_count = n;
    return NULL;
}

static struct err *report(struct cli *c, const struct question *q)
{
    struct plot_series waits[RUNS_MAX];
    struct plot_series jcts[RUNS_MAX];
    const size_t n = q->n_runs < PLOT_SERIES_MAX ? q->n_runs : PLOT_SERIES_MAX;
    const struct plot plots[] = {
        {"wait, over the jobs", "seconds of waiting", "% of jobs", true, waits, n},
        {"completion time, over the jobs", "seconds from submit to end", "% of jobs", true, jcts,
         n},
    };

    for (size_t i = 0; i < n; i++) {
        waits[i] = (struct plot_series){q->runs[i].name, q->runs[i].waits, POINTS + 1};
        jcts[i] = (struct plot_series){q->runs[i].name, q->runs[i].jcts, POINTS + 1};
    }
    return sim_report(c, columns, sizeof(columns) / sizeof(columns[0]), q->rows, plots,
                      sizeof(plots) / sizeof(plots[0]));
}

static struct err *answer(struct cli *c, struct question *q)
{
    TRY(read_pool(c, &q->options));
    TRY(read_policies(c, q->policies, &q->n_policies));
    TRY(read_what_if(c, q));
    TRY(read_trace(c, &q->trace));
    q->options.jobs = job_trace_jobs(q->trace);
    q->options.n = job_trace_count(q->trace);
    for (size_t i = 0; i < q->n_policies; i++) {
        TRY(run_one(c, q, q->policies[i], q->options.nodes));
        if (q->nodes_then)
            TRY(run_one(c, q, q->policies[i], q->nodes_then));
    }
    TRY(report(c, q));
    return sim_print(c, columns, sizeof(columns) / sizeof(columns[0]), q->rows);
}

struct err *sim_jobs(struct cli *c)
{
    AUTO_FREE struct question *q = mem_alloc(sizeof(*q));
    struct err *e;

    q->rows = json_array();
    e = answer(c, q);
    for (size_t i = 0; i < q->n_runs; i++)
        free(q->runs[i].name);
    json_decref(q->rows);
    job_trace_free(q->trace);
    return e;
}
