/* queue_tree.c - the set of Queue objects and namespaces */

#include <stdlib.h>

#include "base/stamp.h"
#include "control/queue/queue_tree_private.h"
#include "kinds/queue.h"

static const int64_t settle_ns = NS_PER_SEC; /* between two writes of statuses */

struct queue_entry *queue_tree_find(const struct queue_tree *q, const char *name)
{
    struct queue_entry *entry = NULL;

    map_find_text(handle, q->entries, name, entry);
    return entry;
}

static struct queue_space *find_space(const struct queue_tree *q, const char *name)
{
    struct queue_space *space = NULL;

    map_find_text(handle, q->spaces, name, space);
    return space;
}

static void entry_free(struct queue_tree *q, struct queue_entry *entry)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, q->entries, entry);
    json_decref(entry->object);
    json_decref(entry->fed);
    json_decref(entry->status);
    free(entry->message);
    free(entry->name);
    free(entry);
}

static void space_free(struct queue_tree *q, struct queue_space *space)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, q->spaces, space);
    json_decref(space->object);
    free(space->name);
    free(space);
}

void queue_tree_touch(struct queue_tree *q)
{
    int64_t due_ns = q->told_ns + settle_ns;
    int64_t now_ns = loop_now_ns(q->options.loop);

    if (q->is_status_due)
        return;
    q->is_status_due = true;
    loop_timer_set(q->status_timer, q->told_ns > 0 && due_ns > now_ns ? due_ns - now_ns : 0);
}

static void forget_gone(struct queue_tree *q)
{
    struct queue_entry *entry;
    struct queue_entry *next;

    map_each (handle, q->entries, entry, next) {
        if (!entry->object && !entry->fed)
            entry_free(q, entry);
    }
}

/* The entry has changed. It may be freed. */
static void tree_feed(struct queue_tree *q, struct queue_entry *entry)
{
    bool had_unsettled = q->has_unsettled;

    if (q->n_unsynced > 0)
        return;
    queue_tree_feed_one(q, entry);
    if (had_unsettled || q->has_unsettled)
        forget_gone(q);
    else if (!entry->object && !entry->fed)
        entry_free(q, entry);
    queue_tree_touch(q);
    q->options.on_change(q->options.arg);
}

static void put_queue(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct queue_tree *q = arg;
    struct queue_entry *entry = queue_tree_find(q, name);
    bool is_same;

    (void)ns;
    if (!entry) {
        entry = mem_alloc(sizeof(*entry));
        entry->name = mem_strdup(name);
        map_add(handle, q->entries, entry->name, strlen(entry->name), entry);
    }
    is_same = entry->object &&
              json_equal(json_object_get(entry->object, "spec"), json_object_get(object, "spec"));
    json_decref(entry->object);
    entry->object = json_deep_copy(object);
    if (!queue_source(object)) { /* else the status is kept here alone */
        json_decref(entry->status);
        entry->status = json_incref(json_object_get(entry->object, "status"));
    }
    if (!is_same)
        tree_feed(q, entry);
    else if (queue_source(object) && q->n_unsynced == 0)
        queue_tree_touch(q);
}

static void remove_queue(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct queue_tree *q = arg;
    struct queue_entry *entry = queue_tree_find(q, name);

    (void)ns;
    (void)last;
    if (!entry)
        return;
    json_decref(entry->object);
    entry->object = NULL;
    tree_feed(q, entry);
}

static void put_space(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct queue_tree *q = arg;
    struct queue_space *space = find_space(q, name);
    bool is_same;

    (void)ns;
    if (!space) {
        space = mem_alloc(sizeof(*space));
        space->name = mem_strdup(name);
        map_add(handle, q->spaces, space->name, strlen(space->name), space);
    }
    is_same = space->object && json_equal(json_at(space->object, "metadata", "labels", NULL),
                                          json_at(object, "metadata", "labels", NULL));
    json_decref(space->object);
    space->object = json_deep_copy(object);
    if (!is_same && q->n_unsynced == 0)
        q->options.on_change(q->options.arg);
}

static void remove_space(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct queue_tree *q = arg;
    struct queue_space *space = find_space(q, name);

    (void)ns;
    (void)last;
    if (space)
        space_free(q, space);
}

bool queue_tree_let_in(const struct queue_tree *q, const char *queue, const char *ns)
{
    const struct queue_entry *entry = queue_tree_find(q, queue);
    const struct queue_space *space = find_space(q, ns);

    return !entry || !entry->object || !space || queue_lets_in(entry->object, space->object);
}

static int compare_entries(const void *a, const void *b)
{
    const struct queue_entry *const *x = a;
    const struct queue_entry *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

json_t *queue_tree_list(const struct queue_tree *q)
{
    VEC(const struct queue_entry *) all = {0};
    json_t *list = json_array();
    struct queue_entry *entry;
    struct queue_entry *next;

    map_each (handle, q->entries, entry, next) {
        if (entry->object)
            vec_add(&all, entry);
    }
    if (all.n > 1)
        qsort(all.at, all.n, sizeof(*all.at), compare_entries);
    VEC_EACH (&all, each) {
        json_t *object = json_twin((*each)->object);

        if ((*each)->status)
            json_put(object, "status", json_incref((*each)->status));
        (void)json_array_append_new(list, object); /* an object */
    }
    vec_done(&all);
    return list;
}

static void queue_tree_on_synced(void *arg)
{
    struct queue_tree *q = arg;

    if (--q->n_unsynced > 0)
        return;
    queue_tree_feed(q);
    forget_gone(q);
    queue_tree_touch(q);
    q->options.on_synced(q->options.arg);
}

static struct err *tree_watch(struct queue_tree *q)
{
    struct cluster *c = q->options.cluster;
    const struct cluster_listener queues = {put_queue, remove_queue, q, queue_tree_on_synced};
    const struct cluster_listener spaces = {put_space, remove_space, q, queue_tree_on_synced};

    q->n_unsynced = 2;
    TRY(cluster_watch(c, "", "namespaces", &spaces, &q->spaces_watch));
    return cluster_watch(c, "mete.dev", "queues", &queues, &q->queues_watch);
}

struct err *queue_tree_new(const struct queue_tree_options *o, struct queue_tree **ret)
{
    struct queue_tree *q = mem_alloc(sizeof(*q));
    struct err *e = NULL;

    q->options = *o;
    q->status_timer = loop_timer_new(o->loop, queue_tree_on_status, q);
    q->writes = writes_new(q);
    e = tree_watch(q);
    if (e) {
        queue_tree_free(q);
        return e;
    }
    *ret = q;
    return NULL;
}

void queue_tree_free(struct queue_tree *q)
{
    if (!q)
        return;
    loop_timer_free(q->status_timer);
    cluster_unwatch(q->options.cluster, q->queues_watch);
    cluster_unwatch(q->options.cluster, q->spaces_watch);
    while (q->entries)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it goes out of the map */
        entry_free(q, q->entries);
    while (q->spaces)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
        space_free(q, q->spaces);
    writes_free(q->writes);
    free(q);
}
