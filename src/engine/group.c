/* group.c - groups: workloads that ask for the same, and their waiting order */

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/group_cache.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/plan/outlook.h"
#include "engine/queue/queue.h"
#include "engine/state.h"

enum {
    POD_SETS_MAX = 64
};

static enum mete_result check_domains(struct mete_engine *e, const struct mete_domain *list,
                                      size_t n)
{
    if (n > METE_DOMAINS_MAX)
        return engine_refuse(e, METE_INVALID, "%zu domains are asked for, at most %d", n,
                             METE_DOMAINS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!text_is_sane(list[i].key))
            return engine_refuse(e, METE_INVALID, "domain %zu has no label key", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[i].key, list[k].key) == 0)
                return engine_refuse(e, METE_INVALID, "domain '%s' is asked for twice",
                                     list[i].key);
    }
    return METE_OK;
}

static enum mete_result check_counts(struct mete_engine *e, const struct mete_workload *w)
{
    size_t total = 0;

    if (w->n_pod_sets == 0 || w->n_pod_sets > POD_SETS_MAX)
        return engine_refuse(e, METE_INVALID, "a workload has 1 to %d pod sets, not %zu",
                             POD_SETS_MAX, w->n_pod_sets);
    for (size_t i = 0; i < w->n_pod_sets; i++) {
        const struct mete_pod_set *set = &w->pod_sets[i];

        if (set->count == 0 || set->count > PODS_MAX)
            return engine_refuse(e, METE_INVALID, "pod set %zu: count %u is not within 1 .. %d", i,
                                 set->count, PODS_MAX);
        if (check_domains(e, set->domains, set->n_domains) != METE_OK)
            return METE_INVALID;
        if (set->name && strlen(set->name) > TEXT_MAX)
            return engine_refuse(e, METE_INVALID, "pod set %zu: the name is over %d bytes", i,
                                 TEXT_MAX);
        total += set->count;
    }
    if (total > PODS_MAX)
        return engine_refuse(e, METE_INVALID, "%zu pods in one workload, at most %d", total,
                             PODS_MAX);
    return check_domains(e, w->domains, w->n_domains);
}

static void asks_read(struct mete_engine *e, const struct mete_domain *list, size_t n,
                      struct domain_asks *ret)
{
    for (size_t i = 0; i < n; i++) {
        ret->keys[i] = intern_ref(e->texts, list[i].key);
        ret->is_required[i] = list[i].is_required;
    }
    ret->n = n;
}

static void asks_unref(struct mete_engine *e, const struct domain_asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        intern_unref(e->texts, asks->keys[i]);
}

static void asks_ref(struct mete_engine *e, const struct domain_asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        (void)intern_ref(e->texts, intern_text(e->texts, asks->keys[i]));
}

static void group_free(struct mete_engine *e, struct group *g)
{
    for (size_t i = 0; i < g->n_sets; i++) {
        shape_unref(e, g->sets[i].shape);
        intern_unref(e->texts, g->sets[i].name);
        asks_unref(e, &g->sets[i].asks);
        ties_unref(e, g->sets[i].ties);
    }
    outlook_free(e, g);
    intern_unref(e->texts, g->reservation);
    asks_unref(e, &g->asks);
    free(g->sets);
    free(g->fill_order);
    free(g->words);
    free(g->brief);
    free(g->charge);
    free(g);
}

/* Sorts the sets by gpus, most first, then in the given order: pods that are hard to place go
 * first. */
static void order_sets(struct group *g)
{
    g->fill_order = mem_alloc(g->n_sets * sizeof(*g->fill_order));
    for (uint32_t i = 0; i < g->n_sets; i++) {
        size_t at = i;

        while (at > 0 && g->sets[g->fill_order[at - 1]].shape->gpus < g->sets[i].shape->gpus) {
            g->fill_order[at] = g->fill_order[at - 1];
            at--;
        }
        g->fill_order[at] = i;
    }
}

static void spell(struct words *words, uint64_t number)
{
    vec_add(words, (uint32_t)(number >> 32));
    vec_add(words, (uint32_t)number);
}

static void spell_asks(struct words *words, const struct domain_asks *asks)
{
    spell(words, asks->n);
    for (size_t i = 0; i < asks->n; i++)
        spell(words, (uint64_t)asks->keys[i] << 1 | asks->is_required[i]);
}

/* The group's identity. Shapes are hash-consed, so their addresses serve. */
static void group_spell(const struct group *g, struct words *words)
{
    vec_clear(words);
    spell_asks(words, &g->asks);
    spell(words, (uint64_t)g->time_limit_ns);
    spell(words, (uint64_t)(uintptr_t)g->queue);
    spell(words, (uint64_t)g->reservation << 32 | g->user);
    spell(words, (uint64_t)g->evict_class << 1 | g->never_preempts);
    for (size_t i = 0; i < g->n_sets; i++) {
        spell(words, (uint64_t)(uintptr_t)g->sets[i].shape);
        spell(words, (uint64_t)(uintptr_t)g->sets[i].ties);
        spell(words, (uint64_t)g->sets[i].name << 32 | g->sets[i].count);
        spell_asks(words, &g->sets[i].asks);
    }
}

/* The existing group equal to `g`, which is then freed; or `g`. Takes a reference. */
static struct group *group_consed(struct mete_engine *e, struct group *g)
{
    struct group *found = NULL;
    struct words *words = &e->words;
    size_t size;

    group_spell(g, words);
    size = words->n * sizeof(*words->at);
    map_find(handle, e->group_map, words->at, size, found);
    if (found) {
        group_free(e, g);
        g = found;
    } else {
        order_sets(g);
        g->words = mem_dup(words->at, size);
        map_add(handle, e->group_map, g->words, size, g);
    }
    g->refs++;
    return g;
}

enum mete_result group_make(struct mete_engine *e, const struct mete_workload *w,
                            struct queue *queue, uint32_t user, struct group **ret)
{
    enum mete_result result = check_counts(e, w);
    struct group *g;

    if (result != METE_OK)
        return result;
    g = mem_alloc(sizeof(*g));
    g->time_limit_ns = w->time_limit_ns;
    g->never_preempts = w->never_preempts;
    g->evict_class = w->evict_class;
    g->queue = queue;
    g->user = user;
    g->reservation = w->reservation && *w->reservation ? intern_ref(e->texts, w->reservation) : 0;
    g->sets = mem_alloc(w->n_pod_sets * sizeof(*g->sets));
    for (size_t i = 0; i < w->n_pod_sets && result == METE_OK; i++) {
        const struct mete_pod_set *set = &w->pod_sets[i];

        result = shape_make(e, set, &g->sets[i].shape);
        if (result != METE_OK)
            break;
        g->sets[i].name = set->name && *set->name ? intern_ref(e->texts, set->name) : 0;
        g->sets[i].count = set->count;
        asks_read(e, set->domains, set->n_domains, &g->sets[i].asks);
        g->has_asks = g->has_asks || set->n_domains > 0;
        g->n_pods += set->count;
        g->n_sets++;
    }
    if (result != METE_OK) {
        group_free(e, g);
        return result;
    }
    asks_read(e, w->domains, w->n_domains, &g->asks);
    g->has_asks = g->has_asks || w->n_domains > 0;
    *ret = group_consed(e, g);
    return METE_OK;
}

static struct group *group_copy(struct mete_engine *e, const struct group *g, struct queue *queue,
                                uint32_t user, struct ties *const *ties)
{
    struct group *copy = mem_alloc(sizeof(*copy));

    copy->time_limit_ns = g->time_limit_ns;
    copy->never_preempts = g->never_preempts;
    copy->evict_class = g->evict_class;
    copy->queue = queue;
    copy->user = user;
    copy->reservation =
        g->reservation ? intern_ref(e->texts, intern_text(e->texts, g->reservation)) : 0;
    copy->n_sets = g->n_sets;
    copy->n_pods = g->n_pods;
    copy->asks = g->asks;
    copy->has_asks = g->has_asks;
    asks_ref(e, &g->asks);
    copy->sets = mem_dup(g->sets, g->n_sets * sizeof(*g->sets));
    for (size_t i = 0; i < g->n_sets; i++) {
        copy->sets[i].shape->refs++;
        asks_ref(e, &copy->sets[i].asks);
        copy->sets[i].ties = ties ? ties[i] : g->sets[i].ties;
        if (copy->sets[i].ties)
            copy->sets[i].ties->refs++;
        if (copy->sets[i].name != 0)
            (void)intern_ref(e->texts, intern_text(e->texts, copy->sets[i].name));
    }
    return group_consed(e, copy);
}

struct group *group_for(struct mete_engine *e, const struct group *g, struct queue *queue,
                        uint32_t user)
{
    return group_copy(e, g, queue, user, NULL);
}

struct group *group_tied(struct mete_engine *e, const struct group *g, struct ties *const *ties)
{
    return group_copy(e, g, g->queue, g->user, ties);
}

void group_unref(struct mete_engine *e, struct group *g)
{
    if (!g || --g->refs > 0)
        return;
    group_cache_forget(g);
    map_remove(handle, e->group_map, g);
    group_free(e, g);
}

static void group_enter(struct mete_engine *e, struct workload *w)
{
    struct group *g = w->group;
    struct queue *q = w->queue;

    if (q->groups.n == 0) {
        q->waiting_index = e->queues_waiting.n;
        vec_add(&e->queues_waiting, q);
    }
    if (order_count(&g->waiting) == 0) {
        g->waiting_index = q->groups.n;
        vec_add(&q->groups, g);
    }
    order_add(&g->waiting, &w->in_group, &w->key);
    /* The former first workload failed; a new first one may be before a backfill reservation. */
    if (order_first(&g->waiting) == &w->in_group)
        g->failed_at = 0;
}

static void queue_stop_waiting(struct mete_engine *e, const struct queue *q)
{
    struct queue *last = e->queues_waiting.at[--e->queues_waiting.n];

    e->queues_waiting.at[q->waiting_index] = last;
    last->waiting_index = q->waiting_index;
}

static void group_leave(struct mete_engine *e, struct workload *w)
{
    struct group *g = w->group;
    struct queue *q = w->queue;
    struct group *last;

    order_remove(&g->waiting, &w->in_group);
    if (order_count(&g->waiting) > 0)
        return;
    last = q->groups.at[--q->groups.n];
    q->groups.at[g->waiting_index] = last;
    last->waiting_index = g->waiting_index;
    if (q->groups.n == 0)
        queue_stop_waiting(e, q);
}

void group_wait(struct mete_engine *e, struct workload *w)
{
    if (w->hold == METE_HOLD_NONE)
        group_enter(e, w);
    w->queue->n_on_hold += w->hold != METE_HOLD_NONE;
    order_add(&w->queue->waiting, &w->all, &w->key);
    e->n_waiting++;
    w->group->n_claims += w->claim != NULL;
}

void group_unwait(struct mete_engine *e, struct workload *w)
{
    if (w->hold == METE_HOLD_NONE)
        group_leave(e, w);
    w->queue->n_on_hold -= w->hold != METE_HOLD_NONE;
    order_remove(&w->queue->waiting, &w->all);
    e->n_waiting--;
    w->group->n_claims -= w->claim != NULL;
}

/* Does the set alone fit on the empty nodes? Necessary for a group of several sets, exact for one.
 */
static bool set_fits_empty(const struct mete_engine *e, const struct group_set *set)
{
    uint64_t count = 0;

    for (size_t i = 0; i < e->order.n && count < set->count; i++)
        count += fit_empty(e->order.at[i], set->shape);
    return count >= set->count;
}

bool group_never_fits(struct mete_engine *e, struct group *g)
{
    if (g->never_at == e->nodes_version)
        return g->never;
    g->never_at = e->nodes_version;
    g->never = false;
    for (size_t i = 0; i < g->n_sets && !g->never; i++)
        g->never = !set_fits_empty(e, &g->sets[i]);
    g->never = g->never || domains_never_fit(e, g);
    return g->never;
}
