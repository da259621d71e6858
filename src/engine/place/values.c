/*
 * values.c - the learned table, and the fragment in rows beside it
 *
 * The table gives the compute of a gpu that stays idle in the end, by its free compute, the node's
 * free cpu for each idle gpu, and the node's number of wholly free gpus. A node's value is the sum
 * over its gpus, so one table serves nodes of all sizes. See docs/placement.md.
 *
 * The fragment of a node with one model is such a sum, too: of each gpu, times the weight of the
 * pods that need more of one gpu than is free. Pods with several gpus count by the number of wholly
 * free gpus instead. So rows by free cpu hold the weights, in steps of one level.
 */

#include "engine/place/values.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/str.h"
#include "engine/ladder.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/record/record.h"

enum {
    PRICES_MAX = 256,
    PRICE_MAX = 1000,
    FRAGMENT_MAX = 1000,
    ID_MAX = 64,
    ROWS_MAX = 128, /* of one model; with more distinct cpu requests, some share a row */
    MODELS_MAX = 64,
    WEIGHT_BITS = 16
};

#define IDLE_UNIT (MILLI * MILLI) /* a gpu */

struct price {
    uint32_t model;
    int32_t price;
};

/* Weights from one amount of free cpu on. */
struct values_row {
    int32_t none;                       /* weight of pods that can use no idle gpu, ... */
    int32_t several[METE_VALUES_WHOLE]; /* ... less pods that run with this many whole gpus */
    int32_t single[METE_VALUES_LEVELS]; /* weight of pods that need more of one gpu */
};

struct values_rows {
    uint32_t model; /* 0: all models that no pod names */
    size_t n;
    struct values_row *rows;
    int64_t *cpus; /* of each row; the first is 0 */
    struct ladder ladder;
};

struct values {
    char *id;
    uint64_t pods;
    int64_t fragment_milli;
    int64_t *cpu_steps;
    size_t n_cpu_steps;
    struct ladder ladder; /* over the steps */
    int32_t *idle;
    struct price *prices;
    size_t n_prices;
    struct values_rows *models; /* the first is for all models that no pod names */
    size_t n_models;            /* 0: no rows, only the demand itself */
};

const struct values_rows *values_rows_of(const struct mete_engine *e, const struct node *n)
{
    const struct values *v = e->values;

    if (v->n_models == 0 || n->n_models != 1)
        return NULL;
    for (size_t i = 1; i < v->n_models; i++)
        if (v->models[i].model == (uint32_t)n->models[0].number)
            return &v->models[i];
    return &v->models[0];
}

bool values_are_simple(const struct mete_engine *e, const struct values_rows *rows)
{
    return rows || e->values->fragment_milli == 0 || !e->demand;
}

/* A node's value: the sum over its gpus, by the part of the table that the node's sums choose. */
struct values_sums {
    const int32_t *idle;          /* by level */
    const struct values_row *row; /* NULL: the fragment does not count */
    int64_t value;
    int64_t fragment;
};

/* The step of the cpu for each whole idle gpu. */
static size_t step_of(const struct values *v, int64_t cpu, int64_t idle)
{
    int64_t each = cpu < (INT64_C(1) << 50) ? cpu * MILLI / idle : cpu / idle * MILLI;

    return ladder_count(&v->ladder, each);
}

static void add_gpu(struct values_sums *s, uint32_t free, int sign)
{
    uint32_t level = free / METE_VALUES_LEVEL_MILLI;

    if (free == 0)
        return;
    s->value += (int64_t)sign * s->idle[level];
    if (s->row)
        s->fragment += (int64_t)sign * free * s->row->single[level];
}

/* Sums the present gpus by the part of the table for `cpu`, `idle` (over 0) and `whole`. */
static struct values_sums sums_of(const struct values *v, const struct values_rows *rows,
                                  const struct levels *l, int64_t cpu, int64_t idle, unsigned whole)
{
    unsigned column = whole < METE_VALUES_WHOLE ? whole : METE_VALUES_WHOLE - 1;
    size_t line = step_of(v, cpu, idle) * METE_VALUES_WHOLE + column;
    struct values_sums ret = {.idle = v->idle + line * METE_VALUES_LEVELS};

    if (rows && v->fragment_milli > 0) {
        size_t n = ladder_count(&rows->ladder, cpu);

        ret.row = &rows->rows[n > 0 ? n - 1 : 0];
        ret.fragment = idle * ret.row->none - (int64_t)column * MILLI * ret.row->several[column];
    }
    for (unsigned i = 0; i < l->n; i++)
        add_gpu(&ret, l->free[i], 1);
    return ret;
}

static int64_t value_of(const struct values *v, const struct values_sums *s)
{
    return s->value + ((s->fragment * v->fragment_milli) >> WEIGHT_BITS);
}

int64_t values_of(const struct mete_engine *e, const struct node *n, const struct values_rows *rows,
                  const struct levels *l)
{
    const struct values *v = e->values;
    struct values_sums sums;

    if (l->idle == 0)
        return 0;
    sums = sums_of(v, rows, l, l->cpu, l->idle, l->whole);
    if (!values_are_simple(e, rows))
        sums.value +=
            demand_fragment(e->demand, n, l) / demand_weight(e->demand) * v->fragment_milli;
    return value_of(v, &sums);
}

int64_t values_less_whole(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s)
{
    int64_t idle = l->idle - (int64_t)s->gpus * MILLI;
    struct values_sums sums;

    if (idle == 0)
        return 0;
    sums = sums_of(v, rows, l, l->cpu - s->cpu, idle, l->whole - s->gpus);
    for (uint32_t i = 0; i < s->gpus; i++)
        add_gpu(&sums, MILLI, -1);
    return value_of(v, &sums);
}

int64_t values_less_share(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s, uint64_t free,
                          uint64_t *ret)
{
    struct values_sums sums[2] = {0}; /* [1]: the share takes a wholly free gpu */
    bool has_sums[2] = {false, false};
    int64_t idle = l->idle - s->milli;
    int64_t least = INT64_MAX;

    for (unsigned i = 0; i < l->n; i++) {
        bool is_whole = l->free[i] == MILLI;
        struct values_sums after = {0};

        if (l->free[i] < s->milli || !(free >> l->bit[i] & 1))
            continue;
        if (idle > 0 && !has_sums[is_whole])
            sums[is_whole] = sums_of(v, rows, l, l->cpu - s->cpu, idle, l->whole - is_whole);
        has_sums[is_whole] = idle > 0;
        if (idle > 0) {
            after = sums[is_whole];
            add_gpu(&after, l->free[i], -1);
            add_gpu(&after, l->free[i] - s->milli, 1);
        }
        if (value_of(v, &after) < least) {
            least = value_of(v, &after);
            *ret = UINT64_C(1) << l->bit[i];
        }
    }
    return least;
}

static int32_t price_of(const struct values *v, uint32_t model)
{
    for (size_t i = 0; i < v->n_prices; i++)
        if (v->prices[i].model == model)
            return v->prices[i].price;
    return 0;
}

int64_t values_price(const struct mete_engine *e, const struct node *n, uint64_t gpus)
{
    int64_t dearest = 0;

    for (size_t i = 0; i < n->n_models && e->values->n_prices > 0; i++)
        if (n->models[i].gpus & gpus) {
            int32_t price = price_of(e->values, (uint32_t)n->models[i].number);

            dearest = price > dearest ? price : dearest;
        }
    return dearest;
}

static void forget_rows(struct values *v)
{
    for (size_t i = 0; i < v->n_models; i++) {
        free(v->models[i].rows);
        free(v->models[i].cpus);
    }
    free(v->models);
    v->models = NULL;
    v->n_models = 0;
}

/* Adds a row for 0 cpu and one for each cpu request of the kinds. Returns the number of rows. */
static size_t add_rows(struct values_rows *r, const struct demand_kind *kinds, size_t n)
{
    size_t n_cpus;
    size_t step;

    r->cpus = mem_alloc((n + 1) * sizeof(*r->cpus));
    for (size_t i = 0; i < n; i++)
        r->cpus[i + 1] = kinds[i].shape->cpu;
    n_cpus = num_sort_unique(r->cpus, n + 1);
    step = n_cpus / ROWS_MAX + 1;
    r->rows = mem_alloc(n_cpus * sizeof(*r->rows));
    for (size_t i = 0; i < n_cpus; i += step)
        r->cpus[r->n++] = r->cpus[i];
    ladder_init(&r->ladder, r->cpus, r->n);
    return r->n;
}

static bool is_taken(const struct shape *s, uint32_t model)
{
    for (size_t i = 0; i < s->n_models; i++)
        if (s->models[i] == model)
            return true;
    return s->n_models == 0;
}

static void add_kind(struct values_row *row, const struct shape *s, bool runs, int32_t weight)
{
    if (s->gpus == 0 || !runs) {
        row->none += weight;
    } else if (s->gpus == 1) {
        for (uint32_t level = 0; level < METE_VALUES_LEVELS; level++)
            if (s->milli > level * METE_VALUES_LEVEL_MILLI)
                row->single[level] += weight;
    } else {
        row->none += weight;
        for (uint32_t whole = s->gpus; whole < METE_VALUES_WHOLE; whole++)
            row->several[whole] += weight;
    }
}

static void add_model(struct mete_engine *e, uint32_t model)
{
    struct values *v = e->values;
    struct values_rows *r = &v->models[v->n_models++];
    size_t n = 0;
    const struct demand_kind *kinds = demand_kinds(e->demand, &n);
    const int64_t total = demand_weight(e->demand);

    *r = (struct values_rows){.model = model};
    for (size_t i = add_rows(r, kinds, n); i-- > 0;)
        for (size_t k = 0; k < n; k++) {
            const struct shape *s = kinds[k].shape;
            bool runs = is_taken(s, model) && s->cpu <= r->cpus[i];

            add_kind(&r->rows[i], s, runs, (int32_t)((kinds[k].weight << WEIGHT_BITS) / total));
        }
}

static bool is_known(const struct values *v, uint32_t model)
{
    for (size_t i = 0; i < v->n_models; i++)
        if (v->models[i].model == model)
            return true;
    return false;
}

void values_prepare(struct mete_engine *e)
{
    struct values *v = e->values;
    const struct demand_kind *kinds;
    size_t n = 0;

    if (!v)
        return;
    forget_rows(v);
    if (!e->demand)
        return;
    kinds = demand_kinds(e->demand, &n);
    v->models = mem_alloc(MODELS_MAX * sizeof(*v->models));
    add_model(e, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < kinds[i].shape->n_models; k++) {
            if (is_known(v, kinds[i].shape->models[k]))
                continue;
            if (v->n_models == MODELS_MAX) {
                forget_rows(v);
                return;
            }
            add_model(e, kinds[i].shape->models[k]);
        }
}

void values_free(struct mete_engine *e, struct values *v)
{
    if (!v)
        return;
    forget_rows(v);
    for (size_t i = 0; i < v->n_prices; i++)
        intern_unref(e->texts, v->prices[i].model);
    free(v->id);
    free(v->cpu_steps);
    free(v->idle);
    free(v->prices);
    free(v);
}

static enum mete_result check_numbers(struct mete_engine *e, const struct mete_values *v)
{
    for (size_t i = 0; i < v->n_cpu_steps; i++)
        if (v->cpu_steps[i] < 0 || (i > 0 && v->cpu_steps[i] <= v->cpu_steps[i - 1]))
            return engine_refuse(e, METE_INVALID,
                                 "cpu step %zu of a value table: they must ascend from 0", i);
    for (size_t i = 0; i < METE_VALUES_SIZE(v->n_cpu_steps); i++)
        if (v->idle[i] < 0 || v->idle[i] > IDLE_UNIT)
            return engine_refuse(e, METE_INVALID,
                                 "entry %zu of a value table is %d: want 0 to %d, a gpu", i,
                                 v->idle[i], IDLE_UNIT);
    for (size_t i = 0; i < v->n_prices; i++)
        if (!text_is_sane(v->prices[i].model) || v->prices[i].price_milli < 0 ||
            v->prices[i].price_milli > PRICE_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "price %zu of a value table: want a model and 0 to %d", i,
                                 PRICE_MAX);
    return METE_OK;
}

static enum mete_result check_values(struct mete_engine *e, const struct mete_values *v)
{
    if (!text_is_sane(v->id) || strlen(v->id) > ID_MAX)
        return engine_refuse(e, METE_INVALID, "a value table needs an id of 1 to %d bytes", ID_MAX);
    if (v->n_cpu_steps > METE_VALUES_CPU_MAX || v->n_prices > PRICES_MAX)
        return engine_refuse(e, METE_INVALID,
                             "a value table has %zu cpu steps and %zu prices: at most %d and %d",
                             v->n_cpu_steps, v->n_prices, METE_VALUES_CPU_MAX, PRICES_MAX);
    if (v->fragment_milli > FRAGMENT_MAX)
        return engine_refuse(e, METE_INVALID,
                             "a value table counts %u/1000 of the fragment: want "
                             "at most all of it",
                             v->fragment_milli);
    return check_numbers(e, v);
}

static void *copy_of(const void *at, size_t size)
{
    void *ret = mem_alloc(size + 1);

    if (size > 0)
        memcpy(ret, at, size);
    return ret;
}

enum mete_result mete_values_set(struct mete_engine *e, const struct mete_values *values)
{
    struct values *v = NULL;

    if (values) {
        enum mete_result result = check_values(e, values);

        if (result != METE_OK)
            return result;
        v = mem_alloc(sizeof(*v));
        *v = (struct values){
            .id = mem_strdup(values->id),
            .pods = values->pods,
            .fragment_milli = values->fragment_milli,
            .cpu_steps =
                copy_of(values->cpu_steps, values->n_cpu_steps * sizeof(*values->cpu_steps)),
            .n_cpu_steps = values->n_cpu_steps,
            .idle = copy_of(values->idle,
                            METE_VALUES_SIZE(values->n_cpu_steps) * sizeof(*values->idle)),
            .prices = mem_alloc(values->n_prices * sizeof(struct price) + 1),
        };
        for (; v->n_prices < values->n_prices; v->n_prices++)
            v->prices[v->n_prices] =
                (struct price){intern_ref(e->texts, values->prices[v->n_prices].model),
                               values->prices[v->n_prices].price_milli};
    }
    if (v)
        ladder_init(&v->ladder, v->cpu_steps, v->n_cpu_steps);
    record_call(e, RECORD_VALUES_SET, &(struct record_values){values});
    values_free(e, e->values);
    e->values = v;
    values_prepare(e);
    search_reset(e);
    e->version++;
    return METE_OK;
}

const char *mete_values_id(const struct mete_engine *e)
{
    return e->values ? e->values->id : NULL;
}
