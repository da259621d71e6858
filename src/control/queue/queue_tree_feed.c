/* queue_tree_feed.c - brings the tree of Queue objects into the engine, parents first */
#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/num.h"
#include "control/queue/queue_read.h"
#include "control/queue/queue_tree_private.h"
#include "kinds/queue.h"

enum {
    DEPTH_MAX = 64 /* levels that are followed; the engine takes fewer */
};

/* The object `root` has only settings: the engine has no such queue. */
static bool is_root(const char *name)
{
    return text_equal(name, QUEUE_ROOT);
}

static const char *parent_of(const struct queue_entry *entry)
{
    const char *parent = json_text_at(entry->object, "spec", "parent", NULL);

    return parent && *parent && !is_root(parent) ? parent : NULL;
}

/* Does the queue exist, with all of its ancestors? */
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

static void set_fed(struct queue_entry *entry)
{
    json_decref(entry->fed);
    entry->fed = json_incref(json_object_get(entry->object, "spec"));
    if (!entry->fed)
        entry->fed = json_object();
}

/* True: the engine has the queue as its object says. */
static bool entry_put(struct queue_tree *q, struct queue_entry *entry)
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
    queue_read(a, entry->name, entry->object, &queue);
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

/* Removes the queue from the engine. False: a queue below has to go first. */
static bool entry_take_out(struct queue_tree *q, struct queue_entry *entry)
{
    enum mete_result result = mete_queue_remove(q->options.engine, entry->name);

    if (result == METE_CONFLICT)
        return false;
    json_decref(entry->fed);
    entry->fed = NULL;
    return true;
}

/* Has the parent been settled? */
static bool may_put(const struct queue_tree *q, const struct queue_entry *entry)
{
    const char *parent = parent_of(entry);
    const struct queue_entry *above = parent ? queue_tree_find(q, parent) : NULL;

    return !parent || (above && above->is_settled);
}

static bool entry_step(struct queue_tree *q, struct queue_entry *entry)
{
    if (is_root(entry->name))
        return false;
    if (is_active(q, entry))
        return !entry->is_settled && may_put(q, entry) && entry_put(q, entry);
    return entry->fed && entry_take_out(q, entry);
}

static int compare_names(const void *a, const void *b)
{
    const struct queue_entry *one = *(struct queue_entry *const *)a;
    const struct queue_entry *other = *(struct queue_entry *const *)b;

    return strcmp(one->name, other->name);
}

/* Sets and logs why a queue was not settled. */
static void entry_tell(struct queue_tree *q, struct queue_entry *entry)
{
    const char *parent = entry->object ? parent_of(entry) : NULL;

    if (!entry->object || is_root(entry->name) || entry->is_settled)
        return;
    if (!is_active(q, entry) && parent)
        set_problem(entry, "ParentMissing",
                    queue_tree_find(q, parent) && queue_tree_find(q, parent)->object
                        ? mem_format("the parent queue %s is not active", parent)
                        : mem_format("there is no queue %s", parent));
    else if (!entry->problem)
        set_problem(entry, "ParentMissing", mem_format("queue %s was refused", parent));
    LOG(WARN, "queue is not active", S("queue", entry->name), S("problem", entry->problem),
        S("cause", entry->message));
}

/* Does the engine differ from the entry's object? */
static bool entry_is_pending(const struct queue_entry *entry)
{
    return entry->object ? !entry->is_settled && !is_root(entry->name) : entry->fed != NULL;
}

static void feed_root(const struct queue_tree *q)
{
    const struct queue_entry *root = queue_tree_find(q, QUEUE_ROOT);
    struct mete_fairness fairness;
    struct mete_moves moves;

    queue_read_fairness(root ? root->object : NULL, &fairness);
    if (mete_fairness_set(q->options.engine, &fairness) != METE_OK)
        LOG(ERROR, "fairness was refused", S("error", mete_last_error(q->options.engine)));
    queue_read_moves(root ? root->object : NULL, &moves);
    if (mete_moves_set(q->options.engine, &moves) != METE_OK)
        LOG(ERROR, "moves were refused", S("error", mete_last_error(q->options.engine)));
}

/* Repeats until nothing changes: a queue may have to wait until another has moved away. */
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
            has_changed = entry_step(q, *each) || has_changed;
        }
    }
    q->has_unsettled = false;
    VEC_EACH (&all, each) {
        entry_tell(q, *each);
        q->has_unsettled = q->has_unsettled || entry_is_pending(*each);
    }
    vec_done(&all);
    if (root && (!root->fed || !root->object ||
                 !json_equal(root->fed, json_object_get(root->object, "spec")))) {
        feed_root(q);
        if (root->object) {
            set_fed(root);
        } else {
            json_decref(root->fed);
            root->fed = NULL;
        }
    }
}

/* While the engine has all other queues, no other queue waits for this one. */
void queue_tree_feed_one(struct queue_tree *q, struct queue_entry *entry)
{
    if (!q->has_unsettled && !is_root(entry->name)) {
        entry->is_settled = false;
        (void)entry_step(q, entry); /* what is left, the whole tree's steps tell */
        if (!entry_is_pending(entry))
            return;
    }
    queue_tree_feed(q);
}
