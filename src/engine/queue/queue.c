/* queue.c - the tree of queues: set, removed, and counted anew */

#include "engine/queue/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/str.h"
#include "engine/plan/claim.h"
#include "engine/record/record.h"

enum {
    QUOTAS_MAX = 256
};

/* Numbers of queues, so that a new one mostly gets a number between its neighbours. */
#define PLACE_FIRST (UINT64_C(1) << 63)
#define PLACE_STEP  (UINT64_C(1) << 32)

struct queue *queue_new(const char *name)
{
    struct queue *q = mem_alloc(sizeof(*q));

    q->name = mem_strdup(name);
    q->weight = 1;
    return q;
}

void queue_user_free(struct mete_engine *e, struct queue *q, struct queue_user *u)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, q->users, u);
    intern_unref(e->texts, u->user);
    free(u);
}

void queue_free(struct mete_engine *e, struct queue *q)
{
    struct queue_user *u;
    struct queue_user *next;

    map_each (handle, q->users, u, next) {
        queue_user_free(e, q, u);
    }
    vec_done(&q->children);
    vec_done(&q->groups);
    vec_done(&q->turns);
    vec_done(&q->heads);
    free(q->cells);
    free(q->name);
    free(q);
}

static struct queue *queue_find(const struct mete_engine *e, const char *name)
{
    struct queue *q = NULL;

    map_find_text(handle, e->queue_map, name, q);
    return q;
}

/* A queue that the caller does not have is right below the root, and counts what its workloads
 * hold. */
struct queue *queue_make(struct mete_engine *e, const char *name)
{
    struct queue *q = queue_find(e, name);

    if (q)
        return q;
    q = queue_new(name);
    q->parent = e->root;
    q->depth = 1;
    q->cells = mem_alloc(e->counted.n * sizeof(*q->cells) + 1);
    map_add(handle, e->queue_map, q->name, strlen(q->name), q);
    return q;
}

static void queue_drop_unused(struct mete_engine *e, struct queue *q)
{
    if (q->is_present || q->refs > 0)
        return;
    map_remove(handle, e->queue_map, q);
    queue_free(e, q);
}

void queue_unref(struct mete_engine *e, struct queue *q)
{
    q->refs--;
    queue_drop_unused(e, q);
}

void queues_free(struct mete_engine *e)
{
    struct queue *q;
    struct queue *next;

    map_each (handle, e->queue_map, q, next) {
        map_remove(handle, e->queue_map, q);
        queue_free(e, q);
    }
    queue_free(e, e->root);
    vec_done(&e->queues);
    vec_done(&e->queues_waiting);
    for (size_t depth = 0; depth < COUNT(e->turns_at); depth++)
        vec_done(&e->turns_at[depth]);
    for (size_t i = 0; i < e->counted.n; i++) {
        intern_unref(e->texts, e->counted.at[i].name);
        intern_unref(e->texts, e->counted.at[i].model);
    }
    vec_done(&e->counted);
    vec_done(&e->victims);
    free(e->sizes);
    vec_done(&e->moved);
    vec_done(&e->preemptors);
    vec_done(&e->evictions);
}

/* The place of a name among queues in order of their names. */
static size_t queue_place(struct queue *const *at, size_t n, const char *name)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(at[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Moves the last of `n` queues to its place among the others, which are in order. */
static size_t queue_sort_in(struct queue **at, size_t n)
{
    struct queue *q = at[n - 1];
    size_t place = queue_place(at, n - 1, q->name);

    memmove(&at[place + 1], &at[place], (n - 1 - place) * sizeof(*at));
    at[place] = q;
    return place;
}

static void queue_relist(struct queue *root, struct queue *q)
{
    assert(root); /* every present queue has a parent */
    vec_add(&root->children, q);
    (void)queue_sort_in(root->children.at, root->children.n);
}

static void queue_unlist(struct queue *q)
{
    struct queue *parent = q->parent;

    vec_remove(&parent->children, queue_place(parent->children.at, parent->children.n, q->name));
}

/* Numbers a queue between its neighbours; all of them anew where there is no number between. */
static void queue_number(struct mete_engine *e, size_t i)
{
    struct queue **at = e->queues.at;
    uint64_t low = i > 0 ? at[i - 1]->place : PLACE_FIRST;
    uint64_t high;

    if (i == 0 && e->queues.n > 1)
        low = at[1]->place - 2 * PLACE_STEP;
    high = i + 1 < e->queues.n ? at[i + 1]->place : low + 2 * PLACE_STEP;
    at[i]->place = low + (high - low) / 2;
    if (low < high && at[i]->place > low)
        return;
    for (size_t k = 0; k < e->queues.n; k++)
        at[k]->place = PLACE_FIRST + k * PLACE_STEP;
}

static void list_present(struct mete_engine *e, struct queue *q)
{
    vec_add(&e->queues, q);
    queue_number(e, queue_sort_in(e->queues.at, e->queues.n));
}

static void unlist_present(struct mete_engine *e, struct queue *q)
{
    vec_remove(&e->queues, queue_place(e->queues.at, e->queues.n, q->name));
    q->place = 0;
}

/* Makes a queue's groups anew when its limits of users come or go: with limits, each group has one
 * user. */
static void queue_regroup(struct mete_engine *e, struct queue *q, bool splits)
{
    VEC(struct workload *) all = {0};

    if (q->splits_users == splits)
        return;
    q->splits_users = splits;
    for (struct order_link *at = order_first(&q->waiting); at; at = order_next(at))
        vec_add(&all, workload_of_all(at));
    for (struct workload *w = q->first_placed; w; w = w->placed_after)
        vec_add(&all, w);
    VEC_EACH (&all, w) {
        struct group *old = (*w)->group;

        if (!(*w)->is_placed)
            group_unwait(e, *w);
        (*w)->group = group_for(e, old, q, splits ? (*w)->user : 0);
        if (!(*w)->is_placed)
            group_wait(e, *w);
        group_unref(e, old);
    }
    vec_done(&all);
}

static void settle_tree(struct mete_engine *e, struct queue *q)
{
    const struct queue *parent = q->parent;
    bool splits = parent && parent->parent ? parent->splits_users : e->is_reserved_by_user;

    splits = splits || q->user_limits.running > 0 || q->user_limits.gpu_milli > 0;
    q->depth = parent ? parent->depth + 1 : 0;
    if (parent)
        queue_regroup(e, q, splits);
    VEC_EACH (&q->children, child) {
        settle_tree(e, *child);
    }
}

/* Adds the queue's own depth to the counts of these, or takes it out of them (`sign` -1). */
static void count_depth(struct mete_engine *e, const struct queue *q, int sign)
{
    uint32_t depth = q->reserve_depth;

    e->n_own_depths += depth > 0 ? (uint32_t)sign : 0;
    e->n_deep_queues += depth > 1 && depth != METE_RESERVE_NONE ? (uint32_t)sign : 0;
}

/* Plans followed the old order: `eased` lets failed groups be tried again. */
static void queues_note_change(struct mete_engine *e)
{
    e->eased++;
    e->version++;
}

void queues_changed(struct mete_engine *e)
{
    settle_tree(e, e->root);
    queues_recount(e);
    queues_note_change(e);
}

static void count_resource(struct mete_engine *e, const char *name)
{
    static const char gpu[] = "gpu:";
    uint32_t id = intern_ref(e->texts, name);
    struct queue *q;
    struct queue *next;
    size_t n = e->counted.n;
    struct counted r = {.name = id};

    for (size_t i = 0; i < n; i++)
        if (e->counted.at[i].name == id) {
            intern_unref(e->texts, id);
            return;
        }
    if (text_starts_with(name, gpu))
        r.model = intern_ref(e->texts, name + sizeof(gpu) - 1);
    vec_add(&e->counted, r);
    e->counted_at++;
    e->capacities_at = 0;
    map_each (handle, e->queue_map, q, next) {
        q->cells = mem_realloc(q->cells, (n + 1) * sizeof(*q->cells));
        q->cells[n] = (struct queue_cell){0};
    }
    e->root->cells = mem_realloc(e->root->cells, (n + 1) * sizeof(*e->root->cells));
    e->root->cells[n] = (struct queue_cell){0};
}

void queues_begin(struct mete_engine *e)
{
    bool was_counting = e->counted.n > 0;

    count_resource(e, "gpu");
    count_resource(e, "cpu");
    count_resource(e, "memory");
    if (!was_counting)
        queues_changed(e);
}

static enum mete_result check_quotas(struct mete_engine *e, const struct mete_queue *from)
{
    size_t n_new = e->counted.n;

    if ((unsigned)from->reclaim > METE_PREEMPT_ANY || (unsigned)from->within > METE_PREEMPT_LATER)
        return engine_refuse(e, METE_INVALID, "queue '%s': reclaim or within is not a known rule",
                             from->name);
    if (from->n_quotas > QUOTAS_MAX)
        return engine_refuse(e, METE_INVALID, "queue '%s': over %d quotas", from->name, QUOTAS_MAX);
    for (size_t i = 0; i < from->n_quotas; i++) {
        const struct mete_quota *quota = &from->quotas[i];
        bool is_known = false;

        if (!text_is_sane(quota->resource) || text_equal(quota->resource, "gpu:"))
            return engine_refuse(e, METE_INVALID, "queue '%s': quota %zu has no resource",
                                 from->name, i);
        if (quota->nominal < 0 || quota->borrow_limit < 0 || quota->lend_limit < 0 ||
            quota->nominal > AMOUNT_MAX)
            return engine_refuse(e, METE_INVALID,
                                 "queue '%s': a number of '%s' is not within 0 .. 2^60", from->name,
                                 quota->resource);
        for (size_t k = 0; k < i; k++)
            if (text_equal(from->quotas[k].resource, quota->resource))
                return engine_refuse(e, METE_INVALID, "queue '%s': two quotas of '%s'", from->name,
                                     quota->resource);
        VEC_EACH (&e->counted, r) {
            is_known = is_known || text_equal(intern_text(e->texts, r->name), quota->resource);
        }
        n_new += !is_known;
    }
    if (n_new + 3 > RESOURCES_MAX)
        return engine_refuse(e, METE_INVALID, "queue '%s': over %d resources with quotas in all",
                             from->name, RESOURCES_MAX - 3);
    return METE_OK;
}

/* The depth of the tree below the queue. */
static unsigned queue_height(const struct queue *q)
{
    unsigned most = 0;

    VEC_EACH (&q->children, child) {
        unsigned here = 1 + queue_height(*child);

        most = here > most ? here : most;
    }
    return most;
}

static enum mete_result check_parent(struct mete_engine *e, const struct mete_queue *from,
                                     struct queue **ret)
{
    const struct queue *own = queue_find(e, from->name);
    struct queue *parent = e->root;

    if (from->parent && *from->parent)
        parent = queue_find(e, from->parent);
    if (!parent || !(parent == e->root || parent->is_present))
        return engine_refuse(e, METE_NOT_FOUND, "queue '%s': there is no queue '%s'", from->name,
                             from->parent);
    for (const struct queue *q = parent; q; q = q->parent)
        if (q == own)
            return engine_refuse(e, METE_INVALID, "queue '%s' is below itself", from->name);
    if (parent->depth + 1 + (own ? queue_height(own) : 0) > QUEUE_DEPTH_MAX)
        return engine_refuse(e, METE_INVALID, "queue '%s': over %d queues above each other",
                             from->name, QUEUE_DEPTH_MAX);
    *ret = parent;
    return METE_OK;
}

static enum mete_result check_queue(struct mete_engine *e, const struct mete_queue *from,
                                    struct queue **ret_parent)
{
    const struct queue *own;
    enum mete_result result;

    if (!text_is_sane(from->name))
        return engine_refuse(e, METE_INVALID, "a queue has no name, or one over %d bytes",
                             TEXT_MAX);
    own = queue_find(e, from->name);
    if (!(own && own->is_present) && e->queues.n >= e->queues_max)
        return engine_refuse(e, METE_INVALID,
                             "queue '%s': there are %zu queues already, at most %u", from->name,
                             e->queues.n, e->queues_max);
    if (from->limits.gpu_milli < 0 || from->user_limits.gpu_milli < 0 || from->time_limit_ns < 0 ||
        from->min_run_ns < 0)
        return engine_refuse(e, METE_INVALID, "queue '%s': a limit is negative", from->name);
    result = check_parent(e, from, ret_parent);
    return result == METE_OK ? check_quotas(e, from) : result;
}

static void put_quotas(struct mete_engine *e, struct queue *q, const struct mete_queue *from)
{
    for (size_t i = 0; i < e->counted.n; i++)
        q->cells[i].has_quota = false;
    q->has_quotas = from->n_quotas > 0;
    for (size_t i = 0; i < from->n_quotas; i++) {
        const struct mete_quota *quota = &from->quotas[i];
        uint32_t name;

        count_resource(e, quota->resource);
        name = intern_find(e->texts, quota->resource);
        for (size_t k = 0; k < e->counted.n; k++) {
            struct queue_cell *cell = &q->cells[k];

            if (e->counted.at[k].name != name)
                continue;
            cell->has_quota = true;
            cell->nominal = quota->nominal;
            cell->lend = quota->lend_limit;
            if (__builtin_add_overflow(quota->nominal, quota->borrow_limit, &cell->ceiling))
                cell->ceiling = METE_UNLIMITED;
        }
    }
}

static void put_queue(struct mete_engine *e, struct queue *q, struct queue *parent,
                      const struct mete_queue *from)
{
    if (q->is_present) {
        queue_unlist(q);
        count_depth(e, q, -1);
    } else {
        list_present(e, q);
    }
    q->is_present = true;
    q->parent = parent;
    queue_relist(parent, q);
    q->weight = from->weight ? from->weight : 1;
    q->limits = from->limits;
    q->user_limits = from->user_limits;
    q->time_limit_ns = from->time_limit_ns;
    q->min_run_ns = from->min_run_ns;
    q->reclaim = from->reclaim;
    q->within = from->within;
    q->is_stopped = from->is_stopped;
    q->reserve_depth = from->reserve_depth;
    count_depth(e, q, 1);
}

void queue_default(struct mete_engine *e)
{
    put_queue(e, queue_make(e, "default"), e->root, &(struct mete_queue){.name = "default"});
}

/* Are all resources of the quotas counted already? */
static bool is_counted(const struct mete_engine *e, const struct mete_queue *from)
{
    for (size_t i = 0; i < from->n_quotas; i++) {
        uint32_t name = intern_find(e->texts, from->quotas[i].resource);
        bool is_known = false;

        VEC_EACH (&e->counted, r) {
            is_known = is_known || (name != 0 && r->name == name);
        }
        if (!is_known)
            return false;
    }
    return true;
}

/* Sets a queue without workloads and without queues below it: the counts of others stay. */
static void set_empty_queue(struct mete_engine *e, struct queue *q, struct queue *parent,
                            const struct mete_queue *from)
{
    if (q->is_present)
        queue_keep(e, q, -1);
    put_queue(e, q, parent, from);
    put_quotas(e, q, from);
    settle_tree(e, q);
    queue_keep(e, q, 1);
    queues_note_change(e);
}

enum mete_result mete_queue_set(struct mete_engine *e, const struct mete_queue *from)
{
    struct queue *parent = NULL;
    enum mete_result result = check_queue(e, from, &parent);
    struct queue *q;

    if (result != METE_OK)
        return result;
    record_call(e, RECORD_QUEUE_SET, from);
    queues_begin(e);
    q = queue_make(e, from->name);
    if (queue_is_empty(q) && is_counted(e, from)) {
        set_empty_queue(e, q, parent, from);
        return METE_OK;
    }
    put_queue(e, q, parent, from);
    put_quotas(e, q, from);
    queues_changed(e);
    return METE_OK;
}

/* Workloads of a removed queue stay in it, placed and waiting. Removing "default" resets it. */
enum mete_result mete_queue_remove(struct mete_engine *e, const char *name)
{
    static const struct mete_queue first = {.name = "default"};
    struct queue *q = queue_find(e, name);
    bool is_empty;

    if (!q || !q->is_present)
        return engine_refuse(e, METE_NOT_FOUND, "there is no queue '%s'", name);
    if (q->children.n > 0)
        return engine_refuse(e, METE_CONFLICT, "queue '%s': queue '%s' is below it", name,
                             q->children.at[0]->name);
    if (text_equal(name, first.name))
        return mete_queue_set(e, &first);
    record_call(e, RECORD_QUEUE_REMOVE, &(struct record_name){name});
    is_empty = queue_is_empty(q);
    if (is_empty)
        queue_keep(e, q, -1);
    put_queue(e, q, e->root, &(struct mete_queue){.name = name});
    put_quotas(e, q, &(struct mete_queue){.name = name});
    queue_unlist(q);
    unlist_present(e, q);
    q->is_present = false;
    claims_drop_queue(e, q);
    queue_regroup(e, q, false);
    if (is_empty)
        queues_note_change(e);
    else
        queues_changed(e);
    queue_drop_unused(e, q);
    return METE_OK;
}
