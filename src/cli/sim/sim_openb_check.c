/* sim_openb_check.c - comparison of FGD runs with the published curves */

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/sim/sim_openb.h"
#include "cli/sim/stopwatch.h"

void sim_openb_trials(struct openb_comparison *p)
{
    struct sim_compare *compare = &p->compare;

    p->runs = mem_alloc(compare->n_runs * sizeof(*p->runs));
    for (size_t i = 0; i < compare->n_runs; i++) {
        p->runs[i].policy = compare->policies[i / compare->n_seeds];
        p->runs[i].seed = compare->seeds[i % compare->n_seeds];
    }
}

static void openb_check_run_one(void *arg, size_t i)
{
    const struct openb_comparison *p = arg;
    struct openb_trial *r = &p->runs[i];
    const struct openb_run_options options = {.policy = r->policy,
                                              .seed = r->seed,
                                              .values =
                                                  p->compare.values ? &p->compare.view : NULL};
    const int64_t began = stopwatch_ns();

    r->failed = openb_run(p->compare.trace, &options, &r->curves);
    r->took_ns = stopwatch_ns() - began;
}

struct err *sim_openb_run(struct cli *c, struct openb_comparison *p)
{
    TRY(sim_compare_run(c, openb_check_run_one, p));
    for (size_t i = 0; i < p->compare.n_runs; i++)
        if (p->runs[i].failed)
            return err_wrap(TAKE(p->runs[i].failed), "policy %s", p->runs[i].policy);
    return NULL;
}

void sim_openb_done(struct openb_comparison *p)
{
    for (size_t i = 0; p->runs && i < p->compare.n_runs; i++)
        err_free(p->runs[i].failed);
    free(p->runs);
    sim_compare_done(&p->compare);
}

/* Largest allowed difference from the published curve: for each seed; for policy random, of the
 * mean over the seeds. */
static const double tolerance_each = 0.01;
static const double tolerance_random = 0.5;
/* For the fragmentation, which was rounded at each event. */
static const double tolerance_fragmented = 0.02;

static const struct sim_column check_columns[] = {
    {"metric", "METRIC"}, {"policy", "POLICY"},
    {"seed", "#SEED"},    {"largest", "#LARGEST DIFFERENCE"},
    {"at", "#AT"},        {"allowed", "#ALLOWED"},
    {"ok", "OK"},
};

const struct openb_published *sim_openb_find(const struct openb *o, enum openb_metric metric,
                                             const char *policy, uint64_t seed)
{
    const struct openb_published *all = openb_published(o);

    for (size_t i = 0; i < openb_published_count(o); i++)
        if (all[i].seed == seed && text_equal(all[i].metric, openb_metric_name(metric)) &&
            text_equal(all[i].policy, policy))
            return &all[i];
    return NULL;
}

struct verdict {
    json_t *rows;
    bool is_good;
};

static void add_verdict(struct verdict *v, enum openb_metric m, const char *policy,
                        const struct openb_trial *r, const double difference[OPENB_COLUMNS])
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

/* Compares seed by seed. Policy random has other random numbers than the published runs: compares
 * the mean allocation. */
static struct err *check_policy(const struct openb_comparison *p, enum openb_metric m, size_t i,
                                struct verdict *v)
{
    const bool is_random = text_equal(p->compare.policies[i], "random");
    double mean[OPENB_COLUMNS] = {0};

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct openb_trial *r = &p->runs[i * p->compare.n_seeds + s];
        const struct openb_published *want =
            sim_openb_find(p->compare.trace, m, r->policy, r->seed);
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

struct err *sim_openb_differences(const struct openb_comparison *p, size_t i, json_t *rows,
                                  bool *ret_is_good)
{
    struct verdict v = {.rows = rows, .is_good = true};

    for (size_t m = 0; m < OPENB_METRICS; m++)
        TRY(check_policy(p, (enum openb_metric)m, i, &v));
    *ret_is_good = v.is_good;
    return NULL;
}

struct err *sim_openb_check(struct cli *c, const struct openb_comparison *p, int64_t took_ns)
{
    AUTO(json_freep) json_t *rows = json_array();
    bool all_good = true;

    for (size_t i = 0; i < p->compare.n_policies; i++) {
        bool is_good = false;

        TRY(sim_openb_differences(p, i, rows, &is_good));
        all_good = all_good && is_good;
    }
    TRY(sim_print(c, check_columns, COUNT(check_columns), rows));
    cli_say(c, "%zu runs in %.2f s: %s", p->compare.n_runs, (double)took_ns / (double)NS_PER_SEC,
            all_good ? "as published" : "not as published");
    if (!all_good)
        c->exit_code = EXIT_FAILED;
    return NULL;
}
