/* node.c - nodes and their gpus, as the caller sets them */

#include <stdio.h>
#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/device/device_parts.h"
#include "engine/evict/lend.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/record/record.h"
#include "engine/state.h"

struct gpu *gpu_make(struct mete_engine *e, const char *uuid)
{
    struct gpu *g = engine_gpu(e, uuid);

    if (g)
        return g;
    g = mem_alloc(sizeof(*g));
    g->uuid = mem_strdup(uuid);
    g->name = intern_ref(e->texts, uuid);
    g->link_group = -1;
    g->numa_node = -1;
    map_add(handle, e->gpu_map, g->uuid, strlen(g->uuid), g);
    return g;
}

void gpu_drop_unused(struct mete_engine *e, struct gpu *g)
{
    if (g->node || g->holder || g->n_shares > 0 || (g->parts && !parts_are_free(g->parts)))
        return;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
    map_remove(handle, e->gpu_map, g);
    intern_unref(e->texts, g->model);
    intern_unref(e->texts, g->name);
    intern_unref(e->texts, g->out);
    parts_free(e, g);
    free(g->uuid);
    free(g);
}

struct node *node_make(struct mete_engine *e, const char *name)
{
    struct node *n = engine_node(e, name);

    if (n)
        return n;
    n = mem_alloc(sizeof(*n));
    n->name = mem_strdup(name);
    n->name_id = intern_ref(e->texts, name);
    if (e->free_slots.n > 0) {
        n->slot = e->free_slots.at[--e->free_slots.n];
        e->slots.at[n->slot] = n;
    } else {
        n->slot = (uint32_t)e->slots.n;
        vec_add(&e->slots, n);
        vec_add(&e->glances, (struct glance){0});
        vec_add(&e->details, (struct detail){0});
    }
    map_add(handle, e->node_map, n->name, strlen(n->name), n);
    return n;
}

static void unref_rooms(struct mete_engine *e, struct room *rooms, size_t n)
{
    for (size_t i = 0; i < n; i++)
        intern_unref(e->texts, rooms[i].resource);
    free(rooms);
}

static void clear_kind(struct mete_engine *e, struct node *n)
{
    for (size_t i = 0; i < n->n_labels; i++) {
        intern_unref(e->texts, n->labels[i].key);
        intern_unref(e->texts, n->labels[i].value);
    }
    for (size_t i = 0; i < n->n_taints; i++) {
        intern_unref(e->texts, n->taints[i].key);
        intern_unref(e->texts, n->taints[i].value);
    }
    free(n->labels);
    free(n->taints);
    free(n->cordon_reason);
    n->labels = NULL;
    n->taints = NULL;
    n->cordon_reason = NULL;
    n->n_labels = 0;
    n->n_taints = 0;
}

static void clear_gpus(struct mete_engine *e, struct node *n)
{
    for (size_t i = 0; i < n->n_gpus; i++) {
        n->gpus[i]->node = NULL;
        n->gpus[i]->bit = 0;
        gpu_drop_unused(e, n->gpus[i]);
        n->gpus[i] = NULL;
    }
    free(n->links);
    free(n->numas);
    free(n->models);
    n->links = NULL;
    n->numas = NULL;
    n->models = NULL;
    n->n_links = 0;
    n->n_numas = 0;
    n->n_models = 0;
    n->n_gpus = 0;
    n->linked = 0;
    n->healthy = 0;
    n->held = 0;
    n->shared = 0;
    n->sized = 0;
    n->fenced = 0;
    n->wholes = 0;
    n->parted = 0;
}

void engine_node_free(struct mete_engine *e, struct node *n)
{
    clear_gpus(e, n);
    clear_kind(e, n);
    unref_rooms(e, n->rooms, n->n_rooms);
    timeline_free(n);
    map_remove(handle, e->node_map, n);
    intern_unref(e->texts, n->name_id);
    search_drop_node(e, n);
    e->slots.at[n->slot] = NULL;
    vec_add(&e->free_slots, n->slot);
    free(n->name);
    free(n);
}

void node_drop_unused(struct mete_engine *e, struct node *n)
{
    if (!n->is_present && !n->pods)
        engine_node_free(e, n);
}

struct room *node_room(const struct node *n, uint32_t resource)
{
    for (size_t i = 0; i < n->n_rooms; i++)
        if (n->rooms[i].resource == resource)
            return &n->rooms[i];
    return NULL;
}

struct room *node_room_make(struct node *n, uint32_t resource)
{
    struct room *room = node_room(n, resource);
    size_t at = 0;

    if (room)
        return room;
    n->rooms = mem_realloc(n->rooms, (n->n_rooms + 1) * sizeof(*n->rooms));
    while (at < n->n_rooms && n->rooms[at].resource < resource)
        at++;
    memmove(&n->rooms[at + 1], &n->rooms[at], (n->n_rooms - at) * sizeof(*n->rooms));
    n->rooms[at] = (struct room){.resource = resource};
    n->n_rooms++;
    return &n->rooms[at];
}

/* Sets the capacities. A resource in use that the node no longer has stays, with capacity 0. */
static void set_rooms(struct mete_engine *e, struct node *n, const struct mete_node *from)
{
    struct room *old = n->rooms;
    size_t n_old = n->n_rooms;

    n->rooms = NULL;
    n->n_rooms = 0;
    for (size_t i = 0; i < from->n_capacity; i++) {
        uint32_t resource = intern_ref(e->texts, from->capacity[i].resource);

        node_room_make(n, resource)->capacity = from->capacity[i].amount;
    }
    for (size_t i = 0; i < n_old; i++) {
        if (old[i].used == 0 && n->n_lent == 0) /* lent cpus come back */
            continue;
        if (!node_room(n, old[i].resource))
            (void)intern_ref(e->texts, intern_text(e->texts, old[i].resource));
        node_room_make(n, old[i].resource)->used = old[i].used;
    }
    unref_rooms(e, old, n_old);
}

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a;
    const struct label *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static void set_kind(struct mete_engine *e, struct node *n, const struct mete_node *from)
{
    struct label *labels = mem_alloc(from->n_labels * sizeof(*labels) + 1);
    struct taint *taints = mem_alloc(from->n_taints * sizeof(*taints) + 1);

    for (size_t i = 0; i < from->n_labels; i++)
        labels[i] = (struct label){intern_ref(e->texts, from->labels[i].key),
                                   intern_ref(e->texts, from->labels[i].value)};
    for (size_t i = 0; i < from->n_taints; i++) {
        const struct mete_taint *t = &from->taints[i];

        taints[i] = (struct taint){intern_ref(e->texts, t->key),
                                   intern_ref(e->texts, t->value ? t->value : ""), t->effect};
    }
    qsort(labels, from->n_labels, sizeof(*labels), compare_labels);
    if (from->n_labels != n->n_labels ||
        (n->n_labels > 0 && memcmp(labels, n->labels, n->n_labels * sizeof(*labels)) != 0))
        e->labels_version++;
    clear_kind(e, n);
    n->labels = labels;
    n->n_labels = from->n_labels;
    n->taints = taints;
    n->n_taints = from->n_taints;
    n->is_ready = from->is_ready;
    n->is_cordoned = from->is_cordoned;
    n->cordon_reason = from->cordon_reason ? mem_strdup(from->cordon_reason) : NULL;
}

static void group_add(struct gpu_group **groups, size_t *n, int number, unsigned bit)
{
    size_t at = 0;

    while (at < *n && (*groups)[at].number != number)
        at++;
    if (at == *n) {
        *groups = mem_realloc(*groups, (*n + 1) * sizeof(**groups));
        (*groups)[(*n)++] = (struct gpu_group){.number = number};
    }
    (*groups)[at].gpus |= UINT64_C(1) << bit;
}

static void set_gpu(struct mete_engine *e, struct node *n, unsigned bit,
                    const struct mete_gpu *from)
{
    struct gpu *g = gpu_make(e, from->uuid);
    uint32_t model = intern_ref(e->texts, from->model ? from->model : "");
    uint32_t out = from->out_text && !from->is_healthy ? intern_ref(e->texts, from->out_text) : 0;

    intern_unref(e->texts, g->model);
    intern_unref(e->texts, g->out);
    g->out = out;
    g->model = model;
    g->memory_bytes = from->memory_bytes;
    if (g->memory_at_share == 0) /* shares by memory are not held yet: they need it */
        g->memory_at_share = from->memory_bytes;
    g->numa_node = from->numa_node;
    if (g->link_group != from->link_group)
        e->labels_version++; /* earlier decisions need not meet the new link groups */
    g->link_group = from->link_group;
    g->is_healthy = from->is_healthy;
    g->is_fenced = from->is_fenced;
    g->node = n;
    g->bit = bit;
    n->gpus[bit] = g;
    if (g->is_healthy)
        n->healthy |= UINT64_C(1) << bit;
    parts_set(e, g, from);
    if (g->parts)
        n->parted |= UINT64_C(1) << bit;
    if (!g->parts || g->parts->can_be_whole)
        n->wholes |= UINT64_C(1) << bit;
    if (gpu_is_held(g))
        n->held |= UINT64_C(1) << bit;
    if (g->n_shares > 0)
        n->shared |= UINT64_C(1) << bit;
    if (g->bytes_used > 0)
        n->sized |= UINT64_C(1) << bit;
    if (g->is_fenced && g->n_shares > 0)
        n->fenced |= UINT64_C(1) << bit;
    n->free_milli[bit] = gpu_free_milli(g);
    group_add(&n->models, &n->n_models, (int)model, bit);
    if (g->numa_node >= 0)
        group_add(&n->numas, &n->n_numas, g->numa_node, bit);
    if (g->link_group >= 0) {
        group_add(&n->links, &n->n_links, g->link_group, bit);
        n->linked |= UINT64_C(1) << bit;
    }
}

/* Replaces the node's gpus. A gpu that stays keeps its holders, which are in the gpu itself. */
static void set_gpus(struct mete_engine *e, struct node *n, const struct mete_node *from)
{
    struct gpu *old[NODE_GPUS_MAX];
    size_t n_old = n->n_gpus;

    memcpy(old, n->gpus, sizeof(old));
    for (size_t i = 0; i < n_old; i++)
        old[i]->node = NULL;
    n->n_gpus = 0; /* clear_gpus drops none of them */
    clear_gpus(e, n);
    for (unsigned i = 0; i < from->n_gpus; i++)
        set_gpu(e, n, i, &from->gpus[i]);
    n->n_gpus = (uint32_t)from->n_gpus;
    for (size_t i = 0; i < n_old; i++)
        gpu_drop_unused(e, old[i]);
}

static enum mete_result check_texts(struct mete_engine *e, const struct mete_node *n)
{
    for (size_t i = 0; i < n->n_labels; i++)
        if (!text_is_sane(n->labels[i].key) || !n->labels[i].value ||
            strlen(n->labels[i].value) > TEXT_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "node '%s': label %zu has no key or a text over %d", n->name, i,
                                 TEXT_MAX);
    for (size_t i = 0; i < n->n_taints; i++)
        if (!text_is_sane(n->taints[i].key) || (unsigned)n->taints[i].effect > METE_NO_EXECUTE ||
            (n->taints[i].value && strlen(n->taints[i].value) > TEXT_MAX))
            return engine_refuse(e, METE_INVALID,
                                 "node '%s': taint %zu has no key or no known effect", n->name, i);
    for (size_t i = 0; i < n->n_labels; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(n->labels[i].key, n->labels[j].key) == 0)
                return engine_refuse(e, METE_INVALID, "node '%s': label '%s' is named twice",
                                     n->name, n->labels[i].key);
    return METE_OK;
}

static enum mete_result check_capacity(struct mete_engine *e, const struct mete_node *n)
{
    for (size_t i = 0; i < n->n_capacity; i++) {
        const struct mete_amount *a = &n->capacity[i];

        if (!text_is_sane(a->resource) || a->amount < 0 || a->amount > AMOUNT_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "node '%s': capacity %zu has no name or is not within 0 .. 2^60",
                                 n->name, i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(a->resource, n->capacity[j].resource) == 0)
                return engine_refuse(e, METE_INVALID, "node '%s': resource '%s' is named twice",
                                     n->name, a->resource);
    }
    return METE_OK;
}

static enum mete_result node_check_gpus(struct mete_engine *e, const struct mete_node *n)
{
    if (n->n_gpus > NODE_GPUS_MAX)
        return engine_refuse(e, METE_INVALID, "node '%s' has %zu gpus, at most %d can be held",
                             n->name, n->n_gpus, NODE_GPUS_MAX);
    for (size_t i = 0; i < n->n_gpus; i++) {
        const struct mete_gpu *g = &n->gpus[i];
        enum mete_result result;
        const struct gpu *there;

        if (!text_is_sane(g->uuid) || (g->model && strlen(g->model) > TEXT_MAX))
            return engine_refuse(e, METE_INVALID, "node '%s': gpu %zu has no uuid", n->name, i);
        result = parts_check(e, g, n->name);
        if (result != METE_OK)
            return result;
        for (size_t j = 0; j < i; j++)
            if (strcmp(g->uuid, n->gpus[j].uuid) == 0)
                return engine_refuse(e, METE_INVALID, "node '%s': gpu '%s' is named twice", n->name,
                                     g->uuid);
        there = engine_gpu(e, g->uuid);
        if (there && there->node && strcmp(there->node->name, n->name) != 0)
            return engine_refuse(e, METE_CONFLICT, "node '%s': gpu '%s' is on node '%s'", n->name,
                                 g->uuid, there->node->name);
    }
    return METE_OK;
}

static enum mete_result check_node(struct mete_engine *e, const struct mete_node *n)
{
    const struct node *own;
    enum mete_result result;

    if (!text_is_sane(n->name))
        return engine_refuse(e, METE_INVALID, "a node needs a name of 1 to %d bytes", TEXT_MAX);
    if (n->n_capacity > LIST_MAX || n->n_labels > LIST_MAX || n->n_taints > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "node '%s': more than %d resources, labels or taints",
                             n->name, LIST_MAX);
    own = engine_node(e, n->name);
    if (!(own && own->is_present) && e->order.n >= e->nodes_max)
        return engine_refuse(e, METE_INVALID, "node '%s': there are %zu nodes already, at most %u",
                             n->name, e->order.n, e->nodes_max);
    result = check_texts(e, n);
    if (result == METE_OK)
        result = check_capacity(e, n);
    return result == METE_OK ? node_check_gpus(e, n) : result;
}

static size_t order_index(const struct mete_engine *e, const char *name)
{
    size_t low = 0;
    size_t high = e->order.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(e->order.at[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void order_insert(struct mete_engine *e, struct node *n)
{
    size_t at = order_index(e, n->name);

    vec_add(&e->order, n);
    memmove(&e->order.at[at + 1], &e->order.at[at], (e->order.n - 1 - at) * sizeof(n));
    e->order.at[at] = n;
    n->is_present = true;
    e->labels_version++;
    search_reset(e);
}

/* The sizes that policies compare with those of the largest node; 0 for a node that is not
 * present. */
struct node_size {
    int64_t cpu;
    uint32_t gpus;
};

static struct node_size size_of(const struct mete_engine *e, const struct node *n)
{
    const struct room *room = n->is_present ? node_room(n, e->cpu) : NULL;

    return (struct node_size){room ? room->capacity : 0, n->is_present ? n->n_gpus : 0};
}

static void enlarge(struct mete_engine *e, struct node_size size)
{
    e->cpu_max = size.cpu > e->cpu_max ? size.cpu : e->cpu_max;
    e->gpus_max = size.gpus > e->gpus_max ? size.gpus : e->gpus_max;
}

/* Updates the largest sizes. Only a largest node that became smaller needs a look at all nodes. */
static void find_largest(struct mete_engine *e, struct node_size was, struct node_size is)
{
    if ((was.cpu < e->cpu_max || is.cpu >= was.cpu) &&
        (was.gpus < e->gpus_max || is.gpus >= was.gpus)) {
        enlarge(e, is);
        return;
    }
    e->cpu_max = 0;
    e->gpus_max = 0;
    VEC_EACH (&e->order, n) {
        enlarge(e, size_of(e, *n));
    }
}

/* Notes a change of the node, whose size was `was`. */
static void note_change(struct mete_engine *e, const struct node *n, struct node_size was)
{
    find_largest(e, was, size_of(e, n));
    e->nodes_version++;
    engine_freed(e);
    e->version++;
}

enum mete_result mete_node_set(struct mete_engine *e, const struct mete_node *node)
{
    enum mete_result result = check_node(e, node);
    struct node_size was;
    struct node *n;

    if (result != METE_OK)
        return result;
    record_call(e, RECORD_NODE_SET, node);
    n = node_make(e, node->name);
    was = size_of(e, n);
    backfill_drop_node(e, n);
    set_rooms(e, n, node);
    affinity_node_leave(e, n);
    set_kind(e, n, node);
    affinity_node_enter(e, n);
    set_gpus(e, n, node);
    if (!n->is_present)
        order_insert(e, n);
    node_fill(e, n);
    node_touch(e, n);
    note_change(e, n, was);
    reservations_ready(e); /* reservations pick gpus on events, not on questions */
    return METE_OK;
}

enum mete_result mete_node_remove(struct mete_engine *e, const char *name)
{
    struct node *n = name ? engine_node(e, name) : NULL;
    struct node_size was;

    if (!n || !n->is_present)
        return engine_refuse(e, METE_NOT_FOUND, "there is no node '%s'", name ? name : "");
    was = size_of(e, n);
    record_call(e, RECORD_NODE_REMOVE, &(struct record_name){name});
    backfill_drop_node(e, n);
    vec_remove(&e->order, order_index(e, name));
    n->is_present = false;
    n->n_reserved = 0; /* e->reserved is rebuilt */
    affinity_node_leave(e, n);
    clear_gpus(e, n);
    clear_kind(e, n);
    for (size_t i = 0; i < n->n_rooms; i++)
        n->rooms[i].capacity = 0;
    node_fill(e, n);
    e->labels_version++;
    search_reset(e);
    node_touch(e, n);
    note_change(e, n, was);
    node_drop_unused(e, n);
    reservations_ready(e);
    return METE_OK;
}

size_t mete_node_count(const struct mete_engine *e)
{
    return e->order.n;
}

enum mete_result mete_node_view(struct mete_engine *e, size_t i, struct mete_node_view *ret)
{
    const struct node *n;

    if (i >= e->order.n)
        return engine_refuse(e, METE_NOT_FOUND, "there are %zu nodes", e->order.n);
    n = e->order.at[i];
    *ret = (struct mete_node_view){
        .name = n->name,
        .gpus = n->n_gpus,
        .takes_pods = node_takes_pods(n),
    };
    return METE_OK;
}
