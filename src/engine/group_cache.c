/* group_cache.c - the cache of group_cache.h: one slot for each hash of plain requests */

#include "engine/group_cache.h"

#include <stdlib.h>

#include "base/num.h"
#include "engine/affinity/affinity.h"
#include "engine/queue/queue.h"

enum {
    SLOTS = 1024
};

struct group_cache {
    struct group *slots[SLOTS];
};

struct group_cache *group_cache_new(void)
{
    return mem_alloc(sizeof(struct group_cache));
}

void group_cache_free(struct group_cache *r)
{
    free(r);
}

/* Has the workload no requests beyond those that is_like compares? New members of mete_workload and
 * mete_pod_set are added here. */
static bool is_plain(struct mete_engine *e, const struct mete_workload *w)
{
    const struct mete_pod_set *set = w->pod_sets;

    return w->n_pod_sets == 1 && w->n_domains == 0 && !(w->reservation && *w->reservation) &&
           set->n_gpu_models == 0 && set->n_selector == 0 && set->n_tolerations == 0 &&
           !set->node && set->n_domains == 0 && set->n_asks == 0 && set->n_node_terms == 0 &&
           set->n_node_wishes == 0 && set->n_rules == 0 && !set->is_linked &&
           affinity_rules_check(e, set) == METE_OK;
}

static bool has_requests(const struct mete_engine *e, const struct shape *s,
                         const struct mete_pod_set *set)
{
    if (set->n_requests != s->n_requests)
        return false;
    for (size_t i = 0; i < s->n_requests; i++)
        if (set->requests[i].amount != s->requests[i].amount ||
            !text_equal(set->requests[i].resource, intern_text(e->texts, s->requests[i].resource)))
            return false;
    return true;
}

/* Invalid amounts match no shape. */
static bool is_of_shape(const struct mete_engine *e, const struct shape *s,
                        const struct mete_pod_set *set)
{
    uint32_t milli = set->gpus > 0 && set->gpu_milli > 0 ? set->gpu_milli : MILLI;

    if (s->ns != 0 && !text_equal(set->ns ? set->ns : "", intern_text(e->texts, s->ns)))
        return false;
    return set->gpus == s->gpus && set->gpu_milli <= MILLI && milli == s->milli &&
           set->gpu_memory_bytes == s->gpu_bytes && has_requests(e, s, set);
}

static bool is_like(const struct mete_engine *e, const struct group *g,
                    const struct mete_workload *w, uint32_t user)
{
    const struct mete_pod_set *set = w->pod_sets;
    const struct group_set *own = g->sets;
    const char *queue = w->queue && *w->queue ? w->queue : "default";

    return g->time_limit_ns == w->time_limit_ns && g->never_preempts == w->never_preempts &&
           g->evict_class == w->evict_class && g->user == (g->queue->splits_users ? user : 0) &&
           own->count == set->count && is_of_shape(e, own->shape, set) &&
           text_equal(queue, g->queue->name) &&
           text_equal(set->name ? set->name : "", intern_text(e->texts, own->name));
}

static size_t slot_of(const struct mete_workload *w)
{
    const struct mete_pod_set *set = w->pod_sets;
    uint64_t hash = (uint64_t)w->time_limit_ns + ((uint64_t)set->gpus << 32 | set->gpu_milli);

    for (size_t i = 0; i < set->n_requests; i++)
        hash = num_scatter(hash + (uint64_t)set->requests[i].amount);
    return hash % SLOTS;
}

struct group *group_cache_find(struct mete_engine *e, const struct mete_workload *w, uint32_t user)
{
    struct group *g = w->n_pod_sets == 1 ? e->group_cache->slots[slot_of(w)] : NULL;

    return g && is_plain(e, w) && is_like(e, g, w, user) ? g : NULL;
}

void group_cache_note(struct mete_engine *e, const struct mete_workload *w, struct group *g)
{
    struct group **slot;

    if (!is_plain(e, w))
        return;
    slot = &e->group_cache->slots[slot_of(w)];
    if (*slot)
        (*slot)->group_cache = NULL;
    group_cache_forget(g);
    *slot = g;
    g->group_cache = slot;
}

void group_cache_forget(const struct group *g)
{
    if (g->group_cache)
        *g->group_cache = NULL;
}

const char *group_cache_check(const struct mete_engine *e)
{
    size_t found = 0;
    size_t n = 0;
    const struct group *g;
    const struct group *next;

    for (size_t i = 0; i < SLOTS; i++)
        n += e->group_cache->slots[i] != NULL;
    map_each (handle, e->group_map, g, next) {
        if (g->group_cache && *g->group_cache != g)
            return "a group is not in its slot of the cache";
        found += g->group_cache != NULL;
    }
    return found == n ? NULL : "the cache has a group that was freed";
}
