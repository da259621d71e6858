/* queue_tree_feed.c - the tree of Queue objects into the engine, parents first */
#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/num.h"
#include "control/queue_tree_private.h"
#include "kinds/queue.h"

enum {
    DEPTH_MAX = 64 /* queues above each other that are looked at; the engine takes fewer */
};

/* What is said of all is in no tree. */
static bool is_root(const char *name)
{
    return text_equal(name, QUEUE_ROOT);
}

static const char *parent_of(const struct queue_entry *entry)
{
    const char *parent = json_text_at(entry->object, "spec", "parent", NULL);

    return parent && *parent && !is_root(parent) ? parent : NULL;
}

/* It is there, and so are all above it. */
static bool is_active(const struct queue_tree *q, const struct queue_entry *entry)
{
    for (unsigned depth = 0; entry && entry->object && depth < DEPTH_MAX; depth++) {
        const char *parent = parent_of(entry);

        if (!parent)
            return !is_root(entry->name);
        entry = queue_tree_find(q, parent);
    }
    return false;
}

static void set_problem(struct queue_entry *entry, const char *problem, char *message)
{
    free(entry->message);
    entry->problem = problem;
    entry->message = message;
}

/* Validated: what does not parse does not come here, and counts as 0. */
static int64_t duration_at(const json_t *from, const char *key)
{
    const char *text = json_text(from, key);
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_duration(str_of(text), &ns) : NULL;

    return e ? 0 : ns;
}

static int64_t amount_at(const json_t *from, const char *resource, const char *key, int64_t absent)
{
    const char *text = json_text(from, key);
    int64_t amount = absent;
    AUTO(err_freep) struct err *e = text ? queue_amount(resource, text, &amount) : NULL;

    return e ? absent : amount;
}

static enum mete_preempt preempt_of(const char *text)
{
    if (text_equal(text, "Any"))
        return METE_PREEMPT_ANY;
    return text_equal(text, "LowerPriority") ? METE_PREEMPT_LOWER_PRIORITY : METE_PREEMPT_NEVER;
}

static struct mete_limits limits_of(const json_t *limits)
{
    return (struct mete_limits){.gpu_milli = amount_at(limits, "gpu", "gpus", 0),
                                .running = (uint32_t)json_int(limits, "running", 0)};
}

static void read_quotas(struct arena *a, const json_t *list, struct mete_queue *ret)
{
    struct mete_quota *quotas = arena_alloc(a, (json_array_size(list) + 1) * sizeof(*quotas));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *quota = json_array_get(list, i);
        const char *resource = json_text(quota, "resource");

        quotas[i] = (struct mete_quota){
            .resource = resource,
            .nominal = amount_at(quota, resource, "nominal", 0),
            .borrow_limit = amount_at(quota, resource, "borrowLimit", METE_UNLIMITED),
            .lend_limit = amount_at(quota, resource, "lendLimit", METE_UNLIMITED),
        };
    }
    ret->quotas = quotas;
    ret->n_quotas = json_array_size(list);
}

static void read_queue(struct arena *a, const struct queue_entry *entry, struct mete_queue *ret)
{
    const json_t *spec = json_object_get(entry->object, "spec");

    *ret = (struct mete_queue){
        .name = entry->name,
        .parent = parent_of(entry),
        .weight = (uint32_t)json_int(spec, "weight", 1),
        .limits = limits_of(json_object_get(spec, "limits")),
        .user_limits = limits_of(json_object_get(spec, "userLimits")),
        .time_limit_ns = duration_at(spec, "timeLimit"),
        .reclaim = preempt_of(json_text_at(spec, "preemption", "reclaim", NULL)),
        .within = preempt_of(json_text_at(spec, "preemption", "within", NULL)),
        .min_run_ns = duration_at(spec, "minRunTime"),
        .is_stopped = json_bool(spec, "stopped", false),
    };
    read_quotas(a, json_object_get(spec, "quotas"), ret);
}

static void set_fed(struct queue_entry *entry)
{
    json_decref(entry->fed);
    entry->fed = json_incref(json_object_get(entry->object, "spec"));
    if (!entry->fed)
        entry->fed = json_object();
}

/* True: the engine has another tree now. */
static bool put(struct queue_tree *q, struct queue_entry *entry)
{
    struct arena *a;
    struct mete_queue queue;
    bool is_taken;

    if (entry->fed && json_equal(entry->fed, json_object_get(entry->object, "spec"))) {
        entry->is_settled = true;
        set_problem(entry, NULL, NULL);
        return true;
    }
    a = arena_new();
    read_queue(a, entry, &queue);
    is_taken = mete_queue_set(q->options.engine, &queue) == METE_OK;
    arena_free(a);
    if (!is_taken) {
        set_problem(entry, "Refused", mem_strdup(mete_last_error(q->options.engine)));
        return false;
    }
    entry->is_settled = true;
    set_problem(entry, NULL, NULL);
    set_fed(entry);
    return true;
}

/* False also while queues are below it that have to go first. */
static bool take_out(struct queue_tree *q, struct queue_entry *entry)
{
    enum mete_result result = mete_queue_remove(q->options.engine, entry->name);

    if (result == METE_CONFLICT)
        return false;
    json_decref(entry->fed);
    entry->fed = NULL;
    return true;
}

/* Is the one above it as it is to be? */
static bool may_put(const struct queue_tree *q, const struct queue_entry *entry)
{
    const char *parent = parent_of(entry);
    const struct queue_entry *above = parent ? queue_tree_find(q, parent) : NULL;

    return !parent || (above && above->is_settled);
}

static bool step(struct queue_tree *q, struct queue_entry *entry)
{
    if (is_active(q, entry))
        return !entry->is_settled && may_put(q, entry) && put(q, entry);
    return entry->fed && take_out(q, entry);
}

static int compare_names(const void *a, const void *b)
{
    const struct queue_entry *one = *(struct queue_entry *const *)a;
    const struct queue_entry *other = *(struct queue_entry *const *)b;

    return strcmp(one->name, other->name);
}

/* What nobody took: why. */
static void tell(struct queue_tree *q, struct queue_entry *entry)
{
    const char *parent = entry->object ? parent_of(entry) : NULL;

    if (!entry->object || is_root(entry->name) || entry->is_settled)
        return;
    if (!is_active(q, entry) && parent)
        set_problem(entry, "ParentMissing",
                    queue_tree_find(q, parent) && queue_tree_find(q, parent)->object
                        ? mem_format("queue %s, above it, is not active", parent)
                        : mem_format("there is no queue %s", parent));
    else if (!entry->problem)
        set_problem(entry, "ParentMissing", mem_format("queue %s was refused", parent));
    LOG(WARN, "queue is not as it is to be", S("queue", entry->name), S("problem", entry->problem),
        S("cause", entry->message));
}

static void feed_fairness(const struct queue_tree *q)
{
    const struct queue_entry *root = queue_tree_find(q, QUEUE_ROOT);
    const json_t *said = root ? json_at(root->object, "spec", "fairness", NULL) : NULL;
    const json_t *factors = json_object_get(said, "factors");
    const struct mete_fairness fairness = {
        .order = text_equal(json_text(said, "order"), "Priority") ? METE_ORDER_PRIORITY
                                                                  : METE_ORDER_SHARES,
        .formula =
            text_equal(json_text(said, "formula"), "FairTree") ? METE_FAIR_TREE : METE_FAIR_CLASSIC,
        .factors = {.class_points = (int32_t)json_int(factors, "class", 0),
                    .qos_points = (int32_t)json_int(factors, "qos", 0),
                    .age_points = (int32_t)json_int(factors, "age", 0),
                    .fair_share_points = (int32_t)json_int(factors, "fairShare", 0),
                    .size_points = (int32_t)json_int(factors, "size", 0),
                    .favors_small = json_bool(factors, "favorsSmall", false),
                    .age_max_ns = duration_at(factors, "ageMax")},
        .half_life_ns = duration_at(said, "halfLife"),
        .period_ns = duration_at(said, "period"),
    };

    if (mete_fairness_set(q->options.engine, &fairness) != METE_OK)
        LOG(ERROR, "fairness was refused", S("error", mete_last_error(q->options.engine)));
}

/* As often as it helps: a queue that moves may have to wait for another one to move away first. */
void queue_tree_feed(struct queue_tree *q)
{
    VEC(struct queue_entry *) all = {0};
    struct queue_entry *entry;
    struct queue_entry *next;
    struct queue_entry *root = queue_tree_find(q, QUEUE_ROOT);
    bool has_changed = true;

    map_each (handle, q->entries, entry, next) {
        entry->is_settled = false;
        vec_add(&all, entry);
    }
    if (all.n > 1)
        qsort(all.at, all.n, sizeof(struct queue_entry *), compare_names);
    while (has_changed) {
        has_changed = false;
        VEC_EACH (&all, each) {
            has_changed = step(q, *each) || has_changed;
        }
    }
    VEC_EACH (&all, each) {
        tell(q, *each);
    }
    vec_done(&all);
    if (root && (!root->fed || !root->object ||
                 !json_equal(root->fed, json_object_get(root->object, "spec")))) {
        feed_fairness(q);
        if (root->object) {
            set_fed(root);
        } else {
            json_decref(root->fed);
            root->fed = NULL;
        }
    }
}
