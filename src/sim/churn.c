/* churn.c - the steady state of an openb trace: arrivals and ends through the real engine */

#include "sim/churn.h"

#include <math.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "sim/chance.h"
#include "sim/heap.h"
#include "sim/openb_engine.h"

enum {
    MS_PER_S = 1000,
    SETTLE_ONE_IN = 5 /* the part of the time that the figures leave out */
};

#define FOR_EVER (INT64_C(1) << 52) /* ms: later than all events */

struct churn_world {
    const struct openb *trace;
    const struct churn_options *options;
    struct chance chance;
    struct mete_engine *engine;
    int64_t *run_s;     /* running times of the trace */
    double *run_before; /* their running sums */
    size_t n_runs;
    struct heap ends; /* of workloads, in ms */
    uint32_t n_workloads;
    int64_t now_ms;
    int64_t settled_ms; /* start of the measured time */
    double gap_ms;      /* between arrivals, on average */
    double allocated;   /* gpu time since settled_ms, in 1/1000 gpu x ms */
    double fragmented;
    double asked[2]; /* requested gpu of placed [0] and rejected [1] pods */
    double work[2];  /* the same x running time */
    uint64_t pods[2];
    struct mete_gpu_sums sums;
};

static double milli_of(const struct openb_pod *pod)
{
    return (double)pod->gpus * pod->gpu_milli;
}

/* Reads the trace's running times, and computes the gap between arrivals that gives the load. */
static struct err *set_durations(struct churn_world *w)
{
    const struct openb_pod *pods = openb_pods(w->trace);
    const size_t n = openb_pod_count(w->trace);
    double sum_s = 0;
    double sum_milli = 0;

    w->run_s = mem_alloc(n * sizeof(*w->run_s));
    w->run_before = mem_alloc(n * sizeof(*w->run_before));
    for (size_t i = 0; i < n; i++) {
        sum_milli += milli_of(&pods[i]);
        if (pods[i].run_s <= 0)
            continue;
        sum_s += (double)pods[i].run_s;
        w->run_s[w->n_runs] = pods[i].run_s;
        w->run_before[w->n_runs++] = sum_s;
    }
    if (w->n_runs == 0 || sum_milli <= 0)
        return err_new(ERR_INVALID, "the list of pods has no running times of pods with gpus: want "
                                    "the columns scheduled_time and deletion_time");
    w->gap_ms = MS_PER_S * sum_s / (double)w->n_runs * sum_milli / (double)n * 100 /
                ((double)w->options->load_pct * (double)openb_capacity_milli(w->trace));
    return NULL;
}

/* The running time of a pod that runs at a given time: probability in proportion to the time. */
static int64_t pick_long(struct churn_world *w)
{
    const double at = chance_unit(&w->chance) * w->run_before[w->n_runs - 1];
    size_t low = 0;
    size_t high = w->n_runs - 1;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (w->run_before[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return w->run_s[low];
}

/* Makes the engine, with random ranks of the nodes, because names break ties. */
static struct err *make_engine(struct churn_world *w)
{
    const size_t n = openb_node_count(w->trace);
    AUTO_FREE uint32_t *ranks = mem_alloc(n * sizeof(*ranks));
    const struct openb_list list = {.items = ranks, .n = n};
    const struct mete_options options = {
        .policy = w->options->policy, .reserve_depth = METE_RESERVE_NONE, .seed = w->options->seed};

    for (size_t i = 0; i < n; i++) {
        const size_t other = (size_t)chance_below(&w->chance, i + 1);

        ranks[i] = ranks[other];
        ranks[other] = (uint32_t)i;
    }
    TRY(openb_engine_new(w->trace, &options, &list, &w->engine));
    if (mete_values_set(w->engine, w->options->values) != METE_OK)
        return err_new(ERR_INVALID, "the engine refuses the values: %s",
                       mete_last_error(w->engine));
    return NULL;
}

/* Places or rejects a random pod of the trace, for `run_ms` from now. `ret_milli` is the gpu that
 * the pod asked for. */
static struct err *churn_arrive(struct churn_world *w, int64_t run_ms, double *ret_milli)
{
    const size_t pod = (size_t)chance_below(&w->chance, openb_pod_count(w->trace));
    const struct openb_pod *p = &openb_pods(w->trace)[pod];
    const uint32_t id = ++w->n_workloads;
    bool is_placed = false;
    int64_t end_ms = w->now_ms + (run_ms > 0 ? run_ms : 1);

    TRY(openb_engine_try(w->engine, p, id, w->now_ms * NS_PER_MS, &is_placed));
    if (is_placed)
        heap_add(&w->ends, end_ms < FOR_EVER ? end_ms : FOR_EVER, id);
    if (w->now_ms >= w->settled_ms && w->settled_ms > 0) {
        w->pods[!is_placed]++;
        w->asked[!is_placed] += milli_of(p);
        w->work[!is_placed] += milli_of(p) * (double)run_ms;
    }
    mete_gpu_sums(w->engine, &w->sums);
    *ret_milli = milli_of(p);
    return NULL;
}

/* Advances the time, and counts the gpu time held until then. */
static void pass_until(struct churn_world *w, int64_t until_ms)
{
    const int64_t from_ms = w->now_ms > w->settled_ms ? w->now_ms : w->settled_ms;

    if (until_ms > from_ms && w->settled_ms > 0) {
        w->allocated += (double)w->sums.used * (double)(until_ms - from_ms);
        w->fragmented += (double)w->sums.fragmented * (double)(until_ms - from_ms);
    }
    w->now_ms = until_ms;
}

static struct err *end_until(struct churn_world *w, int64_t until_ms)
{
    while (heap_first(&w->ends) && heap_first(&w->ends)->key <= until_ms) {
        const struct heap_item item = *heap_first(&w->ends);

        heap_drop_first(&w->ends);
        pass_until(w, item.key);
        if (mete_workload_remove(w->engine, item.job) != METE_OK)
            return err_new(ERR_INTERNAL, "the engine lost a pod: %s", mete_last_error(w->engine));
        mete_gpu_sums(w->engine, &w->sums);
    }
    pass_until(w, until_ms);
    return NULL;
}

/* Makes the steady state: running pods that ask for `load` of the gpus. */
static struct err *churn_begin(struct churn_world *w)
{
    const double want = (double)openb_capacity_milli(w->trace) * (double)w->options->load_pct / 100;
    double asked = 0;

    while (asked < want) {
        const double run_ms = (double)pick_long(w) * MS_PER_S;
        double milli = 0;

        TRY(churn_arrive(w, (int64_t)(chance_unit(&w->chance) * run_ms), &milli));
        asked += milli;
    }
    return NULL;
}

static struct err *churn_go_on(struct churn_world *w)
{
    double at_ms = 0;
    double milli = 0;

    w->settled_ms = 1 + (int64_t)(w->gap_ms * (double)w->options->arrivals / SETTLE_ONE_IN);
    for (size_t i = 0; i < w->options->arrivals; i++) {
        const int64_t run_s = w->run_s[chance_below(&w->chance, w->n_runs)];

        at_ms -= w->gap_ms * log(chance_unit(&w->chance));
        TRY(end_until(w, (int64_t)at_ms));
        TRY(churn_arrive(w, run_s * MS_PER_S, &milli));
    }
    return NULL;
}

static double pct(double part, double rest)
{
    return part + rest > 0 ? 100 * part / (part + rest) : 0;
}

static void churn_sum_up(const struct churn_world *w, struct churn *ret)
{
    const double time = (double)(w->now_ms - w->settled_ms);
    const double all = (double)w->sums.capacity * time;

    *ret = (struct churn){
        .allocated_pct = all > 0 ? 100 * w->allocated / all : 0,
        .fragmented_pct = all > 0 ? 100 * w->fragmented / all : 0,
        .rejected_pct = pct((double)w->pods[1], (double)w->pods[0]),
        .rejected_gpu_pct = pct(w->asked[1], w->asked[0]),
        .rejected_work_pct = pct(w->work[1], w->work[0]),
        .pods = w->pods[0] + w->pods[1],
    };
}

static struct err *run_world(struct churn_world *w)
{
    TRY(set_durations(w));
    TRY(make_engine(w));
    TRY(churn_begin(w));
    return churn_go_on(w);
}

struct err *churn_run(const struct openb *o, const struct churn_options *options, struct churn *ret)
{
    struct churn_world w = {.trace = o, .options = options, .chance = chance_of(options->seed)};
    struct err *e = run_world(&w);

    if (!e)
        churn_sum_up(&w, ret);
    mete_engine_free(w.engine);
    heap_done(&w.ends);
    free(w.run_s);
    free(w.run_before);
    return e;
}
