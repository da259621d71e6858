/*
 * A table has, for a gpu with so much free on a node with so much free cpu for each idle gpu and so
 * many gpus wholly free, what of it stays idle in the end. The value of a node is the sum over its
 * gpus: sums let one table serve nodes of all sizes. See docs/placement.md.
 */
#include "engine/values.h"

#include <stdlib.h>

#include "base/str.h"
#include "engine/policy.h"
#include "engine/search.h"

enum {
    PRICES_MAX = 256,
    PRICE_MAX = 1000,
    FRAGMENT_MAX = 1000,
    ID_MAX = 64
};

#define IDLE_UNIT (MILLI * MILLI) /* a gpu */

struct price {
    uint32_t model;
    int32_t price;
};

struct values {
    char *id;
    uint64_t pods;
    int64_t fragment_milli;
    int64_t *cpu_steps;
    size_t n_cpu_steps;
    int32_t *idle;
    struct price *prices;
    size_t n_prices;
};

static size_t cpu_step(const struct values *v, int64_t cpu, int64_t idle)
{
    int64_t each = cpu < (INT64_C(1) << 50) ? cpu * MILLI / idle : cpu / idle * MILLI;
    size_t low = 0;
    size_t n = v->n_cpu_steps;

    while (n > 0) {
        size_t half = n / 2;

        if (v->cpu_steps[low + half] <= each) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

int64_t values_of(const struct mete_engine *e, const struct node *n, const struct levels *l)
{
    const struct values *v = e->values;
    const int32_t *table;
    int64_t idle = 0;
    int64_t ret = 0;
    unsigned whole = 0;

    for (unsigned i = 0; i < l->n; i++) {
        idle += l->free[i];
        whole += l->free[i] == MILLI;
    }
    if (idle == 0)
        return 0;
    if (whole >= METE_VALUES_WHOLE)
        whole = METE_VALUES_WHOLE - 1;
    table = v->idle + (cpu_step(v, l->cpu, idle) * METE_VALUES_WHOLE + whole) * METE_VALUES_LEVELS;
    for (unsigned i = 0; i < l->n; i++)
        if (l->free[i] > 0)
            ret += table[l->free[i] / METE_VALUES_LEVEL_MILLI];
    if (v->fragment_milli > 0 && e->demand)
        ret += demand_fragment(e->demand, n, l) / demand_weight(e->demand) * v->fragment_milli;
    return ret;
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

void values_free(struct mete_engine *e, struct values *v)
{
    if (!v)
        return;
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
    values_free(e, e->values);
    e->values = v;
    search_reset(e);
    e->version++;
    return METE_OK;
}

const char *mete_values_id(const struct mete_engine *e)
{
    return e->values ? e->values->id : NULL;
}
