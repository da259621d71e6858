#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/output.h"
#include "cli/sim.h"
#include "cli/stopwatch.h"
#include "sim/openb_run.h"
#include "sim/parallel.h"
#include "sim/trace_file.h"

enum {
    SEEDS_MAX = 1000,
    POLICIES_MAX = 16,
    THREADS_MAX = 256
};

/* How far a curve may be from the published one: of each seed; of random the mean of the seeds. */
static const double tolerance_each = 0.01;
static const double tolerance_random = 0.5;

struct run {
    const char *policy; /* in the comparison's list */
    uint64_t seed;
    struct openb_curves curves;
    struct err *failed;
    int64_t took_ns;
};

struct comparison {
    struct openb *trace;
    struct value_table *values; /* of policy mete, where it is among them */
    struct mete_values view;
    char *policies[POLICIES_MAX];
    size_t n_policies;
    uint64_t seeds[SEEDS_MAX];
    size_t n_seeds;
    struct run *runs; /* of each policy the seeds */
    size_t n_runs;
    struct sim_progress progress;
};

static void comparison_done(struct comparison *p)
{
    for (size_t i = 0; i < p->n_policies; i++)
        free(p->policies[i]);
    for (size_t i = 0; i < p->n_runs; i++)
        err_free(p->runs[i].failed);
    free(p->runs);
    openb_free(p->trace);
    value_table_free(p->values);
}

typedef struct err *(*read_fn)(struct openb *o, const char *file, struct str text);

static struct err *read_file(struct cli *c, const char *flag, read_fn read, struct openb *o)
{
    const char *path = flag_text(c->in, flag);
    AUTO(buf_done) struct buf text = {0};

    if (!path)
        return cli_usage(c, "sim openb wants --nodes, --pods, --arrivals and --noderank FILE");
    TRY(trace_file_read(path, &text));
    return read(o, path, (struct str){text.at, text.size});
}

/* "42-51", "42,44", "1,5-7" */
static struct err *read_seeds(struct cli *c, struct comparison *p)
{
    const char *list = flag_text(c->in, "seeds");
    struct str word;

    for (size_t i = 0; sim_list_at(list ? list : "42-51", i, &word); i++) {
        struct str to = word;
        struct str from = str_cut(&to, '-');
        uint64_t first = 0;
        uint64_t last = 0;
        AUTO(err_freep) struct err *e = num_parse_uint64(from, UINT32_MAX, &first);

        last = first;
        if (!e && to.at)
            e = num_parse_uint64(to, UINT32_MAX, &last);
        if (e || last < first)
            return cli_usage(c, "--seeds: \"%s\" is not known: want 42-51 or 42,44", list);
        for (uint64_t seed = first; seed <= last; seed++) {
            if (p->n_seeds == SEEDS_MAX)
                return cli_usage(c, "--seeds: over %d", SEEDS_MAX);
            p->seeds[p->n_seeds++] = seed;
        }
    }
    return NULL;
}

static struct err *read_policies(struct cli *c, struct comparison *p)
{
    const char *list = flag_text(c->in, "policies");
    struct str word;

    if (!list && flag_text(c->in, "check"))
        list = "random,dotprod,gpuclustering,gpupacking,bestfit,fgd";
    for (size_t i = 0; sim_list_at(list ? list : "bestfit,fgd,mete", i, &word); i++) {
        if (p->n_policies == POLICIES_MAX)
            return cli_usage(c, "--policies: over %d", POLICIES_MAX);
        p->policies[p->n_policies++] = mem_strndup(word.at, word.size);
    }
    return NULL;
}

static struct err *read_comparison(struct cli *c, struct comparison *p)
{
    p->trace = openb_new();
    TRY(read_seeds(c, p));
    TRY(read_policies(c, p));
    TRY(read_file(c, "nodes", openb_read_nodes, p->trace));
    TRY(read_file(c, "pods", openb_read_pods, p->trace));
    TRY(read_file(c, "arrivals", openb_read_arrivals, p->trace));
    TRY(read_file(c, "noderank", openb_read_ranks, p->trace));
    if (flag_text(c->in, "check"))
        TRY(read_file(c, "check", openb_read_published, p->trace));
    p->n_runs = p->n_policies * p->n_seeds;
    p->runs = mem_alloc(p->n_runs * sizeof(*p->runs));
    for (size_t i = 0; i < p->n_runs; i++) {
        p->runs[i].policy = p->policies[i / p->n_seeds];
        p->runs[i].seed = p->seeds[i % p->n_seeds];
    }
    return NULL;
}

static struct err *get_values(struct cli *c, struct comparison *p)
{
    const char *path = flag_text(c->in, "values");
    bool wants = false;

    for (size_t i = 0; i < p->n_policies; i++)
        wants |= text_equal(p->policies[i], "mete");
    if (!wants)
        return path ? cli_usage(c, "--values: policy mete is not among those compared") : NULL;
    if (path)
        TRY(sim_values_read(path, &p->values));
    else
        TRY(sim_values_learn(c, p->trace, &p->values));
    p->view = value_table_view(p->values);
    return NULL;
}

static void run_one(void *arg, size_t i)
{
    const struct comparison *p = arg;
    struct run *r = &p->runs[i];
    const struct openb_run_options options = {
        .policy = r->policy, .seed = r->seed, .values = p->values ? &p->view : NULL};
    const int64_t began = stopwatch_ns();

    r->failed = openb_run(p->trace, &options, &r->curves);
    r->took_ns = stopwatch_ns() - began;
}

static void on_done(void *arg, size_t done)
{
    struct comparison *p = arg;

    sim_progress_show(&p->progress, done);
}

static struct err *run_all(struct cli *c, struct comparison *p)
{
    int64_t width = flag_count(c->in, "threads", (int64_t)parallel_width());

    if (width < 1 || width > THREADS_MAX)
        return cli_usage(c, "--threads: want 1 to %d", THREADS_MAX);
    sim_progress_begin(&p->progress, c, "runs", p->n_runs);
    parallel_run(p->n_runs, (size_t)width, run_one, on_done, p);
    sim_progress_end(&p->progress);
    for (size_t i = 0; i < p->n_runs; i++)
        if (p->runs[i].failed)
            return err_wrap(TAKE(p->runs[i].failed), "policy %s", p->runs[i].policy);
    return NULL;
}

/* As the published files have it: a line a metric, policy and seed. */
static struct err *print_csv(struct cli *c, const struct comparison *p)
{
    AUTO(buf_done) struct buf out = {0};

    if (!flag_switch(c->in, "no-headers")) {
        buf_add_text(&out, "metric,policy,seed");
        for (int k = 0; k < OPENB_COLUMNS; k++)
            buf_printf(&out, ",%d", k);
        buf_add_char(&out, '\n');
    }
    for (size_t m = 0; m < OPENB_METRICS; m++) {
        for (size_t i = 0; i < p->n_runs; i++) {
            const struct run *r = &p->runs[i];

            buf_printf(&out, "%s,%s,%" PRIu64, openb_metric_name((enum openb_metric)m), r->policy,
                       r->seed);
            for (size_t k = 0; k < OPENB_COLUMNS; k++) {
                buf_add_char(&out, ',');
                if (r->curves.has[k])
                    buf_printf(&out, "%.4f", r->curves.at[m][k]);
            }
            buf_add_char(&out, '\n');
        }
    }
    return output_write(c, (struct str){out.at, out.size});
}

static const struct sim_column columns[] = {
    {"policy", "POLICY"},
    {"seeds", "#SEEDS"},
    {"unallocated_pct_at_100", "#UNALLOCATED % AT 100"},
    {"allocated_pct_at_130", "#ALLOCATED % AT 130"},
    {"frag_amount_pct_at_100", "#FRAGMENTED % AT 100"},
    {"dropped", "#DROPPED"},
    {"pods", "#PODS"},
    {"wall_s", "#TOOK"},
};

/* The mean over the seeds of policy `i` at column `k`. */
static double mean_at(const struct comparison *p, size_t i, enum openb_metric m, size_t k)
{
    double sum = 0;

    for (size_t s = 0; s < p->n_seeds; s++)
        sum += p->runs[i * p->n_seeds + s].curves.at[m][k];
    return sum / (double)p->n_seeds;
}

static json_t *row_of(const struct comparison *p, size_t i)
{
    uint64_t pods = 0;
    uint64_t dropped = 0;
    int64_t took_ns = 0;

    for (size_t s = 0; s < p->n_seeds; s++) {
        const struct run *r = &p->runs[i * p->n_seeds + s];

        pods += r->curves.pods;
        dropped += r->curves.dropped;
        took_ns += r->took_ns;
    }
    return json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "policy", p->policies[i], "seeds",
        (json_int_t)p->n_seeds, "unallocated_pct_at_100", 100 - mean_at(p, i, OPENB_ALLOC_PCT, 100),
        "allocated_pct_at_130", mean_at(p, i, OPENB_ALLOC_PCT, 130), "frag_amount_pct_at_100",
        mean_at(p, i, OPENB_FRAG_AMOUNT, 100), "dropped", (double)dropped / (double)p->n_seeds,
        "pods", (double)pods / (double)p->n_seeds, "wall_s", (double)took_ns / (double)NS_PER_SEC);
}

static json_t *rows_of(const struct comparison *p)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < p->n_policies; i++)
        (void)json_array_append_new(rows, row_of(p, i));
    return rows;
}

static const struct sim_column check_columns[] = {
    {"metric", "METRIC"}, {"policy", "POLICY"},
    {"seed", "#SEED"},    {"largest", "#LARGEST DIFFERENCE"},
    {"at", "#AT"},        {"allowed", "#ALLOWED"},
    {"ok", "OK"},
};

static const struct openb_published *find_published(const struct openb *o, const char *metric,
                                                    const char *policy, uint64_t seed)
{
    const struct openb_published *all = openb_published(o);

    for (size_t i = 0; i < openb_published_count(o); i++)
        if (all[i].seed == seed && text_equal(all[i].metric, metric) &&
            text_equal(all[i].policy, policy))
            return &all[i];
    return NULL;
}

struct verdict {
    json_t *rows;
    bool is_good;
};

static void add_verdict(struct verdict *v, const char *policy, const struct run *r,
                        const double difference[OPENB_COLUMNS], double allowed)
{
    size_t worst = 0;
    json_t *row;

    for (size_t k = 0; k < OPENB_COLUMNS; k++)
        if (difference[k] > difference[worst])
            worst = k;
    row = json_pack("{s:s, s:s, s:o, s:o?, s:I, s:f, s:b}", "metric", "alloc_pct", "policy", policy,
                    "seed", r ? json_integer((json_int_t)r->seed) : json_string("mean"), "largest",
                    json_real(difference[worst]), "at", (json_int_t)worst, "allowed", allowed, "ok",
                    difference[worst] <= allowed);
    (void)json_array_append_new(v->rows, row);
    v->is_good = v->is_good && difference[worst] <= allowed;
}

/* Seed by seed; of random, which is not the published generator, the mean. */
static struct err *check_policy(const struct comparison *p, size_t i, struct verdict *v)
{
    const bool is_random = text_equal(p->policies[i], "random");
    double mean[OPENB_COLUMNS] = {0};

    for (size_t s = 0; s < p->n_seeds; s++) {
        const struct run *r = &p->runs[i * p->n_seeds + s];
        const struct openb_published *want =
            find_published(p->trace, "alloc_pct", r->policy, r->seed);
        double difference[OPENB_COLUMNS];

        if (!want)
            return err_new(ERR_INVALID, "no published alloc_pct of %s with seed %" PRIu64,
                           r->policy, r->seed);
        for (size_t k = 0; k < OPENB_COLUMNS; k++) {
            const double is = r->curves.has[k] ? r->curves.at[OPENB_ALLOC_PCT][k] : HUGE_VAL;

            mean[k] += (is - want->at[k]) / (double)p->n_seeds;
            difference[k] = fabs(is - want->at[k]);
        }
        if (!is_random)
            add_verdict(v, r->policy, r, difference, tolerance_each);
    }
    for (size_t k = 0; k < OPENB_COLUMNS; k++)
        mean[k] = fabs(mean[k]);
    if (is_random)
        add_verdict(v, "random", NULL, mean, tolerance_random);
    return NULL;
}

static struct err *check_published(struct cli *c, const struct comparison *p, int64_t took_ns)
{
    AUTO(json_freep) json_t *rows = json_array();
    struct verdict v = {.rows = rows, .is_good = true};

    for (size_t i = 0; i < p->n_policies; i++)
        TRY(check_policy(p, i, &v));
    TRY(sim_print(c, check_columns, sizeof(check_columns) / sizeof(check_columns[0]), rows));
    cli_say(c, "%zu runs in %.2f s: %s", p->n_runs, (double)took_ns / (double)NS_PER_SEC,
            v.is_good ? "as published" : "not as published");
    if (!v.is_good)
        c->exit_code = EXIT_FAILED;
    return NULL;
}

static struct err *compare(struct cli *c, struct comparison *p)
{
    const int64_t began = stopwatch_ns();
    AUTO(json_freep) json_t *rows = NULL;

    TRY(read_comparison(c, p));
    TRY(get_values(c, p));
    TRY(run_all(c, p));
    if (flag_text(c->in, "check"))
        return check_published(c, p, stopwatch_ns() - began);
    if (text_equal(flag_text(c->in, "output"), "csv"))
        return print_csv(c, p);
    rows = rows_of(p);
    return sim_print(c, columns, sizeof(columns) / sizeof(columns[0]), rows);
}

struct err *sim_openb(struct cli *c)
{
    AUTO_FREE struct comparison *p = mem_alloc(sizeof(*p));
    struct err *e = compare(c, p);

    comparison_done(p);
    return e;
}
