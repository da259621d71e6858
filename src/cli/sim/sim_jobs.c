/* sim_jobs.c - mete sim jobs: job traces replayed under several policies */

#include "cli/sim/sim_jobs.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/sim/stopwatch.h"
#include "model/quantity.h"
#include "sim/trace_file.h"

enum {
    SIGMA_MAX_MILLI = 5000
};

struct estimates {
    int64_t sigma_milli;
    uint64_t seed;
};

/* "1", "0.25" */
static struct err *parse_sigma(struct str text, int64_t *ret_milli)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = quantity_parse(text, &q);

    if (e || q.milli < 0 || q.milli > SIGMA_MAX_MILLI)
        return err_new(ERR_INVALID, "'" STR_FMT "': want a number from 0 to %d", STR_ARG(text),
                       SIGMA_MAX_MILLI / 1000);
    *ret_milli = q.milli;
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
            e = parse_sigma(value, &ret->sigma_milli);
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
        return cli_usage(c, "sim jobs needs --nodes N, from 1 to %d, --cluster FILE or --from live",
                         POOL_NODES_MAX);
    if (gpus < 1 || gpus > POOL_GPUS_MAX)
        return cli_usage(c, "--gpus-per-node: want 1 to %d", POOL_GPUS_MAX);
    ret->nodes = (uint32_t)nodes;
    ret->gpus_per_node = (uint32_t)gpus;
    return NULL;
}

static struct err *read_trace(struct jobs_question *q)
{
    struct cli *c = q->cli;
    const struct job_trace_options options = {.vc = flag_text(c->in, "vc")};
    const char *path = flag_text(c->in, "trace");
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(buf_done) struct buf text = {0};
    struct estimates estimates;

    if (!path)
        return cli_usage(c, "sim jobs needs --trace FILE");
    TRY(parse_estimates(c, &estimates));
    TRY(trace_file_read(path, &text));
    TRY(job_trace_parse(path, (struct str){text.at, text.size}, &options, &t));
    if (job_trace_needs_cluster(t) && !q->cluster)
        return err_new(ERR_INVALID,
                       "%s: a pool of equal nodes does not support '%s': want --cluster FILE", path,
                       job_trace_needs_cluster(t));
    job_trace_estimate(t, estimates.sigma_milli, estimates.seed);
    q->options.jobs = job_trace_jobs(t);
    q->options.n = job_trace_count(t);
    q->trace = TAKE(t);
    return NULL;
}

static void on_progress(void *arg, size_t ended)
{
    sim_progress_show(arg, ended);
}

/* The target of a run: a pool or a cluster. */
struct target {
    struct sim_cluster *cluster;
    uint32_t nodes;
};

static struct err *sim_jobs_replay(struct jobs_question *q, const char *policy,
                                   const struct target *t, const struct replay_options *options,
                                   struct replay_job *done)
{
    struct cluster_replay on_cluster = {
        .cluster = t->cluster, .trace = q->trace, .options = *options};
    enum replay_policy on_pool = REPLAY_FIFO;

    if (!t->cluster) {
        TRY(replay_policy_parse(str_of(policy), &on_pool));
        return replay_run(on_pool, options, done);
    }
    TRY(cluster_policy_parse(str_of(policy), &on_cluster.policy));
    return cluster_replay_run(&on_cluster, done);
}

static struct err *jobs_run_one(struct jobs_question *q, const char *policy, const struct target *t)
{
    struct jobs_run *r = &q->runs[q->n_runs++];
    struct replay_options options = q->options;
    AUTO_FREE struct replay_job *done = mem_alloc(options.n * sizeof(*done));
    struct sim_progress progress = {0};
    struct replay_moves moves = {0};
    int64_t began;
    struct err *e;

    r->policy = mem_strdup(policy);
    r->nodes = t->cluster ? sim_cluster_node_count(t->cluster) : t->nodes;
    r->name = flag_text(q->cli->in, "what-if") ? mem_format("%s, %zu nodes", policy, r->nodes)
                                               : mem_strdup(policy);
    options.nodes = t->nodes;
    options.gpus = t->cluster ? sim_cluster_gpus(t->cluster) : 0;
    options.progress = on_progress;
    options.arg = &progress;
    options.moved = replay_note;
    options.moved_arg = &moves;
    sim_progress_begin(&progress, q->cli, r->name, options.n);
    began = stopwatch_ns();
    e = sim_jobs_replay(q, policy, t, &options, done);
    sim_progress_end(&progress);
    if (e) {
        e = err_wrap(e, "%s: policy %s", flag_text(q->cli->in, "trace"), policy);
    } else {
        began = stopwatch_ns() - began;
        jobs_rows_add(q, r, &options, done, &moves, (double)began / (double)NS_PER_SEC);
    }
    vec_done(&moves.all);
    return e;
}

/* Reads "add 8 x 8xH100" as 8, "remove 2" as -2. `gpus` is the number of gpus of each node. */
static struct err *parse_change(struct str text, uint32_t gpus, int64_t *ret)
{
    struct jobs_change change;

    TRY(jobs_change_parse(text, &change));
    if (change.gpus != 0 && change.gpus != gpus)
        return err_new(ERR_INVALID,
                       "nodes of %u gpus in a pool of nodes of %u: all nodes must be equal",
                       change.gpus, gpus);
    *ret = change.nodes;
    return NULL;
}

static struct err *read_what_if(struct jobs_question *q)
{
    struct cli *c = q->cli;
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
        return cli_usage(c, "--what-if: the change gives %d nodes: want 1 to %d", (int)change,
                         POOL_NODES_MAX);
    q->nodes_then = (uint32_t)change;
    return NULL;
}

static struct err *check_policy(const struct jobs_question *q, struct str word)
{
    enum replay_policy on_pool;
    struct cluster_policy on_cluster;

    return q->cluster ? cluster_policy_parse(word, &on_cluster)
                      : replay_policy_parse(word, &on_pool);
}

static struct err *read_policies(struct jobs_question *q)
{
    const char *list = flag_text(q->cli->in, "policies");
    const char *all = q->cluster ? "fifo,sjf,engine" : "fifo,sjf,srtf,mete";
    struct str word;

    for (size_t i = 0; sim_list_at(list ? list : all, i, &word); i++) {
        AUTO(err_freep) struct err *e = NULL;

        if (q->n_policies == JOBS_POLICIES_MAX)
            return cli_usage(q->cli, "--policies: over %d", JOBS_POLICIES_MAX);
        e = check_policy(q, word);
        if (e)
            return cli_usage(q->cli, "--policies: %s", err_message(e));
        q->policies[q->n_policies++] = mem_strndup(word.at, word.size);
    }
    return NULL;
}

static struct err *read_target(struct jobs_question *q)
{
    TRY(jobs_cluster_read(q));
    if (q->cluster)
        return NULL;
    TRY(read_pool(q->cli, &q->options));
    return read_what_if(q);
}

static struct err *sim_jobs_answer(struct jobs_question *q)
{
    TRY(read_target(q));
    TRY(read_policies(q));
    TRY(read_trace(q));
    TRY(jobs_price_read(q));
    jobs_groups_find(q);
    for (size_t i = 0; i < q->n_policies; i++) {
        TRY(jobs_run_one(q, q->policies[i], &(struct target){q->cluster, q->options.nodes}));
        if (q->cluster_then || q->nodes_then)
            TRY(jobs_run_one(q, q->policies[i], &(struct target){q->cluster_then, q->nodes_then}));
    }
    return jobs_tell(q);
}

static void question_done(struct jobs_question *q)
{
    for (size_t i = 0; i < q->n_runs; i++) {
        free(q->runs[i].name);
        free(q->runs[i].policy);
        free(q->runs[i].share_points);
        share_curves_done(&q->runs[i].shares);
    }
    for (size_t i = 0; i < q->n_policies; i++)
        free(q->policies[i]);
    json_decref(q->rows);
    json_decref(q->groups);
    free(q->price.currency);
    free(q->price.of_ask);
    free(q->size_of);
    free(q->user_of);
    free(q->users);
    sim_cluster_free(q->cluster);
    sim_cluster_free(q->cluster_then);
    job_trace_free(q->trace);
}

struct err *sim_jobs(struct cli *c)
{
    AUTO_FREE struct jobs_question *q = mem_alloc(sizeof(*q));
    struct err *e;

    q->cli = c;
    q->rows = json_array();
    q->groups = json_array();
    e = sim_jobs_answer(q);
    question_done(q);
    return e;
}
