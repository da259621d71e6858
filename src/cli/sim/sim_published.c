/*
 * sim_published.c - `mete sim openb --published DIR`: every variant with published curves, in one
 * table
 *
 * Published policies are shown with their largest difference, other policies with their gain over
 * the published fgd, paired by seed.
 */

#include <math.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/sim/sim_openb.h"
#include "cli/sim/stopwatch.h"
#include "sim/trace_file.h"

enum {
    VARIANTS_MAX = 64,
    AT_FULL = 100, /* columns: requested share of the capacity, in % */
    AT_END = 130
};

static const char rival[] = "fgd";

static const struct sim_column columns[] = {
    {"variant", "VARIANT"},
    {"policy", "POLICY"},
    {"runs", "#RUNS"},
    {"largest", "#LARGEST DIFFERENCE"},
    {"largest_fragmented", "#IN FRAGMENTED"},
    {"gain_100", "#GAIN AT 100 %"},
    {"gain_130", "#AT 130 %"},
    {"worst_100", "#WORST AT 100 %"},
    {"worst_130", "#AT 130 %"},
    {"ok", "OK"},
    {"wall_s", "#TOOK"},
};

struct published {
    const char *dir;
    char **names; /* names of files */
    size_t n_names;
    json_t *rows;
    size_t n_runs;
    bool is_good;
};

/* Finds "arrivals_default.txt", or "arrivals_default.txt.gz" if that exists. */
static struct err *find_file(const struct published *p, const char *name, char **ret)
{
    AUTO_FREE char *zipped = mem_format("%s.gz", name);

    for (size_t i = 0; i < p->n_names; i++)
        if (text_equal(p->names[i], name) || text_equal(p->names[i], zipped)) {
            *ret = mem_format("%s/%s", p->dir, p->names[i]);
            return NULL;
        }
    return err_new(ERR_NOT_FOUND, "%s: no %s, nor %s", p->dir, name, zipped);
}

static struct err *read_part(const struct published *p, struct openb *o, const char *prefix,
                             const char *variant, const char *suffix, sim_read_fn read)
{
    AUTO_FREE char *name = mem_format("%s%s%s", prefix, variant, suffix);
    AUTO_FREE char *path = NULL;
    AUTO(buf_done) struct buf text = {0};

    TRY(find_file(p, name, &path));
    TRY(trace_file_read(path, &text));
    return read(o, path, (struct str){text.at, text.size});
}

static struct err *read_variant(const struct published *p, const char *variant, struct openb *o)
{
    TRY(read_part(p, o, "openb_node_list_gpu_node", "", ".csv", openb_read_nodes));
    TRY(read_part(p, o, "openb_pod_list_", variant, ".csv", openb_read_pods));
    TRY(read_part(p, o, "arrivals_", variant, ".txt", openb_read_arrivals));
    TRY(read_part(p, o, "noderank_", variant, ".txt", openb_read_ranks));
    return read_part(p, o, "published_", variant, ".csv", openb_read_published);
}

/* The largest difference in the rows of `metric`, or (`is_other`) of all other metrics. */
static double largest_of(const json_t *rows, const char *metric, bool is_other)
{
    double largest = 0;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row)
        if (text_equal(json_text(row, "metric"), metric) != is_other)
            largest = fmax(largest, json_real_value(json_object_get(row, "largest")));
    return largest;
}

static struct err *put_differences(const struct openb_comparison *p, size_t i, json_t *row,
                                   bool *ret_is_good)
{
    const char *allocated = openb_metric_name(OPENB_ALLOC_PCT);
    AUTO(json_freep) json_t *all = json_array();

    TRY(sim_openb_differences(p, i, all, ret_is_good));
    json_put(row, "largest", json_real(largest_of(all, allocated, false)));
    if (!text_equal(p->compare.policies[i], "random"))
        json_put(row, "largest_fragmented", json_real(largest_of(all, allocated, true)));
    return NULL;
}

/* The allocation of policy `i` beyond the published fgd, in % of the capacity: the mean and the
 * worst over the seeds. */
static struct err *put_gain(const struct openb_comparison *p, size_t i, size_t at, json_t *row,
                            bool *is_good)
{
    double sum = 0;
    double worst = HUGE_VAL;

    for (size_t s = 0; s < p->compare.n_seeds; s++) {
        const struct openb_trial *r = &p->runs[i * p->compare.n_seeds + s];
        const struct openb_published *was =
            sim_openb_find(p->compare.trace, OPENB_ALLOC_PCT, rival, r->seed);
        double gain;

        if (!was)
            return err_new(ERR_INVALID, "no published %s of %s with seed %llu",
                           openb_metric_name(OPENB_ALLOC_PCT), rival, (unsigned long long)r->seed);
        gain = r->curves.at[OPENB_ALLOC_PCT][at] - was->at[at];
        sum += gain;
        worst = fmin(worst, gain);
    }
    json_put(row, at == AT_FULL ? "gain_100" : "gain_130",
             json_real(sum / (double)p->compare.n_seeds));
    json_put(row, at == AT_FULL ? "worst_100" : "worst_130", json_real(worst));
    *is_good = *is_good && worst >= 0;
    return NULL;
}

static struct err *published_add_row(struct published *p, const struct openb_comparison *q,
                                     const char *variant, size_t i)
{
    const char *policy = q->compare.policies[i];
    json_t *row = json_object();
    bool is_good = true;
    int64_t took_ns = 0;

    (void)json_array_append_new(p->rows, row);
    for (size_t s = 0; s < q->compare.n_seeds; s++)
        took_ns += q->runs[i * q->compare.n_seeds + s].took_ns;
    json_put_text(row, "variant", variant);
    json_put_text(row, "policy", policy);
    json_put_int(row, "runs", (int64_t)q->compare.n_seeds);
    if (sim_openb_find(q->compare.trace, OPENB_ALLOC_PCT, policy, q->compare.seeds[0])) {
        TRY(put_differences(q, i, row, &is_good));
    } else {
        TRY(put_gain(q, i, AT_FULL, row, &is_good));
        TRY(put_gain(q, i, AT_END, row, &is_good));
    }
    json_put(row, "ok", json_boolean(is_good));
    json_put(row, "wall_s", json_real((double)took_ns / (double)NS_PER_SEC));
    p->is_good = p->is_good && is_good;
    return NULL;
}

static struct err *run_variant(struct cli *c, struct published *p, struct openb_comparison *q,
                               const char *variant)
{
    TRY(sim_compare_read(c, &q->compare, "random,dotprod,gpuclustering,gpupacking,bestfit,fgd"));
    TRY(read_variant(p, variant, q->compare.trace));
    TRY(sim_compare_values(c, &q->compare));
    sim_openb_trials(q);
    TRY(sim_openb_run(c, q));
    p->n_runs += q->compare.n_runs;
    for (size_t i = 0; i < q->compare.n_policies; i++)
        TRY(published_add_row(p, q, variant, i));
    return NULL;
}

/* "published_default.csv.gz": "default"; NULL for other files. The caller frees it. */
static char *variant_of(const char *name)
{
    struct str rest = str_of(name);
    struct str prefix = str_cut(&rest, '_');
    struct str variant = str_cut(&rest, '.');

    if (!str_equal(prefix, STR("published")) || !rest.at || variant.size == 0)
        return NULL;
    return mem_strndup(variant.at, variant.size);
}

static struct err *run_variants(struct cli *c, struct published *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_names; i++) {
        AUTO_FREE char *variant = variant_of(p->names[i]);
        AUTO_FREE struct openb_comparison *q = NULL;
        struct err *e;

        if (!variant)
            continue;
        if (++n > VARIANTS_MAX)
            return err_new(ERR_INVALID, "%s: over %d variants", p->dir, VARIANTS_MAX);
        q = mem_alloc(sizeof(*q));
        e = run_variant(c, p, q, variant);
        sim_openb_done(q);
        if (e)
            return err_wrap(e, "variant %s", variant);
    }
    if (n == 0)
        return err_new(ERR_NOT_FOUND, "%s: no published_VARIANT.csv", p->dir);
    return NULL;
}

static struct err *published_tell(struct cli *c, const struct published *p, int64_t took_ns)
{
    TRY(sim_print(c, columns, COUNT(columns), p->rows));
    cli_say(c, "%zu runs in %.2f s, %.2f s of processor time: %s", p->n_runs,
            (double)took_ns / (double)NS_PER_SEC,
            (double)stopwatch_processor_ns() / (double)NS_PER_SEC,
            p->is_good ? "good" : "not good");
    if (!p->is_good)
        c->exit_code = EXIT_FAILED;
    return NULL;
}

struct err *sim_openb_published(struct cli *c)
{
    const int64_t began_ns = stopwatch_ns();
    AUTO(json_freep) json_t *rows = json_array();
    struct published p = {.dir = flag_text(c->in, "published"), .rows = rows, .is_good = true};
    struct err *e;

    TRY(dir_list(p.dir, &p.names, &p.n_names));
    e = run_variants(c, &p);
    names_free(p.names, p.n_names);
    return e ? e : published_tell(c, &p, stopwatch_ns() - began_ns);
}
