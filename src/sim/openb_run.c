/* openb_run.c - one run of an openb trace, and its curves */

#include "sim/openb_run.h"

#include <inttypes.h>
#include <math.h>

#include "sim/openb_engine.h"

static const char *const metric_names[OPENB_METRICS] = {"alloc_pct", "frag_ratio_pct",
                                                        "frag_amount"};

const char *openb_metric_name(enum openb_metric metric)
{
    return metric_names[metric];
}

/* Sums and numbers of attempts, by column. */
struct openb_sums {
    double at[OPENB_METRICS][OPENB_COLUMNS];
    uint64_t n[OPENB_COLUMNS];
};

static double rounded(double value)
{
    return round(value * 100) / 100;
}

static void sums_note(struct openb_sums *s, const struct mete_gpu_sums *gpus,
                      int64_t requested_milli)
{
    const double capacity = (double)gpus->capacity;
    const double idle = (double)(gpus->capacity - gpus->used);
    const double share = rint((double)requested_milli * 100 / capacity); /* halves to even */
    const size_t column = (size_t)share;

    if (share >= OPENB_COLUMNS)
        return;
    s->n[column]++;
    s->at[OPENB_ALLOC_PCT][column] += rounded((double)gpus->used * 100 / capacity);
    s->at[OPENB_FRAG_RATIO_PCT][column] +=
        idle > 0 ? rounded((double)gpus->fragmented * 100 / idle) : 0;
    s->at[OPENB_FRAG_AMOUNT][column] += rounded((double)gpus->fragmented * 100 / capacity);
}

static void sums_finish(const struct openb_sums *s, struct openb_curves *ret)
{
    for (size_t k = 0; k < OPENB_COLUMNS; k++) {
        ret->has[k] = s->n[k] > 0;
        for (size_t m = 0; m < OPENB_METRICS && s->n[k] > 0; m++)
            ret->at[m][k] = s->at[m][k] / (double)s->n[k];
    }
}

static struct err *run_pods(struct mete_engine *e, const struct openb *o,
                            const struct openb_list *order, struct openb_curves *ret)
{
    struct openb_sums sums = {0};
    struct openb_curves c = {.pods = order->n};
    struct mete_gpu_sums gpus = {0};
    int64_t requested_milli = 0;

    for (size_t i = 0; i < order->n; i++) {
        const struct openb_pod *pod = &openb_pods(o)[order->items[i]];
        bool is_placed = false;

        TRY(openb_engine_try(e, pod, i + 1, (int64_t)i, &is_placed));
        c.dropped += !is_placed;
        requested_milli += (int64_t)pod->gpus * pod->gpu_milli;
        mete_gpu_sums(e, &gpus);
        sums_note(&sums, &gpus, requested_milli);
    }
    c.allocated_milli = gpus.used;
    sums_finish(&sums, &c);
    *ret = c;
    return NULL;
}

struct err *openb_run(const struct openb *o, const struct openb_run_options *options,
                      struct openb_curves *ret)
{
    const struct mete_options engine = {
        .policy = options->policy, .reserve_depth = METE_RESERVE_NONE, .seed = options->seed};
    const struct openb_list *order = openb_arrivals(o, options->seed);
    const struct openb_list *ranks = openb_ranks(o, options->seed);
    struct mete_engine *e = NULL;
    struct err *failed;

    if (!order || !ranks)
        return err_new(ERR_INVALID, "seed %" PRIu64 ": no %s", options->seed,
                       order ? "ranks of nodes" : "order of arrival");
    TRY(openb_engine_new(o, &engine, ranks, &e));
    failed = mete_values_set(e, options->values) == METE_OK
                 ? run_pods(e, o, order, ret)
                 : err_new(ERR_INVALID, "the engine refuses the values: %s", mete_last_error(e));
    mete_engine_free(e);
    return failed;
}
