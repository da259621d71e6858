/* turns.c - the frame of a control loop */

#include "control/turns.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/writes.h"

#define TURNS_RELOAD_NS NS_PER_SEC

enum {
    ITEMS_PER_TURN = 32
};

struct turns_feed {
    struct turns *turns;
    const struct turns_source *source;
    struct cluster_watch *watch;
};

struct turns {
    struct turns_options options;
    struct turns_feed feeds[TURNS_SOURCES_MAX];
    size_t n_synced; /* sources that are known completely */
    struct turn_item *queue;
    struct loop_timer *work_timer;
    struct loop_timer *reload_timer;
    bool is_stopped; /* until the reload */
    struct writes *writes;
};

struct loop *turns_loop(const struct turns *t)
{
    return t->options.loop;
}

struct cluster *turns_cluster(const struct turns *t)
{
    return t->options.cluster;
}

static void on_item_timer(void *arg)
{
    struct turn_item *item = arg;

    item->timer_at_ns = 0;
    turn_poke(item);
}

void turn_item_init(struct turns *t, struct turn_item *item)
{
    item->turns = t;
    item->timer = loop_timer_new(t->options.loop, on_item_timer, item);
}

void turn_item_done(struct turn_item *item)
{
    if (item->is_queued)
        LIST_REMOVE(item->turns->queue, item);
    item->is_queued = false;
    loop_timer_free(item->timer);
    item->timer = NULL;
}

void turn_poke(struct turn_item *item)
{
    struct turns *t = item->turns;

    if (item->is_queued)
        return;
    item->is_queued = true;
    LIST_ADD(t->queue, item);
    loop_timer_set(t->work_timer, 0);
}

void turn_poke_in(struct turn_item *item, int64_t in_ns)
{
    int64_t at_ns = loop_now_ns(item->turns->options.loop) + in_ns;

    if (item->timer_at_ns != 0 && item->timer_at_ns <= at_ns)
        return;
    item->timer_at_ns = at_ns;
    loop_timer_set(item->timer, in_ns);
}

static void turns_on_work(void *arg)
{
    struct turns *t = arg;

    if (t->is_stopped || t->n_synced < t->options.n_sources)
        return;
    for (int i = 0; i < ITEMS_PER_TURN && t->queue; i++) {
        struct turn_item *item = t->queue;

        LIST_REMOVE(t->queue, item);
        item->is_queued = false;
        t->options.look(item);
    }
    if (t->queue)
        loop_timer_set(t->work_timer, 0);
}

static void turns_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct turns *t = owner;

    (void)key;
    (void)number;
    if (!e)
        return;
    LOG(WARN, "a control loop reads again, a write was lost", S("loop", t->options.name), E(e));
    turns_reload_later(t);
}

struct cluster_answer turns_answer(struct turns *t)
{
    return writes_begin(t->writes, turns_on_written, NULL, 0);
}

static void feed_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct turns_feed *f = arg;

    f->source->put(f->turns->options.arg, ns, name, object);
}

static void feed_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct turns_feed *f = arg;

    f->source->removed(f->turns->options.arg, ns, name, last);
}

static struct err *watch_next(struct turns *t);

/* The source is known completely: the next one begins, or the work. */
static void feed_synced(void *arg)
{
    struct turns_feed *f = arg;
    struct turns *t = f->turns;
    AUTO(err_freep) struct err *e = NULL;

    t->n_synced++;
    e = watch_next(t);
    if (!e)
        return;
    LOG(WARN, "objects of a control loop cannot be read, will be tried again",
        S("loop", t->options.name), E(e));
    turns_reload_later(t);
}

/* Recursive: a source may be known inside cluster_watch. */
static struct err *watch_next(struct turns *t)
{
    struct turns_feed *f;
    struct cluster_listener l = {feed_put, feed_removed, NULL, feed_synced};

    if (t->n_synced == t->options.n_sources) {
        loop_timer_set(t->work_timer, 0);
        return NULL;
    }
    f = &t->feeds[t->n_synced];
    l.arg = f;
    return cluster_watch(t->options.cluster, f->source->group, f->source->resource, &l, &f->watch);
}

static void forget_all(struct turns *t)
{
    for (size_t i = 0; i < t->options.n_sources; i++) {
        cluster_unwatch(t->options.cluster, t->feeds[i].watch);
        t->feeds[i].watch = NULL;
    }
    t->n_synced = 0;
    t->options.forget(t->options.arg);
    loop_timer_stop(t->work_timer);
}

void turns_reload_later(struct turns *t)
{
    if (t->is_stopped)
        return;
    t->is_stopped = true;
    loop_timer_set(t->reload_timer, TURNS_RELOAD_NS);
}

/* Reads durable objects: waits until all of our writes are durable. */
static void turns_on_reload(void *arg)
{
    struct turns *t = arg;
    AUTO(err_freep) struct err *e = NULL;

    t->is_stopped = false;
    if (writes_pending(t->writes) > 0) {
        turns_reload_later(t);
        return;
    }
    forget_all(t);
    e = watch_next(t);
    if (!e)
        return;
    LOG(WARN, "objects of a control loop cannot be read, will be tried again",
        S("loop", t->options.name), E(e));
    turns_reload_later(t);
}

struct err *turns_new(const struct turns_options *o, struct turns **ret)
{
    struct turns *t = mem_alloc(sizeof(*t));
    struct err *e;

    assert(o->n_sources <= TURNS_SOURCES_MAX);
    t->options = *o;
    for (size_t i = 0; i < o->n_sources; i++)
        t->feeds[i] = (struct turns_feed){.turns = t, .source = &o->sources[i]};
    t->work_timer = loop_timer_new(o->loop, turns_on_work, t);
    t->reload_timer = loop_timer_new(o->loop, turns_on_reload, t);
    t->writes = writes_new(t);
    *ret = t;
    e = watch_next(t);
    if (!e)
        return NULL;
    *ret = NULL;
    turns_free(t);
    return err_wrap(e, "%s", o->name);
}

void turns_free(struct turns *t)
{
    if (!t)
        return;
    forget_all(t);
    loop_timer_free(t->work_timer);
    loop_timer_free(t->reload_timer);
    writes_free(t->writes);
    free(t);
}
