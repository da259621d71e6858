/* sprio.c - sprio: options, letters and the table of priorities */

#include "slurm/sprio.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "slurm/columns.h"
#include "slurm/query.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

#define NORM_WHOLE 4294967295.0 /* the largest priority */

const struct slurm_option sprio_options[] = {
    {"format", NULL, 'o', YES},    {"help", NULL, 0, NO},
    {"jobs", NULL, 'j', YES},      {"long", NULL, 'l', NO},
    {"noheader", NULL, 'h', NO},   {"norm", NULL, 'n', NO},
    {"partition", NULL, 'p', YES}, {"sort", NULL, 'S', YES},
    {"usage", "help", 0, NO},      {"user", NULL, 'u', YES},
    {"verbose", NULL, 'v', NO},    {"version", NULL, 'V', NO},
    {"weights", NULL, 'w', NO},    {0},
};

const char sprio_help[] = "Usage: sprio [-h] [-j jobs] [-l] [-n] [-o format] [-p partitions] [-S "
                          "order] [-u users] [-w]\n";

/* ---- cells ---- */

static const json_t *weights_of(const json_t *row)
{
    return json_object_get(row, "weights");
}

/* A weighted factor, rounded; in the row of weights the weight. */
static void add_weighted(const json_t *row, const char *key, struct buf *out)
{
    if (weights_of(row))
        buf_printf(out, "%" PRId64, json_int(weights_of(row), key, 0));
    else
        buf_printf(out, "%.0f", json_number_value(json_object_get(row, key)));
}

/* A factor of 0 .. 1: `weight` is the row's own weight, which is kept beside the factor. */
static void add_factor(const json_t *row, const char *key, struct buf *out)
{
    double weight = (double)json_int_at(row, "of", key, NULL);
    double points = json_number_value(json_object_get(row, key));

    if (weights_of(row))
        buf_printf(out, "%" PRId64, json_int(weights_of(row), key, 0));
    else
        buf_printf(out, "%.7f", weight > 0 ? points / weight : 0.0);
}

#define FACTOR(noun, key)                                                                     \
    static void points_##noun(const json_t *row, const struct slurm_view *v, struct buf *out) \
    {                                                                                         \
        (void)v;                                                                              \
        add_weighted(row, key, out);                                                          \
    }                                                                                         \
    static void factor_##noun(const json_t *row, const struct slurm_view *v, struct buf *out) \
    {                                                                                         \
        (void)v;                                                                              \
        add_factor(row, key, out);                                                            \
    }

FACTOR(age, "age")
FACTOR(assoc, "assoc")
FACTOR(fairshare, "fairshare")
FACTOR(jobsize, "jobsize")
FACTOR(partition, "partitionFactor")
FACTOR(qos, "qosFactor")

static void cell_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (weights_of(row))
        buf_add_text(out, "Weights");
    else
        buf_printf(out, "%" PRId64, json_int(row, "jobId", 0));
}

static void cell_site(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, weights_of(row) ? "1" : "0");
}

static void cell_norm(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!weights_of(row))
        buf_printf(out, "%.8f", (double)json_int(row, "priority", 0) / NORM_WHOLE);
}

static void cell_tres(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *weights = json_text(weights_of(row), "tres");

    (void)v;
    if (weights_of(row))
        buf_add_text(out, weights && *weights ? weights : "(null)");
    else
        buf_add_text(out, text_or_empty(json_text(row, "tres")));
}

static const struct slurm_column columns[] = {
    {'i', NULL, "JOBID", cell_id, NULL, NULL, 0},
    {'r', NULL, "PARTITION", NULL, "partition", NULL, 0},
    {'u', NULL, "USER", NULL, "user", NULL, 0},
    {'o', NULL, "ACCOUNT", NULL, "account", NULL, 0},
    {'y', NULL, "PRIORITY", cell_norm, NULL, NULL, 0},
    {'Y', NULL, "PRIORITY", NULL, "priority", NULL, 0},
    {'S', NULL, "SITE", cell_site, NULL, NULL, 0},
    {'s', NULL, "SITE", cell_site, NULL, NULL, 0},
    {'a', NULL, "AGE", factor_age, NULL, NULL, 0},
    {'A', NULL, "AGE", points_age, NULL, NULL, 0},
    {'b', NULL, "ASSOC", factor_assoc, NULL, NULL, 0},
    {'B', NULL, "ASSOC", points_assoc, NULL, NULL, 0},
    {'f', NULL, "FAIRSHARE", factor_fairshare, NULL, NULL, 0},
    {'F', NULL, "FAIRSHARE", points_fairshare, NULL, NULL, 0},
    {'j', NULL, "JOBSIZE", factor_jobsize, NULL, NULL, 0},
    {'J', NULL, "JOBSIZE", points_jobsize, NULL, NULL, 0},
    {'p', NULL, "PARTITION", factor_partition, NULL, NULL, 0},
    {'P', NULL, "PARTITION", points_partition, NULL, NULL, 0},
    {'n', NULL, "QOSNAME", NULL, "qos", NULL, 0},
    {'q', NULL, "QOS", factor_qos, NULL, NULL, 0},
    {'Q', NULL, "QOS", points_qos, NULL, NULL, 0},
    {'N', NULL, "NICE", NULL, "nice", NULL, 0},
    {'t', NULL, "TRES", cell_tres, NULL, NULL, 0},
    {'T', NULL, "TRES", cell_tres, NULL, NULL, 0},
    {0},
};

/* ---- formats ---- */

static const char long_format[] =
    "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T";
static const char long_norm[] = "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %20t";

/* Without -l: the factors with a weight. */
static char *default_format(const json_t *weights, bool is_norm)
{
    static const struct {
        const char *key;
        const char *points;
        const char *factor;
    } factors[] = {
        {"age", " %.10A", " %10a"},
        {"assoc", " %.10B", " %10b"},
        {"fairshare", " %.10F", " %10f"},
        {"jobsize", " %.10J", " %10j"},
        {"partitionFactor", " %.10P", " %10p"},
        {"qosFactor", " %.10Q", " %10q"},
    };
    const char *tres = json_text(weights, "tres");
    struct buf out = {0};

    buf_add_text(&out, is_norm ? "%.15i %9r %10y" : "%.15i %9r %.10Y %.10S");
    for (size_t i = 0; i < COUNT(factors); i++)
        if (json_int(weights, factors[i].key, 0) > 0)
            buf_add_text(&out, is_norm ? factors[i].factor : factors[i].points);
    if (tres && *tres)
        buf_add_text(&out, is_norm ? " %20t" : " %.20T");
    return buf_steal(&out);
}

static char *format_of(const struct slurm_words *words, const json_t *weights)
{
    const char *said = slurm_words_value(words, "format");
    bool is_norm = slurm_words_has(words, "norm");

    if (said)
        return mem_strdup(said);
    if (slurm_words_has(words, "long"))
        return mem_strdup(is_norm ? long_norm : long_format);
    return default_format(weights, is_norm);
}

/* ---- rows ---- */

static bool is_shown(const struct slurm_words *words, const json_t *row)
{
    const char *jobs = slurm_words_value(words, "jobs");
    const char *users = slurm_words_value(words, "user");
    const char *partitions = slurm_words_value(words, "partition");
    char id[32];

    (void)snprintf(id, sizeof(id), "%" PRId64, json_int(row, "jobId", 0));
    return (!jobs || slurm_list_has(jobs, id)) &&
           (!users || slurm_list_has(users, text_or_empty(json_text(row, "user")))) &&
           (!partitions || slurm_list_has(partitions, text_or_empty(json_text(row, "partition"))));
}

static bool rank_id(const struct slurm_column *column, const json_t *row, int64_t *ret)
{
    const char *key = column->letter == 'i' ? "jobId" : column->letter == 'Y' ? "priority" : NULL;

    if (key)
        *ret = json_int(row, key, 0);
    return key != NULL;
}

/* The waiting jobs in order, or with -w the weights. The first row has the weights. */
static struct err *select_rows(const struct slurm_words *words, const json_t *rows,
                               json_t *selected)
{
    const json_t *weights = weights_of(json_array_get(rows, 0));
    const char *sort = slurm_words_value(words, "sort");
    const struct slurm_view view = {0};

    if (slurm_words_has(words, "weights")) {
        (void)json_array_append(selected, json_array_get(rows, 0));
        return NULL;
    }
    for (size_t i = 1; i < json_array_size(rows); i++) {
        json_t *row;

        if (!is_shown(words, json_array_get(rows, i)))
            continue;
        row = json_copy(json_array_get(rows, i));
        json_put(row, "of", json_incref((json_t *)(uintptr_t)weights));
        (void)json_array_append_new(selected, row);
    }
    if (json_array_size(selected) == 0 &&
        (slurm_words_has(words, "jobs") || slurm_words_has(words, "user")))
        return err_new(ERR_NOT_FOUND, "Unable to find jobs matching user/id(s) specified");
    return slurm_rows_sort(selected, sort ? sort : "i", columns, &view, rank_id);
}

struct err *sprio_print(const struct slurm_words *words, const json_t *rows, struct buf *out)
{
    const struct slurm_view view = {0};
    AUTO(json_freep) json_t *selected = json_array();
    AUTO_FREE char *format = format_of(words, weights_of(json_array_get(rows, 0)));
    struct slurm_format f = {0};

    TRY(select_rows(words, rows, selected));
    TRY(slurm_format_parse_letters(format, columns, &f));
    slurm_format_print(&f, selected, &view, !slurm_words_has(words, "noheader"), out);
    slurm_format_done(&f);
    return NULL;
}
