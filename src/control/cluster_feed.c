/* cluster_feed.c - the feeds of cluster_feed.h */
#include "control/cluster_feed.h"

#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    OBJECTS_PER_TURN = 16 /* about 1 ms with the scheduler and the job controller as listeners */
};
#define RETRY_NS NS_PER_SEC

struct feed_member {
    struct feed_member *prev;
    struct feed_member *next;
    struct feed *feed;
    struct cluster_listener listener;
};

struct feed {
    struct feed *prev;
    struct feed *next;
    struct feeds *feeds;
    struct feed_options options;
    struct feed_member *members;
    struct store_watch *watch;       /* NULL: the feed has not begun */
    struct loop_timer *timer;        /* of the next turn */
    int64_t revision;                /* later changes come by the watch */
    const struct store_object *last; /* all objects up to its key were put; NULL: none was */
    bool is_synced;
};

static json_t *feed_decode(const struct feed *f, const struct store_object *o)
{
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    e = objects_decode_shared(f->options.objects, o, &tree);
    if (e)
        LOG(ERROR, "stored object is damaged", S("resource", o->key.resource), S("ns", o->key.ns),
            S("name", o->key.name), E(e));
    return tree;
}

static void feed_put(struct feed *f, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = feed_decode(f, o);
    struct feed_member *m;

    if (!tree)
        return;
    LIST_EACH (f->members, m)
        m->listener.put(m->listener.arg, o->key.ns, o->key.name, tree);
}

static void feed_remove(struct feed *f, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = feed_decode(f, o);
    struct feed_member *m;

    if (!tree)
        return;
    LIST_EACH (f->members, m)
        m->listener.removed(m->listener.arg, o->key.ns, o->key.name, tree);
}

/* Is the object still to be put? Then no listener knows it. */
static bool is_ahead(const struct feed *f, const struct store_object *o)
{
    int order;

    if (f->is_synced || o->version > f->revision)
        return false;
    if (!f->last)
        return true;
    order = strcmp(o->key.ns, f->last->key.ns);
    return order > 0 || (order == 0 && strcmp(o->key.name, f->last->key.name) > 0);
}

static void feed_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct feed *f = arg;

    (void)revision;
    if (!change)
        return;
    if (change->type != STORE_DELETED)
        feed_put(f, change->object);
    else if (!is_ahead(f, change->object))
        feed_remove(f, change->object);
}

static struct err *feed_begin(struct feed *f)
{
    const struct store_range range = {.group = f->options.group, .resource = f->options.resource};

    f->revision = store_revision(f->options.store);
    return store_watch_new(f->options.store, &range, f->revision, feed_on_change, f, &f->watch);
}

static void feed_synced(struct feed *f)
{
    struct feed_member *m;

    f->is_synced = true;
    store_object_unref(f->last);
    f->last = NULL;
    LIST_EACH (f->members, m)
        m->listener.synced(m->listener.arg);
}

static void feed_on_turn(void *arg)
{
    struct feed *f = arg;
    const struct store_range range = {.group = f->options.group, .resource = f->options.resource};
    AUTO(err_freep) struct err *e = f->watch ? NULL : feed_begin(f);

    if (e) {
        LOG(WARN, "objects cannot be watched, will be tried again", S("resource", range.resource),
            E(e));
        loop_timer_set(f->timer, RETRY_NS);
        return;
    }
    for (int i = 0; i < OBJECTS_PER_TURN; i++) {
        const struct store_object *o =
            store_next(f->options.store, &range, f->last ? &f->last->key : NULL);

        if (!o) {
            feed_synced(f);
            return;
        }
        (void)store_object_ref(o);
        store_object_unref(f->last);
        f->last = o;
        if (o->version <= f->revision)
            feed_put(f, o);
    }
    loop_timer_set(f->timer, 0);
}

static struct feed *feed_new(struct feeds *feeds, const struct feed_options *o)
{
    struct feed *f = mem_alloc(sizeof(*f));

    *f = (struct feed){.feeds = feeds, .options = *o};
    f->timer = loop_timer_new(o->loop, feed_on_turn, f);
    loop_timer_set(f->timer, 0);
    LIST_ADD(feeds->all, f);
    return f;
}

static void feed_free(struct feed *f)
{
    LIST_REMOVE(f->feeds->all, f);
    store_watch_free(f->watch);
    store_object_unref(f->last);
    loop_timer_free(f->timer);
    free(f);
}

struct feed_member *feeds_join(struct feeds *feeds, const struct feed_options *o,
                               const struct cluster_listener *l)
{
    struct feed_member *m = mem_alloc(sizeof(*m));
    struct feed *f;

    LIST_EACH (feeds->all, f) {
        if (!f->watch && text_equal(f->options.group, o->group) &&
            text_equal(f->options.resource, o->resource))
            break;
    }
    m->feed = f ? f : feed_new(feeds, o);
    m->listener = *l;
    LIST_ADD(m->feed->members, m);
    return m;
}

void feed_leave(struct feed_member *m)
{
    struct feed *f = m->feed;

    LIST_REMOVE(f->members, m);
    free(m);
    if (!f->members)
        feed_free(f);
}
