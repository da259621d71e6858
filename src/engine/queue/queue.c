/* queue.c - the tree of queues: set, removed, and counted anew */

#include "engine/queue/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/str.h"
#include "engine/evict/preempt.h"
#include "engine/plan/claim.h"
#include "engine/record/record.h"

enum {
    QUOTAS_MAX = 256
};

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

static void queue_relist(struct queue *root, struct queue *q)
{
    size_t at;

    assert(root); /* every present queue has a parent */
    at = root->children.n;
    vec_add(&root->children, q);
    for (; at > 0 && strcmp(root->children.at[at - 1]->name, q->name) > 0; at--)
        root->children.at[at] = root->children.at[at - 1];
    root->children.at[at] = q;
}

static void queue_unlist(struct queue *q)
{
    for (size_t i = 0; i < q->parent->children.n; i++)
        if (q->parent->children.at[i] == q) {
            vec_remove(&q->parent->children, i);
            return;
        }
}

/* Numbers the present queues from the `i`th on; earlier ones kept their places. */
static void number_present(struct mete_engine *e, size_t i)
{
    for (; i < e->queues.n; i++)
        e->queues.at[i]->place = (uint32_t)i + 1;
}

static void list_present(struct mete_engine *e, struct queue *q)
{
    size_t at = e->queues.n;

    vec_add(&e->queues, q);
    for (; at > 0 && strcmp(e->queues.at[at - 1]->name, q->name) > 0; at--)
        e->queues.at[at] = e->queues.at[at - 1];
    e->queues.at[at] = q;
    number_present(e, at);
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

static void reset_cells(struct queue *q)
{
    struct queue_user *u;
    struct queue_user *next;

    q->n_running = 0;
    map_each (handle, q->users, u, next) {
        u->n_running = 0;
        u->gpu_milli = 0;
        u->billed = 0;
    }
}

/* Resets children first, so that each guarantee includes the guarantees below it. */
static void reset_kept(const struct mete_engine *e, struct queue *q)
{
    for (size_t i = 0; i < e->counted.n; i++) {
        q->cells[i].held = 0;
        q->cells[i].secured = 0;
        q->cells[i].below = 0;
        q->cells[i].guarantee = 0;
    }
    VEC_EACH (&q->children, child) {
        reset_kept(e, *child);
        for (size_t i = 0; i < e->counted.n; i++) {
            q->cells[i].below += (*child)->cells[i].kept;
            q->cells[i].guarantee += (*child)->cells[i].guarantee;
        }
    }
    for (size_t i = 0; i < e->counted.n; i++) {
        struct queue_cell *cell = &q->cells[i];

        if (cell->has_quota)
            cell->guarantee = cell->nominal > cell->lend ? cell->nominal - cell->lend : 0;
        cell->kept = cell->below > cell->guarantee ? cell->below : cell->guarantee;
    }
}

static void queue_recharge(struct mete_engine *e, struct queue *q)
{
    for (struct workload *w = q->first_placed; w; w = w->placed_after) {
        free(w->charged);
        w->charged = NULL;
        w->is_secured = false;
        queue_count_placed(e, w);
    }
}

static void queues_recount(struct mete_engine *e)
{
    struct queue *q;
    struct queue *next;

    reset_cells(e->root);
    reset_kept(e, e->root);
    map_each (handle, e->queue_map, q, next) {
        reset_cells(q);
        if (!q->is_present)
            reset_kept(e, q);
    }
    VEC_EACH (&e->queues, present) {
        queue_recharge(e, *present);
    }
    map_each (handle, e->queue_map, q, next) {
        if (!q->is_present)
            queue_recharge(e, q);
    }
    VEC_EACH (&e->preemptors, w) {
        preempt_count(e, *w);
    }
}

static void settle_tree(struct mete_engine *e, struct queue *q, unsigned depth, bool splits)
{
    q->depth = depth;
    splits = splits || q->user_limits.running > 0 || q->user_limits.gpu_milli > 0;
    if (q->parent)
        queue_regroup(e, q, splits);
    VEC_EACH (&q->children, child) {
        settle_tree(e, *child, depth + 1, splits);
    }
}

static void count_depths(struct mete_engine *e)
{
    e->n_deep_queues = 0;
    e->n_own_depths = 0;
    VEC_EACH (&e->queues, q) {
        uint32_t depth = (*q)->reserve_depth;

        e->n_own_depths += depth > 0;
        e->n_deep_queues += depth > 1 && depth != METE_RESERVE_NONE;
    }
}

/* Plans followed the old order: `eased` lets failed groups be tried again. */
void queues_changed(struct mete_engine *e)
{
    count_depths(e);
    settle_tree(e, e->root, 0, e->is_reserved_by_user);
    queues_recount(e);
    e->eased++;
    e->version++;
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
    if (q->is_present)
        queue_unlist(q);
    else
        list_present(e, q);
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
}

void queue_default(struct mete_engine *e)
{
    put_queue(e, queue_make(e, "default"), e->root, &(struct mete_queue){.name = "default"});
}

enum mete_result mete_queue_set(struct mete_engine *e, const struct mete_queue *from)
{
    struct queue *parent = NULL;
    enum mete_result result = check_queue(e, from, &parent);
    struct queue *q;

    if (result != METE_OK)
        return result;
    record_call(e, RECORD_QUEUE_SET, from);
    q = queue_make(e, from->name);
    put_queue(e, q, parent, from);
    queues_begin(e);
    put_quotas(e, q, from);
    queues_changed(e);
    return METE_OK;
}

/* Workloads of a removed queue stay in it, placed and waiting. Removing "default" resets it. */
enum mete_result mete_queue_remove(struct mete_engine *e, const char *name)
{
    static const struct mete_queue first = {.name = "default"};
    struct queue *q = queue_find(e, name);

    if (!q || !q->is_present)
        return engine_refuse(e, METE_NOT_FOUND, "there is no queue '%s'", name);
    if (q->children.n > 0)
        return engine_refuse(e, METE_CONFLICT, "queue '%s': queue '%s' is below it", name,
                             q->children.at[0]->name);
    if (text_equal(name, first.name))
        return mete_queue_set(e, &first);
    record_call(e, RECORD_QUEUE_REMOVE, &(struct record_name){name});
    put_queue(e, q, e->root, &(struct mete_queue){.name = name});
    put_quotas(e, q, &(struct mete_queue){.name = name});
    queue_unlist(q);
    for (size_t i = 0; i < e->queues.n; i++)
        if (e->queues.at[i] == q) {
            vec_remove(&e->queues, i);
            number_present(e, i);
            break;
        }
    q->place = 0;
    q->is_present = false;
    claims_drop_queue(e, q);
    queue_regroup(e, q, false);
    queues_changed(e);
    queue_drop_unused(e, q);
    return METE_OK;
}
