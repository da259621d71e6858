#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/sim.h"
#include "cli/stopwatch.h"
#include "sim/job_trace.h"
#include "sim/replay.h"
#include "sim/summary.h"
#include "sim/trace_file.h"

enum {
    SIGMA_MAX_MILLI = 5000,
    POLICIES_MAX = 16
};

struct estimates {
    int64_t sigma_milli;
    uint64_t seed;
};

static const struct sim_column columns[] = {
    {"policy", "POLICY"},
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

static json_t *row_of(enum replay_policy policy, const struct summary *s, double wall_s)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:f}",
                     "policy", replay_policy_name(policy), "jobs", (json_int_t)s->jobs,
                     "mean_jct_s", s->mean_jct_s, "mean_wait_s", s->mean_wait_s, "p50_wait_s",
                     (json_int_t)s->p50_wait_s, "p95_wait_s", (json_int_t)s->p95_wait_s,
                     "p99_wait_s", (json_int_t)s->p99_wait_s, "max_wait_s",
                     (json_int_t)s->max_wait_s, "p50_jct_s", (json_int_t)s->p50_jct_s, "p95_jct_s",
                     (json_int_t)s->p95_jct_s, "p99_jct_s", (json_int_t)s->p99_jct_s, "utilization",
                     s->utilization, "preemptions", (json_int_t)s->preemptions, "makespan_s",
                     (json_int_t)s->makespan_s, "wall_s", wall_s);
}

static void on_progress(void *arg, size_t ended)
{
    sim_progress_show(arg, ended);
}

static struct err *run_one(struct cli *c, enum replay_policy policy, struct replay_options *options,
                           json_t *rows)
{
    AUTO_FREE struct replay_job *done = mem_alloc(options->n * sizeof(*done));
    struct sim_progress progress = {0};
    struct summary s = {0};
    int64_t began;
    struct err *e;

    sim_progress_begin(&progress, c, replay_policy_name(policy), options->n);
    options->progress = on_progress;
    options->arg = &progress;
    began = stopwatch_ns();
    e = replay_run(policy, options, done);
    sim_progress_end(&progress);
    if (e)
        return e;
    summary_make(options, done, &s);
    (void)json_array_append_new(
        rows, row_of(policy, &s, (double)(stopwatch_ns() - began) / (double)NS_PER_SEC));
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

struct err *sim_jobs(struct cli *c)
{
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(json_freep) json_t *rows = json_array();
    enum replay_policy policies[POLICIES_MAX];
    struct replay_options options = {0};
    size_t n = 0;

    TRY(read_pool(c, &options));
    TRY(read_policies(c, policies, &n));
    TRY(read_trace(c, &t));
    options.jobs = job_trace_jobs(t);
    options.n = job_trace_count(t);
    for (size_t i = 0; i < n; i++) {
        struct err *e = run_one(c, policies[i], &options, rows);

        if (e)
            return err_wrap(e, "%s", flag_text(c->in, "trace"));
    }
    return sim_print(c, columns, sizeof(columns) / sizeof(columns[0]), rows);
}
