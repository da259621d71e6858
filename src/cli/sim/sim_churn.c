/* sim_churn.c - mete sim churn: pods that arrive and end, under several policies */

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/sim/sim_compare.h"
#include "cli/sim/sim_report.h"
#include "cli/sim/stopwatch.h"
#include "sim/churn.h"

enum {
    LOAD_MAX_PCT = 200,
    ARRIVALS_MAX = 1 << 24,
    PODS_OF_EACH = 5 /* default of --arrivals */
};

struct run {
    struct churn result;
    struct err *failed;
    int64_t took_ns;
};

struct comparison {
    struct sim_compare compare; /* first member */
    struct churn_options options;
    struct run *runs;
};

static const struct sim_column columns[] = {
    {"policy", "POLICY"},
    {"seeds", "#SEEDS"},
    {"allocated_pct", "#ALLOCATED %"},
    {"fragmented_pct", "#FRAGMENTED %"},
    {"rejected_pct", "#REJECTED PODS %"},
    {"rejected_gpu_pct", "#REJECTED GPU %"},
    {"rejected_work_pct", "#REJECTED GPU TIME %"},
    {"pods", "#PODS"},
    {"wall_s", "#TOOK"},
};

static struct err *read_options(struct cli *c, struct comparison *p)
{
    const int64_t load = flag_count(c->in, "load", 95);
    const char *arrivals = flag_text(c->in, "arrivals");
    int64_t n = (int64_t)openb_pod_count(p->compare.trace) * PODS_OF_EACH;

    if (load < 1 || load > LOAD_MAX_PCT)
        return cli_usage(c, "--load: want 1 to %d (percent)", LOAD_MAX_PCT);
    if (arrivals) {
        AUTO(err_freep)
        struct err *e = num_parse_int64(str_of(arrivals), 1, ARRIVALS_MAX, &n);

        if (e)
            return cli_usage(c, "sim churn: --arrivals: %s", err_message(e));
    }
    p->options.load_pct = (uint32_t)load;
    p->options.arrivals = (size_t)n;
    return NULL;
}

static void churn_run_one(void *arg, size_t i)
{
    const struct comparison *p = arg;
    struct churn_options options = p->options;
    const int64_t began = stopwatch_ns();

    options.policy = p->compare.policies[i / p->compare.n_seeds];
    options.seed = p->compare.seeds[i % p->compare.n_seeds];
    p->runs[i].failed = churn_run(p->compare.trace, &options, &p->runs[i].result);
    p->runs[i].took_ns = stopwatch_ns() - began;
}

static json_t *churn_row(const struct comparison *p, size_t i)
{
    const double n = (double)p->compare.n_seeds;
    struct churn mean = {0};
    int64_t took_ns = 0;

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct run *r = &p->runs[i * p->compare.n_seeds + s];

        mean.allocated_pct += r->result.allocated_pct / n;
        mean.fragmented_pct += r->result.fragmented_pct / n;
        mean.rejected_pct += r->result.rejected_pct / n;
        mean.rejected_gpu_pct += r->result.rejected_gpu_pct / n;
        mean.rejected_work_pct += r->result.rejected_work_pct / n;
        mean.pods += r->result.pods;
        took_ns += r->took_ns;
    }
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "policy",
                     p->compare.policies[i], "seeds", (json_int_t)p->compare.n_seeds,
                     "allocated_pct", mean.allocated_pct, "fragmented_pct", mean.fragmented_pct,
                     "rejected_pct", mean.rejected_pct, "rejected_gpu_pct", mean.rejected_gpu_pct,
                     "rejected_work_pct", mean.rejected_work_pct, "pods", (json_int_t)mean.pods,
                     "wall_s", (double)took_ns / (double)NS_PER_SEC);
}

static struct err *sim_churn_compare(struct cli *c, struct comparison *p)
{
    AUTO(json_freep) json_t *rows = json_array();

    TRY(sim_compare_read(c, &p->compare, "bestfit,fgd,mete"));
    TRY(sim_compare_file(c, &p->compare, "nodes", openb_read_nodes));
    TRY(sim_compare_file(c, &p->compare, "pods", openb_read_pods));
    TRY(read_options(c, p));
    TRY(sim_compare_values(c, &p->compare));
    p->options.values = p->compare.values ? &p->compare.view : NULL;
    p->runs = mem_alloc(p->compare.n_runs * sizeof(*p->runs));
    TRY(sim_compare_run(c, churn_run_one, p));
    for (size_t i = 0; i < p->compare.n_runs; i++)
        if (p->runs[i].failed)
            return err_wrap(TAKE(p->runs[i].failed), "policy %s",
                            p->compare.policies[i / p->compare.n_seeds]);
    for (size_t i = 0; i < p->compare.n_policies; i++)
        (void)json_array_append_new(rows, churn_row(p, i));
    TRY(sim_report(c, columns, COUNT(columns), rows, NULL, 0));
    return sim_print(c, columns, COUNT(columns), rows);
}

struct err *sim_churn(struct cli *c)
{
    AUTO_FREE struct comparison *p = mem_alloc(sizeof(*p));
    struct err *e = sim_churn_compare(c, p);

    for (size_t i = 0; p->runs && i < p->compare.n_runs; i++)
        err_free(p->runs[i].failed);
    free(p->runs);
    sim_compare_done(&p->compare);
    return e;
}
