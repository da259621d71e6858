/*
 * shape.c - shapes: what one pod asks for, checked, interned and hash-consed
 *
 * Shapes and groups are hash-consed: equal requests share one object, found by a list of numbers
 * that spells the request. So a search that fails for one pod fails for all pods of the shape.
 */

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/affinity/node_rules.h"
#include "engine/device/device_asks.h"
#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/state.h"

static int compare_requests(const void *a, const void *b)
{
    const struct request *x = a;
    const struct request *y = b;

    return (x->resource > y->resource) - (x->resource < y->resource);
}

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a;
    const struct label *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static int compare_tolerations(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct toleration));
}

static enum mete_result check_requests(struct mete_engine *e, const struct mete_pod_set *set)
{
    for (size_t i = 0; i < set->n_requests; i++) {
        const struct mete_amount *a = &set->requests[i];

        if (!text_is_sane(a->resource) || a->amount < 0 || a->amount > AMOUNT_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "request %zu has no name or is not within 0 .. 2^60", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(a->resource, set->requests[j].resource) == 0)
                return engine_refuse(e, METE_INVALID, "resource '%s' is requested twice",
                                     a->resource);
    }
    return METE_OK;
}

static enum mete_result check_selector(struct mete_engine *e, const struct mete_pod_set *set)
{
    for (size_t i = 0; i < set->n_selector; i++) {
        const struct mete_label *l = &set->selector[i];

        if (!text_is_sane(l->key) || !l->value || strlen(l->value) > TEXT_MAX)
            return engine_refuse(e, METE_INVALID, "selector %zu has no key or no value", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(l->key, set->selector[j].key) == 0)
                return engine_refuse(e, METE_INVALID, "label '%s' is selected twice", l->key);
    }
    return METE_OK;
}

static enum mete_result check_tolerations(struct mete_engine *e, const struct mete_pod_set *set)
{
    for (size_t i = 0; i < set->n_tolerations; i++) {
        const struct mete_toleration *t = &set->tolerations[i];

        if ((t->key && strlen(t->key) > TEXT_MAX) || (t->value && strlen(t->value) > TEXT_MAX))
            return engine_refuse(e, METE_INVALID, "toleration %zu has a text over %d bytes", i,
                                 TEXT_MAX);
        if (!t->any_effect && (unsigned)t->effect > METE_NO_EXECUTE)
            return engine_refuse(e, METE_INVALID, "toleration %zu has no known effect", i);
        if ((!t->key || !*t->key) && !t->is_exists)
            return engine_refuse(e, METE_INVALID, "toleration %zu has no key, which needs Exists",
                                 i);
    }
    return METE_OK;
}

static enum mete_result shape_check_gpus(struct mete_engine *e, const struct mete_pod_set *set)
{
    enum mete_result result = asks_check(e, set);
    struct mete_pod_set plain;

    if (result != METE_OK)
        return result;
    if (set->is_linked && (!asks_are_plain(set, &plain) || plain.gpu_milli % MILLI != 0))
        return engine_refuse(e, METE_INVALID, "only whole gpus of one kind can be linked");
    if (set->gpus > PODS_MAX)
        return engine_refuse(e, METE_INVALID, "a pod asks for %u gpus, at most %d", set->gpus,
                             PODS_MAX);
    if (set->gpu_milli > MILLI)
        return engine_refuse(e, METE_INVALID, "gpu_milli %u is not within 0 .. %d", set->gpu_milli,
                             MILLI);
    if (set->gpu_memory_bytes < 0 || set->gpu_memory_bytes > AMOUNT_MAX)
        return engine_refuse(e, METE_INVALID, "gpu_memory_bytes is not within 0 .. 2^60");
    if (set->n_gpu_models > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "more than %d gpu models", LIST_MAX);
    for (size_t i = 0; i < set->n_gpu_models; i++)
        if (!text_is_sane(set->gpu_models[i]))
            return engine_refuse(e, METE_INVALID, "a gpu model is empty or over %d bytes",
                                 TEXT_MAX);
    return METE_OK;
}

static enum mete_result check_set(struct mete_engine *e, const struct mete_pod_set *set)
{
    enum mete_result result;

    if (set->n_requests > LIST_MAX || set->n_selector > LIST_MAX || set->n_tolerations > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "more than %d requests, labels or tolerations",
                             LIST_MAX);
    result = shape_check_gpus(e, set);
    if (result != METE_OK)
        return result;
    if (set->node && !text_is_sane(set->node))
        return engine_refuse(e, METE_INVALID, "a node name is empty or over %d bytes", TEXT_MAX);
    result = check_requests(e, set);
    if (result == METE_OK)
        result = check_selector(e, set);
    if (result == METE_OK)
        result = check_tolerations(e, set);
    if (result == METE_OK)
        result = node_rules_check(e, set);
    return result == METE_OK ? affinity_rules_check(e, set) : result;
}

/* Sorts a list. Most lists come in order. */
static void shape_sort_list(void *at, size_t n, size_t size,
                            int (*compare)(const void *, const void *))
{
    const char *item = at;

    for (size_t i = 1; i < n; i++, item += size)
        if (compare(item, item + size) > 0) {
            qsort(at, n, size, compare);
            return;
        }
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Reads the gpus that the set asks for. Without gpus, shares and models do not matter. */
static void read_gpus(struct mete_engine *e, const struct mete_pod_set *set, struct shape *s)
{
    struct mete_pod_set plain;
    size_t n_models;

    if (!asks_are_plain(set, &plain)) {
        asks_read(e, set, s);
        return;
    }
    set = &plain;
    n_models = set->gpus > 0 ? set->n_gpu_models : 0;
    s->gpus = set->gpus;
    s->milli = set->gpus > 0 && set->gpu_milli > 0 ? set->gpu_milli : MILLI;
    s->gpu_bytes = shape_is_share(s) ? set->gpu_memory_bytes : 0;
    s->is_linked = set->is_linked && set->gpus > 1;
    s->are_models_fixed = n_models > 0 && set->are_models_fixed;
    for (size_t i = 0; i < n_models; i++) {
        uint32_t model = intern_ref(e->texts, set->gpu_models[i]);
        bool is_there = false;

        for (size_t k = 0; k < s->n_models; k++)
            is_there = is_there || s->models[k] == model;
        if (is_there)
            intern_unref(e->texts, model);
        else
            s->models[s->n_models++] = model;
    }
    shape_sort_list(s->models, s->n_models, sizeof(*s->models), compare_numbers);
}

/* Sets is_plain: a glance at a node decides the fit. New requests of shapes are added here. */
static void find_plain(const struct mete_engine *e, struct shape *s)
{
    s->is_plain = !s->is_linked && s->node == 0 && s->n_selector == 0 && s->n_models == 0 &&
                  s->gpu_bytes == 0 && s->n_asks == 0 && !s->nodes;
    for (size_t i = 0; i < s->n_requests; i++) {
        const struct request *r = &s->requests[i];

        if (r->resource == e->cpu)
            s->cpu = r->amount;
        else if (r->resource == e->memory)
            s->memory = r->amount;
        else if (r->resource == e->pods)
            s->pods = r->amount;
        else
            s->is_plain = false;
    }
}

/* A shape with room for its lists, in one block. */
static struct shape *shape_new(const struct mete_pod_set *set)
{
    size_t n_models = set->n_gpu_models;
    struct shape *s;

    for (size_t i = 0; i < set->n_asks; i++)
        n_models += set->asks[i].n_models;
    s = mem_alloc(sizeof(*s) + set->n_requests * sizeof(*s->requests) +
                  set->n_selector * sizeof(*s->selector) +
                  set->n_tolerations * sizeof(*s->tolerations) + n_models * sizeof(*s->models));
    s->requests = (struct request *)(void *)(s + 1);
    s->selector = (struct label *)(void *)(s->requests + set->n_requests);
    s->tolerations = (struct toleration *)(void *)(s->selector + set->n_selector);
    s->models = (uint32_t *)(void *)(s->tolerations + set->n_tolerations);
    return s;
}

/* Reads the set's requests. The shape holds each interned number in it. */
static struct shape *shape_read(struct mete_engine *e, const struct mete_pod_set *set)
{
    struct shape *s = shape_new(set);

    read_gpus(e, set, s);
    s->node = set->node ? intern_ref(e->texts, set->node) : 0;
    s->ns = shape_is_share(s) || s->n_asks > 0 ? intern_ref(e->texts, set->ns ? set->ns : "") : 0;
    for (size_t i = 0; i < set->n_requests; i++)
        if (set->requests[i].amount > 0) {
            s->requests[s->n_requests++] = (struct request){
                intern_ref(e->texts, set->requests[i].resource), set->requests[i].amount};
        }
    for (size_t i = 0; i < set->n_selector; i++)
        s->selector[s->n_selector++] = (struct label){intern_ref(e->texts, set->selector[i].key),
                                                      intern_ref(e->texts, set->selector[i].value)};
    for (size_t i = 0; i < set->n_tolerations; i++) {
        const struct mete_toleration *t = &set->tolerations[i];

        s->tolerations[s->n_tolerations++] = (struct toleration){
            .key = t->key && *t->key ? intern_ref(e->texts, t->key) : 0,
            .value = t->is_exists ? 0 : intern_ref(e->texts, t->value ? t->value : ""),
            .is_exists = t->is_exists,
            .effect = t->any_effect ? EFFECT_ANY : (uint32_t)t->effect,
        };
    }
    shape_sort_list(s->requests, s->n_requests, sizeof(*s->requests), compare_requests);
    shape_sort_list(s->selector, s->n_selector, sizeof(*s->selector), compare_labels);
    shape_sort_list(s->tolerations, s->n_tolerations, sizeof(*s->tolerations), compare_tolerations);
    s->nodes = node_rules_read(e, set);
    s->affinity = affinity_rules_read(e, set);
    find_plain(e, s);
    return s;
}

static void shape_free(struct mete_engine *e, struct shape *s)
{
    search_forget(e, s);
    for (size_t i = 0; i < s->n_requests; i++)
        intern_unref(e->texts, s->requests[i].resource);
    for (size_t i = 0; i < s->n_selector; i++) {
        intern_unref(e->texts, s->selector[i].key);
        intern_unref(e->texts, s->selector[i].value);
    }
    for (size_t i = 0; i < s->n_tolerations; i++) {
        intern_unref(e->texts, s->tolerations[i].key);
        intern_unref(e->texts, s->tolerations[i].value);
    }
    for (size_t i = 0; i < s->n_models; i++)
        intern_unref(e->texts, s->models[i]);
    intern_unref(e->texts, s->node);
    intern_unref(e->texts, s->ns);
    asks_free(e, s);
    node_rules_free(e, s->nodes);
    affinity_detach(e, s);
    affinity_rules_free(e, s->affinity);
    free(s->words);
    free(s);
}

static void spell_asks(const struct shape *s, struct words *w)
{
    for (size_t i = 0; i < s->n_asks; i++) {
        const struct ask *a = &s->asks[i];

        vec_add(w, (uint32_t)a->kind | (uint32_t)a->is_by_memory << 8 |
                       (uint32_t)a->is_several << 9 | a->other << 16);
        vec_add(w, a->count);
        vec_add(w, a->milli);
        vec_add(w, (uint32_t)((uint64_t)a->bytes >> 32));
        vec_add(w, (uint32_t)a->bytes);
        vec_add(w, a->profile);
        vec_add(w, (uint32_t)a->n_models);
        for (size_t k = 0; k < a->n_models; k++)
            vec_add(w, a->models[k]);
        vec_add(w, a->starts);
        vec_add(w, (uint32_t)a->n_uuids);
        for (size_t k = 0; k < a->n_uuids; k++)
            vec_add(w, a->uuids[k]);
    }
}

/* The shape's identity. */
static void shape_spell(const struct shape *s, struct words *w)
{
    vec_clear(w);
    vec_add(w, s->gpus | (uint32_t)s->is_linked << 31);
    vec_add(w, s->milli);
    vec_add(w, (uint32_t)((uint64_t)s->gpu_bytes >> 32));
    vec_add(w, (uint32_t)s->gpu_bytes);
    vec_add(w, (uint32_t)s->n_models | (uint32_t)s->are_models_fixed << 31);
    for (size_t i = 0; i < s->n_models; i++)
        vec_add(w, s->models[i]);
    vec_add(w, s->node);
    vec_add(w, s->ns);
    vec_add(w, (uint32_t)s->n_requests);
    for (size_t i = 0; i < s->n_requests; i++) {
        vec_add(w, s->requests[i].resource);
        vec_add(w, (uint32_t)((uint64_t)s->requests[i].amount >> 32));
        vec_add(w, (uint32_t)s->requests[i].amount);
    }
    vec_add(w, (uint32_t)s->n_selector);
    for (size_t i = 0; i < s->n_selector; i++) {
        vec_add(w, s->selector[i].key);
        vec_add(w, s->selector[i].value);
    }
    for (size_t i = 0; i < s->n_tolerations; i++) {
        vec_add(w, s->tolerations[i].key);
        vec_add(w, s->tolerations[i].value);
        vec_add(w, s->tolerations[i].is_exists);
        vec_add(w, s->tolerations[i].effect);
    }
    vec_add(w, (uint32_t)s->n_asks);
    spell_asks(s, w);
    node_rules_spell(s->nodes, w);
    affinity_rules_spell(s->affinity, w);
}

enum mete_result shape_make(struct mete_engine *e, const struct mete_pod_set *set,
                            struct shape **ret)
{
    enum mete_result result = check_set(e, set);
    struct shape *found = NULL;
    struct words *w = &e->words;
    struct shape *s;

    if (result != METE_OK)
        return result;
    s = shape_read(e, set);
    shape_spell(s, w);
    map_find(handle, e->shape_map, w->at, w->n * sizeof(*w->at), found);
    if (found) {
        shape_free(e, s);
    } else {
        s->words = mem_dup(w->at, w->n * sizeof(*w->at));
        map_add(handle, e->shape_map, s->words, w->n * sizeof(*w->at), s);
        affinity_attach(e, s);
    }
    *ret = found ? found : s;
    (*ret)->refs++;
    return METE_OK;
}

void shape_unref(struct mete_engine *e, struct shape *s)
{
    if (!s || --s->refs > 0)
        return;
    map_remove(handle, e->shape_map, s);
    shape_free(e, s);
}

struct shape *shape_scratch(struct mete_engine *e, const struct shape *s)
{
    struct shape *copy = arena_alloc(e->scratch, sizeof(*copy));
    size_t requests_size = s->n_requests * sizeof(*s->requests);
    size_t selector_size = s->n_selector * sizeof(*s->selector);
    size_t tolerations_size = s->n_tolerations * sizeof(*s->tolerations);

    *copy = (struct shape){
        .gpus = s->gpus,
        .milli = s->milli,
        .gpu_bytes = s->gpu_bytes,
        .models = s->models, /* what-ifs keep all models or drop all */
        .n_models = s->n_models,
        .asks = asks_scratch(e, s),
        .n_asks = s->n_asks,
        .node = s->node,
        .ns = s->ns,
        .is_linked = s->is_linked,
        .are_models_fixed = s->are_models_fixed,
        .requests = arena_alloc(e->scratch, requests_size),
        .n_requests = s->n_requests,
        .cpu = s->cpu,
        .selector = arena_alloc(e->scratch, selector_size),
        .n_selector = s->n_selector,
        /* room for the one toleration that a what-if adds */
        .tolerations = arena_alloc(e->scratch, tolerations_size + sizeof(*s->tolerations)),
        .n_tolerations = s->n_tolerations,
        .nodes = s->nodes,
        .affinity = s->affinity,
        .is_scratch = true,
    };
    memcpy(copy->requests, s->requests, requests_size);
    memcpy(copy->selector, s->selector, selector_size);
    memcpy(copy->tolerations, s->tolerations, tolerations_size);
    return copy;
}
