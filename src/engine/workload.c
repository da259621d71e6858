/* workload.c - workloads: added, restored, removed */

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/device/device_asks.h"
#include "engine/evict/lend.h"
#include "engine/evict/move.h"
#include "engine/evict/preempt.h"
#include "engine/group_cache.h"
#include "engine/place/place.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/foresee.h"
#include "engine/queue/due.h"
#include "engine/queue/points.h"
#include "engine/queue/queue.h"
#include "engine/record/record.h"
#include "engine/state.h"

static size_t slots_of(const struct shape *s)
{
    return s->gpus < NODE_GPUS_MAX ? s->gpus : NODE_GPUS_MAX;
}

/* Space for a pod's gpus, and with asks for its marks, in pointers. */
static size_t block_of(const struct shape *s)
{
    size_t marks = s->n_asks > 0 ? s->gpus * sizeof(uint16_t) : 0;

    return slots_of(s) + (marks + sizeof(struct gpu *) - 1) / sizeof(struct gpu *);
}

/* The bytes of the group's pods and their gpus. */
static size_t pods_bytes(const struct group *g)
{
    size_t n_slots = 0;

    for (size_t i = 0; i < g->n_sets; i++)
        n_slots += g->sets[i].count * block_of(g->sets[i].shape);
    return g->n_pods * sizeof(struct pod) + n_slots * sizeof(struct gpu *);
}

/* Makes the pods in the space behind the workload. */
static void make_pods(struct workload *w)
{
    const struct group *g = w->group;
    struct pod *p = (struct pod *)(void *)(w + 1);
    struct gpu **slot = (struct gpu **)(void *)(p + g->n_pods);

    w->n_pods = g->n_pods;
    w->pods = p;
    for (uint32_t i = 0; i < g->n_sets; i++)
        for (uint32_t k = 0; k < g->sets[i].count; k++) {
            *p++ = (struct pod){.workload = w, .set = i, .index = k, .gpus = slot};
            slot += block_of(g->sets[i].shape);
        }
}

static enum mete_result check_workload(struct mete_engine *e, const struct mete_workload *w)
{
    const char *const texts[] = {w->name, w->queue, w->user, w->reservation};

    if (w->id == 0)
        return engine_refuse(e, METE_INVALID, "workload id 0");
    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i] && strnlen(texts[i], TEXT_MAX + 1) > TEXT_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "workload %" PRIu64
                                 ": a name, queue, user or reservation is over %d bytes",
                                 w->id, TEXT_MAX);
    if (w->submit_ns < 0 || w->time_limit_ns < 0 || w->min_run_ns < 0 || w->checkpoint_ns < 0 ||
        w->estimate_ns < 0)
        return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": a time is negative", w->id);
    if (w->evict_class >= METE_EVICT_CLASSES)
        return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": the class %u is over %u",
                             w->id, w->evict_class, METE_EVICT_CLASSES - 1);
    return METE_OK;
}

/* Finds or makes the workload's group, and counts the workload in its queue. `user` is the interned
 * user name. */
static enum mete_result join_group(struct mete_engine *e, const struct mete_workload *from,
                                   uint32_t user, struct group **ret)
{
    struct group *g = group_cache_find(e, from, user);
    enum mete_result result = METE_OK;
    struct queue *queue;

    if (g) {
        g->refs++;
        g->queue->refs++;
        *ret = g;
        return METE_OK;
    }
    queue = queue_make(e, from->queue && *from->queue ? from->queue : "default");
    queue->refs++;
    result = group_make(e, from, queue, queue->splits_users ? user : 0, ret);
    if (result == METE_OK)
        group_cache_note(e, from, *ret);
    else
        queue_unref(e, queue);
    return result;
}

/* `from` as an extra: the lowest priority, no evictions for it, no protected run time. */
static struct mete_workload workload_extra_of(const struct mete_workload *from)
{
    struct mete_workload w = *from;

    w.priority = INT32_MIN;
    w.never_preempts = true;
    w.min_run_ns = 0;
    return w;
}

enum mete_result workload_make(struct mete_engine *e, const struct mete_workload *from,
                               struct workload **ret)
{
    enum mete_result result = check_workload(e, from);
    struct mete_workload extra;
    struct group *g = NULL;
    const char *name = from->name ? from->name : "";
    size_t name_size = strlen(name) + 1;
    struct workload *w;
    uint32_t user;

    if (result != METE_OK)
        return result;
    if (from->is_extra) {
        extra = workload_extra_of(from);
        from = &extra;
    }
    user = intern_ref(e->texts, from->user ? from->user : "");
    result = join_group(e, from, user, &g);
    if (result != METE_OK) {
        intern_unref(e->texts, user);
        return result;
    }
    w = mem_alloc(sizeof(*w) + pods_bytes(g) + name_size);
    w->name = memcpy((char *)(w + 1) + pods_bytes(g), name, name_size);
    w->key =
        (struct order_key){.points = from->priority, .submit_ns = from->submit_ns, .id = from->id};
    w->group = g;
    w->queue = g->queue;
    w->labels = pod_labels_read(e, from);
    affinity_join(e, w);
    w->user = user;
    w->priority = from->priority;
    w->is_preemptible = from->is_preemptible;
    w->is_extra = from->is_extra;
    w->min_run_ns = from->min_run_ns;
    w->checkpoint_ns = from->checkpoint_ns;
    w->estimate_ns = from->estimate_ns > 0 ? from->estimate_ns : from->time_limit_ns;
    w->end_ns = NEVER_NS;
    w->since_ns = from->submit_ns;
    make_pods(w);
    w->key.points = points_of(e, w, e->now_ns);
    w->key.due_s = due_of(e, w);
    *ret = w;
    return METE_OK;
}

void workload_free(struct mete_engine *e, struct workload *w)
{
    size_t n_sets = w->group->n_sets;

    group_unref(e, w->group);
    intern_unref(e->texts, w->user);
    queue_unref(e, w->queue);
    free(w->hold_text);
    free(w->charged);
    pod_labels_free(e, w->labels, n_sets);
    free(w);
}

static enum mete_result workload_make_new(struct mete_engine *e, const struct mete_workload *from,
                                          struct workload **ret)
{
    if (from->id != 0 && engine_workload(e, from->id))
        return engine_refuse(e, METE_EXISTS, "workload %" PRIu64 " is there already", from->id);
    return workload_make(e, from, ret);
}

static void workload_enter(struct mete_engine *e, struct workload *w)
{
    id_map_add(&e->workloads, w->key.id, w);
    due_learn(e, w);
    e->version++;
}

enum mete_result mete_workload_add(struct mete_engine *e, const struct mete_workload *from)
{
    struct workload *w = NULL;
    enum mete_result result = workload_make_new(e, from, &w);

    if (result != METE_OK)
        return result;
    assert(w); /* made: the result is METE_OK */
    record_call(e, RECORD_WORKLOAD_ADD, from);
    workload_enter(e, w);
    group_wait(e, w);
    return METE_OK;
}

/* Makes rooms for the requests, also for resources that the node does not have (yet). False: a sum
 * would overflow. */
static bool make_rooms(struct mete_engine *e, struct node *n, const struct shape *s)
{
    for (size_t i = 0; i < s->n_requests; i++) {
        const struct request *r = &s->requests[i];
        struct room *room = node_room(n, r->resource);
        int64_t sum = 0;

        if (!room) {
            (void)intern_ref(e->texts, intern_text(e->texts, r->resource));
            room = node_room_make(n, r->resource);
            backfill_drop_node(e, n); /* its extras are parallel to the old rooms */
        }
        if (__builtin_add_overflow(room->used, r->amount, &sum))
            return false;
    }
    return true;
}

/* Has the gpu enough compute left? Memory is not checked: the pod got it before the gpu's memory
 * was set smaller. */
static bool has_room(const struct gpu *g, uint32_t milli)
{
    return g->milli_used + milli <= MILLI;
}

/* Slices and replicas exclude holders of the whole gpu and shares. */
static enum mete_result check_parts(struct mete_engine *e, const struct gpu *g)
{
    if (g->holder || g->n_shares > 0)
        return engine_refuse(e, METE_CONFLICT, "gpu '%s' is held whole or in shares", g->uuid);
    return METE_OK;
}

static enum mete_result check_slice_at(struct mete_engine *e, const struct gpu *g,
                                       const struct ask *a, const struct mete_device *d)
{
    const struct parts *p = g->parts;
    uint16_t span = parts_span(p, a->profile, d->start);

    for (unsigned left = p->held; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctz(left);

        if (parts_span(p, p->names[at], at) & span)
            return engine_refuse(e, METE_CONFLICT,
                                 "gpu '%s': the slice at %u, held by workload %" PRIu64
                                 ", overlaps a slice at %u",
                                 g->uuid, at, p->holders[at]->workload->key.id, d->start);
    }
    return p->n_replicas > 0
               ? engine_refuse(e, METE_CONFLICT, "gpu '%s' is held in replicas", g->uuid)
               : check_parts(e, g);
}

/* Restores one device of a pod with asks. */
static enum mete_result restore_device(struct mete_engine *e, struct pod *p, size_t i,
                                       struct gpu *g, const struct mete_device *d)
{
    const struct ask *a = &pod_shape(p)->asks[d->ask];
    uint32_t ask = d->kind == METE_DEVICE_REPLICA && a->other != 0 ? a->other : d->ask;

    a = &pod_shape(p)->asks[ask];
    SET(e, pod_marks(p)[i], (uint16_t)(ask << 4 | d->start));
    switch (a->kind) {
    case ASK_WHOLE:
    case ASK_SHARE:
        if (g->holder || (a->kind == ASK_WHOLE && g->n_shares > 0) ||
            (a->is_by_memory && g->memory_bytes == 0) || !has_room(g, ask_share_milli(a, g)) ||
            (g->parts && !parts_are_free(g->parts)))
            return engine_refuse(e, METE_CONFLICT, "gpu '%s' has too little left", g->uuid);
        return METE_OK;
    case ASK_SLICE:
        (void)parts_make(g);
        return check_slice_at(e, g, a, d);
    case ASK_REPLICA:
        return parts_make(g)->held
                   ? engine_refuse(e, METE_CONFLICT, "gpu '%s' is held in slices", g->uuid)
                   : check_parts(e, g);
    }
    return METE_OK;
}

/* Restores the devices of a pod with asks one by one, because a gpu may appear in several slices.
 */
static enum mete_result restore_devices(struct mete_engine *e, struct pod *p, struct node *n,
                                        const struct mete_pod_placement *at)
{
    struct gpu *gpus[ASK_DEVICES_MAX];

    for (size_t i = 0; i < at->n_gpus; i++) {
        enum mete_result result;

        gpus[i] = gpu_make(e, at->devices[i].gpu);
        result = restore_device(e, p, i, gpus[i], &at->devices[i]);
        for (size_t k = 0; k < i && result == METE_OK; k++) {
            const struct mete_device *other = &at->devices[k];
            bool are_slices = pod_ask(p, i)->kind == ASK_SLICE && pod_ask(p, k)->kind == ASK_SLICE;
            const struct parts *parts = gpus[i]->parts;

            if (gpus[k] == gpus[i] &&
                (!are_slices || (parts_span(parts, pod_ask(p, i)->profile, at->devices[i].start) &
                                 parts_span(parts, pod_ask(p, k)->profile, other->start))))
                result = engine_refuse(e, METE_INVALID, "gpu '%s' is named twice for the same part",
                                       other->gpu);
        }
        if (result != METE_OK)
            return result;
    }
    if (!make_rooms(e, n, pod_shape(p)))
        return engine_refuse(e, METE_CONFLICT, "node '%s': the sum of the requests overflows",
                             at->node);
    pod_take(e, p, pod_shape(p), n, gpus, at->n_gpus);
    return METE_OK;
}

static enum mete_result restore_pod(struct mete_engine *e, struct pod *p,
                                    const struct mete_pod_placement *at)
{
    struct gpu *gpus[NODE_GPUS_MAX];
    struct node *n = node_make(e, at->node);

    if (pod_shape(p)->n_asks > 0)
        return restore_devices(e, p, n, at);
    for (size_t i = 0; i < at->n_gpus; i++) {
        const struct pod *holder;

        gpus[i] = gpu_make(e, at->gpus[i]);
        holder = gpus[i]->holder;
        if (!holder && gpus[i]->parts && !parts_are_free(gpus[i]->parts))
            return engine_refuse(e, METE_CONFLICT, "gpu '%s' is held in slices or replicas",
                                 at->gpus[i]);
        if (!holder && !has_room(gpus[i], pod_shape(p)->milli))
            return engine_refuse(e, METE_CONFLICT, "gpu '%s' has too little left: %u/%d is used",
                                 at->gpus[i], gpus[i]->milli_used, MILLI);
        if (holder)
            return engine_refuse(e, METE_CONFLICT, "gpu '%s' is held by workload %" PRIu64,
                                 at->gpus[i], holder->workload->key.id);
        for (size_t k = 0; k < i; k++)
            if (gpus[k] == gpus[i])
                return engine_refuse(e, METE_INVALID, "gpu '%s' is named twice", at->gpus[i]);
    }
    if (!make_rooms(e, n, pod_shape(p)))
        return engine_refuse(e, METE_CONFLICT, "node '%s': the sum of the requests overflows",
                             at->node);
    pod_take(e, p, pod_shape(p), n, gpus, at->n_gpus);
    return METE_OK;
}

static enum mete_result check_devices(struct mete_engine *e, const struct workload *w,
                                      const struct shape *s, const struct mete_pod_placement *p)
{
    if (p->n_gpus != p->n_devices)
        return engine_refuse(e, METE_INVALID,
                             "workload %" PRIu64
                             ": pod %u has asks, but its placement lacks a device for each gpu",
                             w->key.id, p->pod);
    for (size_t i = 0; i < p->n_gpus; i++) {
        const struct mete_device *d = &p->devices[i];

        if (!text_is_sane(d->gpu) || d->ask >= s->n_asks || d->start >= MIG_UNITS_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "workload %" PRIu64
                                 ": device %zu of pod %u has no gpu, or an unknown ask or start",
                                 w->key.id, i, p->pod);
    }
    return METE_OK;
}

static enum mete_result check_placement(struct mete_engine *e, const struct workload *w,
                                        const struct mete_placement *placement)
{
    const struct group *g = w->group;

    if (placement->n_pods != w->n_pods)
        return engine_refuse(e, METE_INVALID,
                             "workload %" PRIu64 " has %zu pods, %zu of them placed", w->key.id,
                             w->n_pods, placement->n_pods);
    for (size_t i = 0; i < placement->n_pods; i++) {
        const struct mete_pod_placement *p = &placement->pods[i];

        if (p->pod_set >= g->n_sets || p->pod >= g->sets[p->pod_set].count)
            return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": no pod %u in pod set %u",
                                 w->key.id, p->pod, p->pod_set);
        if (!text_is_sane(p->node) || p->n_gpus > slots_of(g->sets[p->pod_set].shape))
            return engine_refuse(e, METE_INVALID,
                                 "workload %" PRIu64
                                 ": pod %u has no node, or more gpus than it asks for",
                                 w->key.id, p->pod);
        if (g->sets[p->pod_set].shape->n_asks > 0) {
            enum mete_result result = check_devices(e, w, g->sets[p->pod_set].shape, p);

            if (result != METE_OK)
                return result;
            continue;
        }
        for (size_t k = 0; k < p->n_gpus; k++)
            if (!text_is_sane(p->gpus[k]))
                return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": a gpu has no uuid",
                                     w->key.id);
    }
    return METE_OK;
}

/* Frees nodes and gpus that were made for a refused placement. */
static void drop_unused(struct mete_engine *e, const struct mete_placement *placement)
{
    for (size_t i = 0; i < placement->n_pods; i++) {
        const struct mete_pod_placement *p = &placement->pods[i];
        struct node *n = engine_node(e, p->node);

        for (size_t k = 0; k < p->n_gpus; k++) {
            struct gpu *g = engine_gpu(e, p->n_devices > 0 ? p->devices[k].gpu : p->gpus[k]);

            if (g)
                gpu_drop_unused(e, g);
        }
        if (n)
            node_drop_unused(e, n);
    }
}

static enum mete_result workload_restore_pods(struct mete_engine *e, struct workload *w,
                                              const struct mete_placement *placement)
{
    enum mete_result result = check_placement(e, w, placement);
    size_t mark;

    if (result != METE_OK)
        return result;
    mark = journal_open(&e->journal);
    for (size_t i = 0; i < placement->n_pods && result == METE_OK; i++) {
        const struct mete_pod_placement *at = &placement->pods[i];
        size_t first = 0;
        struct pod *p;

        for (uint32_t set = 0; set < at->pod_set; set++)
            first += w->group->sets[set].count;
        p = &w->pods[first + at->pod];
        if (p->node)
            result = engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": pod %u is placed twice",
                                   w->key.id, at->pod);
        else
            result = restore_pod(e, p, at);
    }
    if (result == METE_OK) {
        journal_keep(&e->journal, mark);
        return METE_OK;
    }
    journal_undo(&e->journal, mark);
    drop_unused(e, placement);
    return result;
}

static void workload_placed(struct mete_engine *e, struct workload *w, int64_t started_ns)
{
    w->is_placed = true;
    w->started_ns = started_ns;
    queue_placed(e, w);
    if (affinity_helps(w))
        e->eased++;
}

enum mete_result mete_workload_restore(struct mete_engine *e, const struct mete_workload *from,
                                       const struct mete_placement *placement)
{
    struct workload *w = NULL;
    enum mete_result result = workload_make_new(e, from, &w);

    if (result != METE_OK)
        return result;
    assert(w); /* made: the result is METE_OK */
    result = workload_restore_pods(e, w, placement);
    if (result != METE_OK) {
        workload_free(e, w);
        return result;
    }
    workload_placed(e, w, placement->started_ns);
    if (from->time_limit_ns > 0 && placement->started_ns > 0 &&
        __builtin_add_overflow(placement->started_ns, from->time_limit_ns, &w->end_ns))
        w->end_ns = NEVER_NS;
    workload_enter(e, w);
    record_call(e, RECORD_WORKLOAD_RESTORE, &(struct record_restore){from, placement});
    return METE_OK;
}

static void workload_give(struct mete_engine *e, struct workload *w)
{
    preempt_gone(e, w);
    lend_forget(e, w);
    queue_given(e, w);
    for (size_t i = 0; i < w->n_pods; i++) {
        struct pod *p = &w->pods[i];
        struct node *n = p->node;
        struct gpu *gpus[NODE_GPUS_MAX];
        size_t n_gpus = p->n_gpus;

        memcpy(gpus, p->gpus, n_gpus * sizeof(struct gpu *));
        pod_give(e, p);
        for (size_t k = 0; k < n_gpus; k++) {
            bool is_last = true; /* several slices may be of one gpu */

            for (size_t later = k + 1; later < n_gpus; later++)
                is_last = is_last && gpus[later] != gpus[k];
            if (is_last)
                gpu_drop_unused(e, gpus[k]);
        }
        node_drop_unused(e, n);
    }
    w->is_placed = false;
    w->decided_at = 0;
    w->started_ns = 0;
    w->end_ns = NEVER_NS;
    engine_freed(e);
}

enum mete_result mete_workload_unplace(struct mete_engine *e, uint64_t id)
{
    struct workload *w = engine_workload(e, id);

    if (!w || !w->is_placed)
        return engine_refuse(e, METE_NOT_FOUND, "workload %" PRIu64 " is not placed", id);
    record_call(e, RECORD_WORKLOAD_UNPLACE, &(struct record_id){id});
    workload_give(e, w);
    due_stopped(e, w);
    group_wait(e, w);
    e->version++;
    return METE_OK;
}

enum mete_result mete_workload_remove(struct mete_engine *e, uint64_t id)
{
    struct workload *w = engine_workload(e, id);

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    record_call(e, RECORD_WORKLOAD_REMOVE, &(struct record_id){id});
    backfill_drop_of(e, w);
    preempt_forget(e, w);
    move_forget(e, w);
    foresee_ended(e, w);
    if (w->is_placed)
        workload_give(e, w);
    else
        group_unwait(e, w);
    id_map_remove(&e->workloads, id);
    workload_free(e, w);
    e->version++;
    return METE_OK;
}
