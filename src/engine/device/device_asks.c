/* device_asks.c - the asks of a pod set: checked, read, and matched with gpus */

#include "engine/device/device_asks.h"

#include <stdlib.h>

static bool is_slice(const struct mete_gpu_ask *a)
{
    return a->profile && *a->profile;
}

static enum mete_result check_ask(struct mete_engine *e, const struct mete_gpu_ask *a, size_t i)
{
    char name[MIG_NAME_SIZE];

    if (a->count == 0 || a->count > ASK_DEVICES_MAX)
        return engine_refuse(e, METE_INVALID, "ask %zu: count %u is not within 1 .. %d", i,
                             a->count, ASK_DEVICES_MAX);
    if (a->gpu_milli > MILLI || a->memory_bytes < 0 || a->memory_bytes > AMOUNT_MAX)
        return engine_refuse(e, METE_INVALID,
                             "ask %zu: gpu_milli is not within 0 .. %d, or memory_bytes not within "
                             "0 .. 2^60",
                             i, MILLI);
    if (is_slice(a) && !mig_name_read(a->profile, name))
        return engine_refuse(e, METE_INVALID, "ask %zu: want a profile such as '1g.10gb'", i);
    if ((is_slice(a) || a->is_replica) && a->gpu_milli > 0)
        return engine_refuse(e, METE_INVALID, "ask %zu: a slice or replica has no gpu_milli", i);
    if (a->is_replica && (is_slice(a) || a->memory_bytes > 0))
        return engine_refuse(e, METE_INVALID,
                             "ask %zu: a replica is no slice and has no memory of its own", i);
    if (a->is_by_memory &&
        (is_slice(a) || a->is_replica || a->gpu_milli > 0 || a->memory_bytes == 0))
        return engine_refuse(e, METE_INVALID,
                             "ask %zu: a share by memory has memory_bytes and no gpu_milli", i);
    if (a->or_replica && (is_slice(a) || a->is_replica || a->is_by_memory ||
                          (a->gpu_milli > 0 && a->gpu_milli < MILLI)))
        return engine_refuse(e, METE_INVALID, "ask %zu: replicas serve for whole gpus only", i);
    if (a->starts > UINT16_MAX || (a->starts > 0 && !is_slice(a)))
        return engine_refuse(e, METE_INVALID, "ask %zu: only a slice has starts, 0 to 15", i);
    if (a->n_models > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "ask %zu: more than %d gpu models", i, LIST_MAX);
    for (size_t k = 0; k < a->n_models; k++)
        if (!text_is_sane(a->models[k]))
            return engine_refuse(e, METE_INVALID, "ask %zu: a gpu model is empty or over %d bytes",
                                 i, TEXT_MAX);
    if (a->n_uuids > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "ask %zu: more than %d gpus to choose from", i,
                             LIST_MAX);
    for (size_t k = 0; k < a->n_uuids; k++)
        if (!text_is_sane(a->uuids[k]))
            return engine_refuse(e, METE_INVALID, "ask %zu: a uuid is empty or over %d bytes", i,
                                 TEXT_MAX);
    return METE_OK;
}

enum mete_result asks_check(struct mete_engine *e, const struct mete_pod_set *set)
{
    uint64_t devices = 0;

    if (set->n_asks == 0)
        return METE_OK;
    if (set->n_asks > ASKS_MAX || set->gpus > 0)
        return engine_refuse(e, METE_INVALID,
                             "a pod has either `gpus` or at most %d asks, not both", ASKS_MAX);
    for (size_t i = 0; i < set->n_asks; i++) {
        enum mete_result result = check_ask(e, &set->asks[i], i);

        if (result != METE_OK)
            return result;
        devices += set->asks[i].count;
    }
    if (devices > ASK_DEVICES_MAX)
        return engine_refuse(e, METE_INVALID, "a pod asks for %llu devices, at most %d",
                             (unsigned long long)devices, ASK_DEVICES_MAX);
    return METE_OK;
}

bool asks_are_plain(const struct mete_pod_set *set, struct mete_pod_set *ret)
{
    const struct mete_gpu_ask *a = set->asks;

    *ret = *set;
    if (set->n_asks == 0)
        return true;
    if (set->n_asks > 1 || is_slice(a) || a->is_replica || a->or_replica || a->is_by_memory ||
        a->n_uuids > 0)
        return false;
    ret->gpus = a->count;
    ret->gpu_milli = a->gpu_milli;
    ret->gpu_memory_bytes = a->memory_bytes;
    ret->gpu_models = a->models;
    ret->n_gpu_models = a->n_models;
    ret->n_asks = 0;
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t *read_texts(struct mete_engine *e, const char *const *texts, size_t n)
{
    uint32_t *ret = mem_alloc(n * sizeof(*ret) + 1);

    for (size_t i = 0; i < n; i++)
        ret[i] = intern_ref(e->texts, texts[i]);
    qsort(ret, n, sizeof(*ret), compare_numbers);
    return ret;
}

static void read_models(struct mete_engine *e, const struct mete_gpu_ask *from, struct ask *to)
{
    to->models = read_texts(e, from->models, from->n_models);
    to->n_models = from->n_models;
    to->uuids = read_texts(e, from->uuids, from->n_uuids);
    to->n_uuids = from->n_uuids;
}

static void read_ask(struct mete_engine *e, const struct mete_gpu_ask *from, struct ask *to)
{
    char name[MIG_NAME_SIZE] = "";

    read_models(e, from, to);
    to->count = from->count;
    to->is_several = from->is_several;
    to->bytes = from->memory_bytes;
    to->starts = from->starts > 0 ? (uint16_t)from->starts : UINT16_MAX;
    if (is_slice(from)) {
        (void)mig_name_read(from->profile, name); /* checked */
        to->kind = ASK_SLICE;
        to->profile = intern_ref(e->texts, name);
        to->milli = mig_name_milli(name);
    } else if (from->is_replica) {
        to->kind = ASK_REPLICA;
        to->milli = 1;
    } else if (from->is_by_memory) {
        to->kind = ASK_SHARE;
        to->milli = 1;
        to->is_by_memory = true;
    } else if (from->gpu_milli > 0 && from->gpu_milli < MILLI) {
        to->kind = ASK_SHARE;
        to->milli = from->gpu_milli;
    } else {
        to->kind = ASK_WHOLE;
        to->milli = MILLI;
        to->bytes = 0;
    }
}

/* Adds the asks by which replicas serve. */
static void add_others(struct mete_engine *e, const struct mete_pod_set *set, struct shape *s)
{
    for (size_t i = 0; i < set->n_asks; i++) {
        struct ask *other = &s->asks[s->n_asks];

        if (!set->asks[i].or_replica)
            continue;
        *other = (struct ask){.kind = ASK_REPLICA,
                              .first = s->asks[i].first,
                              .milli = 1,
                              .is_several = s->asks[i].is_several};
        read_models(e, &set->asks[i], other);
        s->asks[i].other = (uint32_t)s->n_asks++;
    }
}

void asks_read(struct mete_engine *e, const struct mete_pod_set *set, struct shape *s)
{
    s->asks = mem_alloc(2 * set->n_asks * sizeof(*s->asks));
    s->milli = 0;
    for (size_t i = 0; i < set->n_asks; i++) {
        struct ask *a = &s->asks[s->n_asks++];

        *a = (struct ask){.first = s->gpus};
        read_ask(e, &set->asks[i], a);
        s->gpus += a->count;
        s->milli = a->milli > s->milli ? a->milli : s->milli;
    }
    add_others(e, set, s);
}

void asks_free(struct mete_engine *e, struct shape *s)
{
    for (size_t i = 0; i < s->n_asks; i++) {
        for (size_t k = 0; k < s->asks[i].n_models; k++)
            intern_unref(e->texts, s->asks[i].models[k]);
        for (size_t k = 0; k < s->asks[i].n_uuids; k++)
            intern_unref(e->texts, s->asks[i].uuids[k]);
        intern_unref(e->texts, s->asks[i].profile);
        free(s->asks[i].models);
        free(s->asks[i].uuids);
    }
    free(s->asks);
}

struct ask *asks_scratch(struct mete_engine *e, const struct shape *s)
{
    size_t size = s->n_asks * sizeof(*s->asks);
    struct ask *copy = NULL;

    if (s->n_asks == 0)
        return NULL;
    copy = arena_alloc(e->scratch, size);
    memcpy(copy, s->asks, size);
    return copy;
}

int64_t asks_milli(const struct shape *s, uint32_t model)
{
    int64_t ret = 0;

    for (size_t i = 0; i < s->n_asks; i++) {
        const struct ask *a = &s->asks[i];

        if (model == 0 || (a->n_models == 1 && a->models[0] == model))
            ret += (int64_t)a->count * a->milli;
    }
    return ret;
}

bool asks_are_open(const struct shape *s)
{
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].kind == ASK_REPLICA || s->asks[i].is_by_memory)
            return true;
    return false;
}

size_t asks_named(const struct shape *s)
{
    size_t n = s->n_asks;

    while (n > 0 && s->asks[n - 1].count == 0)
        n--;
    return n;
}

uint32_t ask_number(const struct shape *s, const struct ask *a)
{
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].other != 0 && a == &s->asks[s->asks[i].other])
            return (uint32_t)i;
    return (uint32_t)(a - s->asks);
}

static bool has_number(const uint32_t *sorted, size_t n, uint32_t number)
{
    return bsearch(&number, sorted, n, sizeof(*sorted), compare_numbers) != NULL;
}

uint64_t ask_gpus(const struct node *n, const struct ask *a)
{
    uint64_t of_models = node_gpus_of_models(n, a->models, a->n_models);
    uint64_t ret = 0;

    if (a->n_uuids == 0)
        return of_models;
    for (uint64_t left = of_models; left; left &= left - 1)
        if (has_number(a->uuids, a->n_uuids, n->gpus[__builtin_ctzll(left)]->name))
            ret |= left & -left;
    return ret;
}

uint32_t ask_share_milli(const struct ask *a, const struct gpu *g)
{
    __extension__ typedef __int128 wide;
    int64_t memory = gpu_share_memory(g);
    wide milli;

    if (!a->is_by_memory)
        return a->milli;
    if (memory <= a->bytes)
        return MILLI - 1;
    milli = ((wide)a->bytes * MILLI + memory - 1) / memory;
    return milli < MILLI ? (uint32_t)milli : MILLI - 1;
}

uint32_t pod_device_milli(const struct pod *p, size_t i)
{
    const struct ask *a;

    if (pod_shape(p)->n_asks == 0)
        return pod_shape(p)->milli;
    a = pod_ask(p, i);
    if (a->kind == ASK_REPLICA && p->gpus[i]->parts)
        return parts_replica_milli(p->gpus[i]->parts);
    return ask_share_milli(a, p->gpus[i]);
}

static bool may_serve(const struct gpu *g, const struct ask *a)
{
    const struct parts *p = g->parts;

    if (a->kind == ASK_REPLICA)
        return p && p->replicas > 0 && (a->count > 0 || !p->is_renamed) &&
               !(a->is_several && p->is_single);
    if (a->kind != ASK_SLICE)
        return !p || p->can_be_whole;
    if (!p || p->replicas > 0)
        return false;
    if (p->is_flexible)
        return parts_profile(p, a->profile) >= 0;
    for (unsigned i = 0; i < MIG_UNITS_MAX; i++)
        if (p->told[i].name == a->profile)
            return true;
    return false;
}

uint64_t asks_gpus_of(const struct node *n, const struct shape *s)
{
    uint64_t ret = 0;

    for (size_t i = 0; i < s->n_asks; i++) {
        const struct ask *a = &s->asks[i];

        for (uint64_t left = ask_gpus(n, a) & ~ret; left; left &= left - 1)
            if (may_serve(n->gpus[__builtin_ctzll(left)], a))
                ret |= left & -left;
    }
    return ret;
}
