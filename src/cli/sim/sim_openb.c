/* sim_openb.c - mete sim openb: the FGD experiments, and their output */

#include "cli/sim/sim_openb.h"

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/sim/sim_report.h"
#include "cli/sim/stopwatch.h"
#include "cli/term/output.h"
#include "sim/openb_run.h"

static const char *policies_of(const struct cli *c)
{
    return flag_text(c->in, "check") ? "random,dotprod,gpuclustering,gpupacking,bestfit,fgd"
                                     : "bestfit,fgd,mete";
}

static struct err *read_comparison(struct cli *c, struct openb_comparison *p)
{
    struct sim_compare *compare = &p->compare;

    TRY(sim_compare_read(c, compare, policies_of(c)));
    TRY(sim_compare_file(c, compare, "nodes", openb_read_nodes));
    TRY(sim_compare_file(c, compare, "pods", openb_read_pods));
    TRY(sim_compare_file(c, compare, "arrivals", openb_read_arrivals));
    TRY(sim_compare_file(c, compare, "noderank", openb_read_ranks));
    if (flag_text(c->in, "check"))
        TRY(sim_compare_file(c, compare, "check", openb_read_published));
    sim_openb_trials(p);
    return NULL;
}

/* The format of the published files: a line for each metric, policy and seed. */
static struct err *print_csv(struct cli *c, const struct openb_comparison *p)
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
            const struct openb_trial *r = &p->runs[i];

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

/* The mean over the seeds of policy `i` in column `k`. */
static double mean_at(const struct openb_comparison *p, size_t i, enum openb_metric m, size_t k)
{
    double sum = 0;

    for (size_t s = 0; s < p->compare.n_seeds; s++)
        sum += p->runs[i * p->compare.n_seeds + s].curves.at[m][k];
    return sum / (double)p->compare.n_seeds;
}

static json_t *openb_row(const struct openb_comparison *p, size_t i)
{
    uint64_t pods = 0;
    uint64_t dropped = 0;
    int64_t took_ns = 0;

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct openb_trial *r = &p->runs[i * p->compare.n_seeds + s];

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

/* Plots each metric, with a line for each policy: the mean over the seeds. */
static struct err *openb_report(struct cli *c, const struct openb_comparison *p, const json_t *rows)
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
    return sim_report(c, columns, COUNT(columns), rows, plots, OPENB_METRICS);
}

static json_t *rows_of(const struct openb_comparison *p)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < p->compare.n_policies; i++)
        (void)json_array_append_new(rows, openb_row(p, i));
    return rows;
}

static struct err *sim_openb_compare(struct cli *c, struct openb_comparison *p)
{
    const int64_t began = stopwatch_ns();
    AUTO(json_freep) json_t *rows = NULL;

    TRY(read_comparison(c, p));
    TRY(sim_compare_values(c, &p->compare));
    TRY(sim_openb_run(c, p));
    if (flag_text(c->in, "check"))
        return sim_openb_check(c, p, stopwatch_ns() - began);
    rows = rows_of(p);
    TRY(openb_report(c, p, rows));
    if (text_equal(flag_text(c->in, "output"), "csv"))
        return print_csv(c, p);
    return sim_print(c, columns, COUNT(columns), rows);
}

struct err *sim_openb(struct cli *c)
{
    AUTO_FREE struct openb_comparison *p = NULL;
    struct err *e;

    if (flag_text(c->in, "published"))
        return sim_openb_published(c);
    p = mem_alloc(sizeof(*p));
    e = sim_openb_compare(c, p);

    sim_openb_done(p);
    return e;
}
