/*
 * demand.c - the usual demand, summed by groups of kinds
 *
 * Kinds that differ in cpu only form a group: a group's weight is looked up by how much cpu is
 * free. Idle gpu is a fragment unless some group can use it, so one sum over the groups is enough.
 */

#include "engine/place/demand.h"

#include <stdlib.h>

#include "base/num.h"
#include "engine/device/device_parts.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/place/values.h"
#include "engine/record/record.h"

enum {
    KINDS_MAX = 4096
};

#define WEIGHT_MAX (INT64_C(1) << 32)

struct demand_group {
    const struct shape *shape; /* gpus, share and models of all kinds in it; held by the demand */
    uint32_t level;            /* index in `levels` of the compute asked of one gpu */
    int64_t *weights;          /* by cpu: the sum over kinds that ask for at most cpus[i] */
};

struct demand {
    struct demand_kind *kinds;
    size_t n_kinds;
    struct demand_group *groups;
    size_t n_groups;
    int64_t *cpus; /* cpu requests: each once, ascending */
    size_t n_cpus;
    uint16_t *levels; /* compute asked of one gpu: each once, ascending */
    size_t n_levels;
    uint16_t
        level_of[MILLI + 1]; /* the number of levels that a gpu with this free compute serves */
    int64_t weight;
    int64_t total;
};

void levels_of(const struct mete_engine *e, const struct node *n, struct levels *ret)
{
    ret->n = 0;
    ret->whole = 0;
    ret->idle = 0;
    ret->cpu = node_cpu_free(e, n);
    for (uint64_t left = n->healthy & (~n->held | n->shared); left; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        uint16_t free = n->free_milli[bit];

        if (free == 0)
            continue;
        ret->whole += free == MILLI;
        ret->idle += free;
        ret->free[ret->n] = free;
        ret->bit[ret->n++] = (uint8_t)bit;
    }
}

const struct demand_kind *demand_kinds(const struct demand *d, size_t *ret_n)
{
    *ret_n = d->n_kinds;
    return d->kinds;
}

int64_t demand_weight(const struct demand *d)
{
    return d->weight;
}

int64_t demand_total(const struct demand *d)
{
    return d->total;
}

/* For each level: the gpus with at least that much free, and the sum of their free compute. */
struct usable {
    uint32_t gpus[MILLI + 1];
    int64_t milli[MILLI + 1];
};

static void count_usable(const struct demand *d, const struct levels *l, uint64_t gpus,
                         struct usable *ret)
{
    memset(ret->gpus, 0, (d->n_levels + 1) * sizeof(*ret->gpus));
    memset(ret->milli, 0, (d->n_levels + 1) * sizeof(*ret->milli));
    for (unsigned i = 0; i < l->n; i++) {
        uint16_t level = d->level_of[l->free[i]];

        if (!(gpus >> l->bit[i] & 1))
            continue;
        ret->gpus[level]++;
        ret->milli[level] += l->free[i];
    }
    for (size_t i = d->n_levels; i > 1; i--) {
        ret->gpus[i - 1] += ret->gpus[i];
        ret->milli[i - 1] += ret->milli[i];
    }
}

size_t demand_cpus_within(const struct demand *d, int64_t cpu)
{
    size_t n = d->n_cpus;

    while (n > 0 && d->cpus[n - 1] > cpu)
        n--;
    return n;
}

int64_t demand_fragment(const struct demand *d, const struct node *n, const struct levels *l)
{
    struct usable all;
    size_t cpu = demand_cpus_within(d, l->cpu);
    int64_t idle = 0;
    int64_t fragment;

    for (unsigned i = 0; i < l->n; i++)
        idle += l->free[i];
    fragment = idle * d->weight;
    if (cpu == 0 || idle == 0)
        return fragment;
    count_usable(d, l, UINT64_MAX, &all);
    for (size_t i = 0; i < d->n_groups; i++) {
        const struct demand_group *g = &d->groups[i];
        uint64_t gpus = g->shape->n_models > 0 ? node_gpus_of(n, g->shape) : UINT64_MAX;
        struct usable some;
        const struct usable *u = &all;

        if (gpus == 0)
            continue;
        if (gpus != UINT64_MAX && gpus != node_gpus(n)) {
            count_usable(d, l, gpus, &some);
            u = &some;
        }
        if (u->gpus[g->level] >= g->shape->gpus)
            fragment -= g->weights[cpu - 1] * u->milli[g->level];
    }
    return fragment;
}

static bool is_same_group(const struct shape *a, const struct shape *b)
{
    return a->gpus == b->gpus && a->milli == b->milli && a->n_models == b->n_models &&
           memcmp(a->models, b->models, a->n_models * sizeof(*a->models)) == 0;
}

static struct demand_group *group_of(struct demand *d, const struct shape *s)
{
    for (size_t i = 0; i < d->n_groups; i++)
        if (is_same_group(d->groups[i].shape, s))
            return &d->groups[i];
    d->groups[d->n_groups] = (struct demand_group){
        .shape = s,
        .level = d->level_of[s->milli],
        .weights = mem_alloc(d->n_cpus * sizeof(int64_t) + 1),
    };
    return &d->groups[d->n_groups++];
}

/* Fills the cpus and levels that occur. */
static void find_steps(struct demand *d)
{
    int64_t *levels = mem_alloc(d->n_kinds * sizeof(*levels) + 1);
    size_t n = 0;

    d->cpus = mem_alloc(d->n_kinds * sizeof(*d->cpus) + 1);
    for (size_t i = 0; i < d->n_kinds; i++) {
        d->cpus[i] = d->kinds[i].shape->cpu;
        levels[i] = d->kinds[i].shape->milli;
    }
    d->n_cpus = num_sort_unique(d->cpus, d->n_kinds);
    d->n_levels = num_sort_unique(levels, d->n_kinds);
    for (unsigned milli = 0; milli <= MILLI; milli++) {
        while (n < d->n_levels && levels[n] <= milli)
            n++;
        d->level_of[milli] = (uint16_t)n;
    }
    free(levels);
}

static void fill_groups(struct demand *d)
{
    d->groups = mem_alloc(d->n_kinds * sizeof(*d->groups) + 1);
    for (size_t i = 0; i < d->n_kinds; i++) {
        const struct shape *s = d->kinds[i].shape;
        struct demand_group *g;

        d->weight += d->kinds[i].weight;
        if (s->gpus == 0)
            continue; /* all idle gpu is a fragment for this kind */
        g = group_of(d, s);
        for (size_t k = 0; k < d->n_cpus; k++)
            if (d->cpus[k] >= s->cpu)
                g->weights[k] += d->kinds[i].weight;
    }
}

void demand_free(struct mete_engine *e, struct demand *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_kinds; i++)
        shape_unref(e, d->kinds[i].shape);
    for (size_t i = 0; i < d->n_groups; i++)
        free(d->groups[i].weights);
    free(d->kinds);
    free(d->groups);
    free(d->cpus);
    free(d);
}

static enum mete_result check_demand(struct mete_engine *e, const struct mete_demand *demand,
                                     size_t n, uint64_t total)
{
    int64_t sum = 0;

    if (n > KINDS_MAX)
        return engine_refuse(e, METE_INVALID, "%zu kinds of pods in a demand, at most %d", n,
                             KINDS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (demand[i].weight > (uint64_t)(WEIGHT_MAX - sum))
            return engine_refuse(e, METE_INVALID, "the weights of a demand sum to over 2^32");
        sum += (int64_t)demand[i].weight;
    }
    if (total > WEIGHT_MAX || (total > 0 && total < (uint64_t)sum))
        return engine_refuse(e, METE_INVALID,
                             "the total of a demand is over 2^32 or less than its weights");
    return METE_OK;
}

enum mete_result mete_demand_set(struct mete_engine *e, const struct mete_demand *demand, size_t n,
                                 uint64_t total)
{
    enum mete_result result = check_demand(e, demand, n, total);
    struct demand *d;

    if (result != METE_OK)
        return result;
    d = mem_alloc(sizeof(*d));
    d->kinds = mem_alloc(n * sizeof(*d->kinds) + 1);
    for (size_t i = 0; i < n && result == METE_OK; i++) {
        struct mete_pod_set set = *demand[i].set;

        set.node = NULL;
        set.n_rules = 0; /* rules about other pods do not describe a node */
        d->kinds[i].weight = (int64_t)demand[i].weight;
        result = shape_make(e, &set, &d->kinds[i].shape);
        if (result == METE_OK)
            d->n_kinds++;
    }
    if (result != METE_OK) {
        demand_free(e, d);
        return result;
    }
    record_call(e, RECORD_DEMAND_SET, &(struct record_demand){demand, n, total});
    find_steps(d);
    fill_groups(d);
    d->total = total > 0 ? (int64_t)total : d->weight;
    demand_free(e, e->demand);
    e->demand = d->weight > 0 ? d : NULL;
    if (!e->demand)
        demand_free(e, d);
    values_prepare(e);
    search_reset(e);
    e->version++;
    return METE_OK;
}

static int64_t healthy_milli(const struct node *n)
{
    return (int64_t)__builtin_popcountll(n->healthy) * MILLI;
}

/* Recounts a node that may have changed. */
static void count_node(struct mete_engine *e, struct node *n)
{
    struct node_sums now = {0};
    struct levels l;

    if (n->is_present) {
        now.capacity = (int64_t)n->n_gpus * MILLI;
        now.used = healthy_milli(n) - node_milli_free(n) - node_parts_milli_left(n);
        if (e->demand) {
            levels_of(e, n, &l);
            now.fragment = demand_fragment(e->demand, n, &l);
        }
    }
    e->sums.capacity += now.capacity - n->sums.capacity;
    e->sums.used += now.used - n->sums.used;
    e->sums.fragment += now.fragment - n->sums.fragment;
    n->sums = now;
}

void mete_gpu_sums(struct mete_engine *e, struct mete_gpu_sums *ret)
{
    if (e->sums_epoch != e->epoch) {
        e->sums = (struct node_sums){0};
        VEC_EACH (&e->order, n) {
            (*n)->sums = (struct node_sums){0};
            count_node(e, *n);
        }
    } else {
        for (struct node *n = search_newest(e, e->sums_seen); n;
             n = search_older(e, n, e->sums_seen))
            count_node(e, n);
    }
    e->sums_epoch = e->epoch;
    e->sums_seen = e->changes;
    *ret = (struct mete_gpu_sums){
        .capacity = e->sums.capacity,
        .used = e->sums.used,
        .fragmented = e->demand ? e->sums.fragment / e->demand->weight : 0,
    };
}
