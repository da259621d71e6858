#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/output.h"
#include "cli/sim_compare.h"
#include "cli/sim_report.h"
#include "cli/stopwatch.h"
#include "sim/openb_run.h"

/* How far a curve may be from the published one: of each seed; of random the mean of the seeds. */
static const double tolerance_each = 0.01;
static const double tolerance_random = 0.5;
/* Of the fragmentation, which was rounded at each event. */
static const double tolerance_fragmented = 0.02;

struct run {
    const char *policy; /* in the comparison's list */
    uint64_t seed;
    struct openb_curves curves;
    struct err *failed;
    int64_t took_ns;
};

struct comparison {
    struct sim_compare compare; /* first */
    struct run *runs;
};

static const char *policies_of(const struct cli *c)
{
    return flag_text(c->in, "check") ? "random,dotprod,gpuclustering,gpupacking,bestfit,fgd"
                                     : "bestfit,fgd,mete";
}

static struct err *read_comparison(struct cli *c, struct comparison *p)
{
    struct sim_compare *compare = &p->compare;

    TRY(sim_compare_read(c, compare, policies_of(c)));
    TRY(sim_compare_file(c, compare, "nodes", openb_read_nodes));
    TRY(sim_compare_file(c, compare, "pods", openb_read_pods));
    TRY(sim_compare_file(c, compare, "arrivals", openb_read_arrivals));
    TRY(sim_compare_file(c, compare, "noderank", openb_read_ranks));
    if (flag_text(c->in, "check"))
        TRY(sim_compare_file(c, compare, "check", openb_read_published));
    p->runs = mem_alloc(compare->n_runs * sizeof(*p->runs));
    for (size_t i = 0; i < compare->n_runs; i++) {
        p->runs[i].policy = compare->policies[i / compare->n_seeds];
        p->runs[i].seed = compare->seeds[i % compare->n_seeds];
    }
    return NULL;
}

static void run_one(void *arg, size_t i)
{
    const struct comparison *p = arg;
    struct run *r = &p->runs[i];
    const struct openb_run_options options = {.policy = r->policy,
                                              .seed = r->seed,
                                              .values =
                                                  p->compare.values ? &p->compare.view : NULL};
    const int64_t began = stopwatch_ns();

    r->failed = openb_run(p->compare.trace, &options, &r->curves);
    r->took_ns = stopwatch_ns() - began;
}

static struct err *run_all(struct cli *c, struct comparison *p)
{
    TRY(sim_compare_run(c, run_one, p));
    for (size_t i = 0; i < p->compare.n_runs; i++)
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
        for (size_t i = 0; i < p->compare.n_runs; i++) {
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

    for (size_t s = 0; s < p->compare.n_seeds; s++)
        sum += p->runs[i * p->compare.n_seeds + s].curves.at[m][k];
    return sum / (double)p->compare.n_seeds;
}

static json_t *row_of(const struct comparison *p, size_t i)
{
    uint64_t pods = 0;
    uint64_t dropped = 0;
    int64_t took_ns = 0;

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct run *r = &p->runs[i * p->compare.n_seeds + s];

        pods += r->curves.pods;
        dropped += r->curves.dropped;
        took_ns += r->took_ns;
    }
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "policy", p->compare.policies[i],
                     "seeds", (json_int_t)p->compare.n_seeds, "unallocated_pct_at_100",
                     100 - mean_at(p, i, OPENB_ALLOC_PCT, 100), "allocated_pct_at_130",
                     mean_at(p, i, OPENB_ALLOC_PCT, 130), "frag_amount_pct_at_100",
                     mean_at(p, i, OPENB_FRAG_AMOUNT, 100), "dropped",
                     (double)dropped / (double)p->compare.n_seeds, "pods",
                     (double)pods / (double)p->compare.n_seeds, "wall_s",
                     (double)took_ns / (double)NS_PER_SEC);
}

/* Of each metric a plot, of each policy a line: the mean over the seeds. */
static struct err *report(struct cli *c, const struct comparison *p, const json_t *rows)
{
    static const char *const titles[OPENB_METRICS] = {
        "allocated GPU", "fragmented share of the idle GPU", "fragmented GPU"};
    const size_t n = p->compare.n_policies;
    AUTO_FREE struct plot_point *points =
        mem_alloc(OPENB_METRICS * n * OPENB_COLUMNS * sizeof(*points));
    struct plot_series series[OPENB_METRICS][SIM_POLICIES_MAX];
    struct plot plots[OPENB_METRICS];
    struct plot_point *at = points;

    for (size_t m = 0; m < OPENB_METRICS; m++) {
        for (size_t i = 0; i < n; i++, at += OPENB_COLUMNS) {
            for (size_t k = 0; k < OPENB_COLUMNS; k++)
                at[k] = (struct plot_point){(double)k, p->runs[i * p->compare.n_seeds].curves.has[k]
                                                           ? mean_at(p, i, (enum openb_metric)m, k)
                                                           : (double)NAN};
            series[m][i] = (struct plot_series){p->compare.policies[i], at, OPENB_COLUMNS};
        }
        plots[m] =
            (struct plot){titles[m], "requested GPU, % of the capacity", "%", false, series[m], n};
    }
    return sim_report(c, columns, sizeof(columns) / sizeof(columns[0]), rows, plots, OPENB_METRICS);
}

static json_t *rows_of(const struct comparison *p)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < p->compare.n_policies; i++)
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

static void add_verdict(struct verdict *v, enum openb_metric m, const char *policy,
                        const struct run *r, const double difference[OPENB_COLUMNS])
{
    const double each = m == OPENB_ALLOC_PCT ? tolerance_each : tolerance_fragmented;
    const double allowed = r ? each : tolerance_random;
    size_t worst = 0;
    json_t *row;

    for (size_t k = 0; k < OPENB_COLUMNS; k++)
        if (difference[k] > difference[worst])
            worst = k;
    row =
        json_pack("{s:s, s:s, s:o, s:o?, s:I, s:f, s:b}", "metric", openb_metric_name(m), "policy",
                  policy, "seed", r ? json_integer((json_int_t)r->seed) : json_string("mean"),
                  "largest", json_real(difference[worst]), "at", (json_int_t)worst, "allowed",
                  allowed, "ok", difference[worst] <= allowed);
    (void)json_array_append_new(v->rows, row);
    v->is_good = v->is_good && difference[worst] <= allowed;
}

/* Seed by seed; of random, whose numbers are not the published ones, the mean of what it allocates.
 */
static struct err *check_policy(const struct comparison *p, enum openb_metric m, size_t i,
                                struct verdict *v)
{
    const bool is_random = text_equal(p->compare.policies[i], "random");
    double mean[OPENB_COLUMNS] = {0};

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct run *r = &p->runs[i * p->compare.n_seeds + s];
        const struct openb_published *want =
            find_published(p->compare.trace, openb_metric_name(m), r->policy, r->seed);
        double difference[OPENB_COLUMNS];

        if (!want)
            return err_new(ERR_INVALID, "no published %s of %s with seed %" PRIu64,
                           openb_metric_name(m), r->policy, r->seed);
        for (size_t k = 0; k < OPENB_COLUMNS; k++) {
            const double is = r->curves.has[k] ? r->curves.at[m][k] : HUGE_VAL;

            mean[k] += (is - want->at[k]) / (double)p->compare.n_seeds;
            difference[k] = fabs(is - want->at[k]);
        }
        if (!is_random)
            add_verdict(v, m, r->policy, r, difference);
    }
    for (size_t k = 0; k < OPENB_COLUMNS; k++)
        mean[k] = fabs(mean[k]);
    if (is_random && m == OPENB_ALLOC_PCT)
        add_verdict(v, m, "random", NULL, mean);
    return NULL;
}

static struct err *check_published(struct cli *c, const struct comparison *p, int64_t took_ns)
{
    AUTO(json_freep) json_t *rows = json_array();
    struct verdict v = {.rows = rows, .is_good = true};

    for (size_t m = 0; m < OPENB_METRICS; m++)
        for (size_t i = 0; i < p->compare.n_policies; i++)
            TRY(check_policy(p, (enum openb_metric)m, i, &v));
    TRY(sim_print(c, check_columns, sizeof(check_columns) / sizeof(check_columns[0]), rows));
    cli_say(c, "%zu runs in %.2f s: %s", p->compare.n_runs, (double)took_ns / (double)NS_PER_SEC,
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
    TRY(sim_compare_values(c, &p->compare));
    TRY(run_all(c, p));
    if (flag_text(c->in, "check"))
        return check_published(c, p, stopwatch_ns() - began);
    rows = rows_of(p);
    TRY(report(c, p, rows));
    if (text_equal(flag_text(c->in, "output"), "csv"))
        return print_csv(c, p);
    return sim_print(c, columns, sizeof(columns) / sizeof(columns[0]), rows);
}

struct err *sim_openb(struct cli *c)
{
    AUTO_FREE struct comparison *p = mem_alloc(sizeof(*p));
    struct err *e = compare(c, p);

    for (size_t i = 0; p->runs && i < p->compare.n_runs; i++)
        err_free(p->runs[i].failed);
    free(p->runs);
    sim_compare_done(&p->compare);
    return e;
}
