/* mem_cluster.c - the cluster of mem_cluster.h: a queue of what is late, over the store's cluster
 */

#include "mem_cluster.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "prop.h"
#include "test.h"

struct mem_cluster;

/* Something that happens later. */
struct late {
    struct late *prev;
    struct late *next;
    char *lane;          /* items of one lane keep their order; NULL: none */
    const void *of;      /* the watch or read that it belongs to, or NULL */
    bool is_last_of_all; /* waits for all earlier items of `of` */
    unsigned turns;
    int64_t due_ns;
    void (*fn)(struct mem_cluster *c, void *arg, bool is_over); /* is_over: only frees */
    void *arg;
};

struct mem_cluster {
    struct cluster cluster;
    struct mem_cluster_options options;
    struct cluster *inner;
    struct loop *loop;
    struct prop prop;
    struct late *late;
    struct loop_timer *timer;
    VEC(struct sent *) sent;         /* writes that the store has not answered */
    VEC(struct cluster_answer) lost; /* answers that do not come */
};

struct cluster_watch {
    struct mem_cluster *c;
    struct cluster_watch *inner;
    struct cluster_listener listener;
};

struct cluster_read {
    struct mem_cluster *c;
    struct cluster_read *inner; /* NULL: read, and late */
    struct cluster_reader reader;
    json_t *object;
};

/* A write that is with the store. */
struct sent {
    struct mem_cluster *c; /* NULL: the cluster is gone */
    struct cluster_answer answer;
};

/* ---- what is late ---- */

static void late_free(struct mem_cluster *c, struct late *l)
{
    LIST_REMOVE(c->late, l);
    free(l->lane);
    free(l);
}

/* Does an earlier item go first? */
static bool has_to_wait(const struct mem_cluster *c, const struct late *l)
{
    for (const struct late *other = c->late; other != l; other = other->next) {
        if (l->lane && text_equal(other->lane, l->lane))
            return true;
        if (l->is_last_of_all && other->of == l->of)
            return true;
    }
    return false;
}

static struct late *late_find(const struct mem_cluster *c)
{
    for (struct late *l = c->late; l; l = l->next) {
        if (l->turns == 0 && l->due_ns <= loop_now_ns(c->loop) && !has_to_wait(c, l))
            return l;
    }
    return NULL;
}

static void late_wake(struct mem_cluster *c)
{
    int64_t now_ns = loop_now_ns(c->loop);
    int64_t next_ns = INT64_MAX;

    for (const struct late *l = c->late; l; l = l->next) {
        bool is_blocked = l->due_ns <= now_ns && l->turns == 0; /* by an earlier one */

        if (!is_blocked && l->due_ns < next_ns)
            next_ns = l->due_ns;
    }
    if (next_ns != INT64_MAX)
        loop_timer_set(c->timer, next_ns > now_ns ? next_ns - now_ns : 0);
}

static void on_late(void *arg)
{
    struct mem_cluster *c = arg;
    struct late *l;

    for (l = c->late; l; l = l->next) {
        if (l->turns > 0 && l->due_ns <= loop_now_ns(c->loop))
            l->turns--;
    }
    while ((l = late_find(c))) {
        void (*fn)(struct mem_cluster *, void *, bool) = l->fn;
        void *what = l->arg;

        late_free(c, l);
        fn(c, what, false);
    }
    late_wake(c);
}

static struct late *late_add(struct mem_cluster *c, char *lane,
                             void (*fn)(struct mem_cluster *, void *, bool), void *arg)
{
    struct late *l = mem_alloc(sizeof(*l));

    *l = (struct late){.lane = lane, .fn = fn, .arg = arg};
    l->turns = (unsigned)prop_below(&c->prop, c->options.turns_max + 1);
    l->due_ns = loop_now_ns(c->loop);
    if (c->options.delay_max_ns > 0 && prop_chance(&c->prop, 25))
        l->due_ns += (int64_t)prop_below(&c->prop, (size_t)c->options.delay_max_ns + 1);
    LIST_ADD(c->late, l);
    loop_timer_set(c->timer, 0);
    return l;
}

/* Drops what is late of a watch or read. */
static void late_forget(struct mem_cluster *c, const void *of)
{
    struct late *l = c->late;

    while (l) {
        struct late *next = l->next;

        if (l->of == of) {
            l->fn(c, l->arg, true);
            late_free(c, l);
        }
        l = next;
    }
}

/* ---- watches ---- */

struct happening {
    struct cluster_watch *w;
    char *ns;
    char *name;
    json_t *object;
    bool is_removal;
};

static void happening_tell(struct mem_cluster *c, void *arg, bool is_over)
{
    struct happening *h = arg;
    const struct cluster_listener *l = &h->w->listener;

    (void)c;
    if (!is_over && h->is_removal)
        l->removed(l->arg, h->ns, h->name, h->object);
    else if (!is_over)
        l->put(l->arg, h->ns, h->name, h->object);
    json_decref(h->object);
    free(h->ns);
    free(h->name);
    free(h);
}

static void happening_add(struct cluster_watch *w, const char *ns, const char *name,
                          const json_t *object, bool is_removal)
{
    struct happening *h = mem_alloc(sizeof(*h));

    *h = (struct happening){.w = w, .is_removal = is_removal};
    h->ns = mem_strdup(ns);
    h->name = mem_strdup(name);
    h->object = json_incref((json_t *)(uintptr_t)object);
    late_add(w->c, mem_format("%p/%s/%s", (void *)w, ns, name), happening_tell, h)->of = w;
}

static void on_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    happening_add(arg, ns, name, object, false);
}

static void on_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    happening_add(arg, ns, name, last, true);
}

static void synced_tell(struct mem_cluster *c, void *arg, bool is_over)
{
    const struct cluster_watch *w = arg;

    (void)c;
    if (!is_over)
        w->listener.synced(w->listener.arg);
}

static void on_synced(void *arg)
{
    struct cluster_watch *w = arg;
    struct late *l = late_add(w->c, NULL, synced_tell, w);

    l->of = w;
    l->is_last_of_all = true;
}

static struct err *mem_watch(void *self, const char *group, const char *resource,
                             const struct cluster_listener *l, struct cluster_watch **ret)
{
    struct mem_cluster *c = self;
    struct cluster_watch *w = mem_alloc(sizeof(*w));
    const struct cluster_listener inner = {on_put, on_removed, w, on_synced};

    *w = (struct cluster_watch){.c = c, .listener = *l};
    world_must(cluster_watch(c->inner, group, resource, &inner, &w->inner));
    *ret = w;
    return NULL;
}

static void mem_unwatch(void *self, struct cluster_watch *w)
{
    struct mem_cluster *c = self;

    late_forget(c, w);
    cluster_unwatch(c->inner, w->inner);
    free(w);
}

/* ---- reads ---- */

static void read_tell(struct mem_cluster *c, void *arg, bool is_over)
{
    struct cluster_read *r = arg;
    const struct cluster_reader reader = r->reader;
    AUTO(json_freep) json_t *object = r->object;

    (void)c;
    if (is_over)
        return;
    free(r);
    reader.done(reader.arg, object, NULL);
}

static void on_read(void *arg, const json_t *object, const struct err *e)
{
    struct cluster_read *r = arg;

    assert_null(e);
    r->inner = NULL;
    r->object = json_incref((json_t *)(uintptr_t)object);
    late_add(r->c, NULL, read_tell, r)->of = r;
}

static struct cluster_read *mem_read(void *self, const char *resource, const char *ns,
                                     const char *name, struct cluster_reader reader)
{
    struct mem_cluster *c = self;
    struct cluster_read *r = mem_alloc(sizeof(*r));

    *r = (struct cluster_read){.c = c, .reader = reader};
    r->inner = cluster_read(c->inner, resource, ns, name, (struct cluster_reader){on_read, r});
    return r;
}

static void mem_unread(void *self, struct cluster_read *r)
{
    struct mem_cluster *c = self;

    cluster_unread(c->inner, r->inner);
    late_forget(c, r);
    free(r);
}

/* ---- answers ---- */

struct reply {
    struct cluster_answer answer;
    struct err *e;
    int64_t revision;
};

static void reply_tell(struct mem_cluster *c, void *arg, bool is_over)
{
    struct reply *r = arg;
    AUTO(err_freep)
    struct err *e = is_over ? err_new(ERR_UNAVAILABLE, "the cluster is gone") : TAKE(r->e);

    (void)c;
    r->answer.done(r->answer.arg, e, r->revision);
    err_free(r->e);
    free(r);
}

static struct err *err_copy(const struct err *e)
{
    return e ? err_new(err_code(e), "%s", err_message(e)) : NULL;
}

static void reply_add(struct mem_cluster *c, struct cluster_answer a, const struct err *e,
                      int64_t revision)
{
    struct reply *r;

    if (prop_chance(&c->prop, c->options.lost_pct)) {
        vec_add(&c->lost, a);
        return;
    }
    r = mem_alloc(sizeof(*r));
    *r = (struct reply){.answer = a, .e = err_copy(e), .revision = revision};
    (void)late_add(c, NULL, reply_tell, r);
}

static void on_stored(void *arg, const struct err *e, int64_t revision)
{
    struct sent *s = arg;

    if (s->c) {
        for (size_t i = s->c->sent.n; i-- > 0;)
            if (s->c->sent.at[i] == s)
                vec_remove(&s->c->sent, i);
        reply_add(s->c, s->answer, e, revision);
    } else {
        s->answer.done(s->answer.arg, e, revision);
    }
    free(s);
}

/* The answer to give to the store; then send_end. */
static struct cluster_answer send_begin(struct mem_cluster *c, struct cluster_answer a)
{
    struct sent *s = mem_alloc(sizeof(*s));

    *s = (struct sent){c, a};
    vec_add(&c->sent, s);
    return (struct cluster_answer){on_stored, s};
}

/* The store has refused the write at once. */
static struct err *send_end(struct mem_cluster *c, struct cluster_answer a, struct err *e)
{
    if (!e)
        return NULL;
    c->sent.n--; /* the last one: the store has answered nothing meanwhile */
    free(a.arg);
    return e;
}

/* ---- writes ---- */

static struct err *mem_create(void *self, const char *resource, const char *ns, json_t *object,
                              struct cluster_answer a)
{
    struct mem_cluster *c = self;
    struct cluster_answer mine = send_begin(c, a);

    return send_end(c, mine, cluster_create(c->inner, resource, ns, object, mine));
}

static struct err *mem_write_all(void *self, const struct cluster_write *writes, size_t n,
                                 struct cluster_answer a, int64_t *ret_version)
{
    (void)self;
    (void)writes;
    (void)n;
    (void)a;
    (void)ret_version;
    fail_msg("this cluster has no transactions");
    return NULL;
}

enum order_type {
    ORDER_BIND,
    ORDER_EVICT,
    ORDER_PATCH,
    ORDER_REMOVE
};

/* A write on its way to the store; texts are in the arena. */
struct order {
    enum order_type type;
    struct arena *arena;
    struct cluster_answer answer;
    struct ledger_placement placement;
    struct cluster_eviction eviction;
    struct cluster_target target;
    json_t *patch;
    const char *if_uid;
};

static struct err *order_send(struct mem_cluster *c, const struct order *o, struct cluster_answer a)
{
    switch (o->type) {
    case ORDER_BIND:
        return cluster_bind(c->inner, &o->placement, a);
    case ORDER_EVICT:
        return cluster_evict(c->inner, &o->eviction, a);
    case ORDER_PATCH:
        return cluster_patch(c->inner, &o->target, o->patch, a);
    case ORDER_REMOVE:
        break;
    }
    return cluster_remove(c->inner, &o->target, o->if_uid, a);
}

static void order_carry_out(struct mem_cluster *c, void *arg, bool is_over)
{
    struct order *o = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (is_over) {
        e = err_new(ERR_UNAVAILABLE, "the cluster is gone");
        o->answer.done(o->answer.arg, e, 0);
    } else {
        struct cluster_answer mine = send_begin(c, o->answer);

        e = send_end(c, mine, order_send(c, o, mine));
        if (e)
            reply_add(c, o->answer, e, 0);
    }
    json_decref(o->patch);
    arena_free(o->arena);
    free(o);
}

static struct order *order_new(enum order_type type, struct cluster_answer a)
{
    struct order *o = mem_alloc(sizeof(*o));

    *o = (struct order){.type = type, .arena = arena_new(), .answer = a};
    return o;
}

static const char *keep(struct order *o, const char *text)
{
    return text ? arena_strdup(o->arena, text) : NULL;
}

/* Takes the order. */
static struct err *order_add(struct mem_cluster *c, struct order *o, const char *resource)
{
    bool may_drop = o->type == ORDER_BIND || o->type == ORDER_EVICT;

    if (may_drop && prop_chance(&c->prop, c->options.dropped_pct)) {
        vec_add(&c->lost, o->answer);
        arena_free(o->arena);
        free(o);
        return NULL;
    }
    (void)late_add(c, mem_format("write %s", resource), order_carry_out, o);
    return NULL;
}

static void keep_target(struct order *o, const struct cluster_target *t)
{
    o->target = (struct cluster_target){.resource = keep(o, t->resource),
                                        .ns = keep(o, t->ns),
                                        .name = keep(o, t->name),
                                        .subresource = keep(o, t->subresource)};
}

static struct ledger_pod keep_pod(struct order *o, const struct ledger_pod *from)
{
    struct ledger_container *list = arena_alloc(o->arena, (from->n_containers + 1) * sizeof(*list));

    for (size_t i = 0; i < from->n_containers; i++) {
        const struct ledger_container *each = &from->containers[i];
        struct device *devices = arena_alloc(o->arena, (each->n_devices + 1) * sizeof(*devices));

        for (size_t k = 0; k < each->n_devices; k++)
            devices[k] = each->devices[k];
        list[i] = (struct ledger_container){
            .name = keep(o, each->name), .devices = devices, .n_devices = each->n_devices};
    }
    return (struct ledger_pod){.name = keep(o, from->name),
                               .uid = keep(o, from->uid),
                               .node = keep(o, from->node),
                               .containers = list,
                               .n_containers = from->n_containers};
}

static struct err *mem_bind(void *self, const struct ledger_placement *p, struct cluster_answer a)
{
    struct order *o = order_new(ORDER_BIND, a);
    struct ledger_pod *pods = arena_alloc(o->arena, (p->n_pods + 1) * sizeof(*pods));

    for (size_t i = 0; i < p->n_pods; i++)
        pods[i] = keep_pod(o, &p->pods[i]);
    o->placement = *p;
    o->placement.ns = keep(o, p->ns);
    o->placement.workload = keep(o, p->workload);
    o->placement.pods = pods;
    return order_add(self, o, "pods");
}

static struct err *mem_evict(void *self, const struct cluster_eviction *e, struct cluster_answer a)
{
    struct order *o = order_new(ORDER_EVICT, a);

    o->eviction = (struct cluster_eviction){.ns = keep(o, e->ns),
                                            .name = keep(o, e->name),
                                            .uid = keep(o, e->uid),
                                            .reason = keep(o, e->reason),
                                            .message = keep(o, e->message)};
    return order_add(self, o, "pods");
}

static struct err *mem_patch(void *self, const struct cluster_target *t, const json_t *patch,
                             struct cluster_answer a)
{
    struct order *o = order_new(ORDER_PATCH, a);

    keep_target(o, t);
    o->patch = json_deep_copy(patch);
    return order_add(self, o, t->resource);
}

static struct err *mem_remove(void *self, const struct cluster_target *t, const char *if_uid,
                              struct cluster_answer a)
{
    struct order *o = order_new(ORDER_REMOVE, a);

    keep_target(o, t);
    o->if_uid = keep(o, if_uid);
    return order_add(self, o, t->resource);
}

static void mem_free(void *self)
{
    struct mem_cluster *c = self;
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the cluster is gone");

    while (c->late) {
        struct late *l = c->late;

        assert_null(l->of);
        l->fn(c, l->arg, true);
        late_free(c, l);
    }
    VEC_EACH (&c->sent, s) {
        (*s)->c = NULL;
    }
    VEC_EACH (&c->lost, a) {
        a->done(a->arg, e, 0);
    }
    vec_done(&c->sent);
    vec_done(&c->lost);
    loop_timer_free(c->timer);
    cluster_free(c->inner);
    free(c);
}

static const struct cluster_ops mem_ops = {
    .watch = mem_watch,
    .unwatch = mem_unwatch,
    .read = mem_read,
    .unread = mem_unread,
    .bind = mem_bind,
    .create = mem_create,
    .write_all = mem_write_all,
    .patch = mem_patch,
    .remove = mem_remove,
    .evict = mem_evict,
    .free = mem_free,
};

struct cluster *mem_cluster_new(const struct mem_cluster_options *o)
{
    struct mem_cluster *c = mem_alloc(sizeof(*c));

    c->cluster = (struct cluster){.ops = &mem_ops, .self = c};
    c->options = *o;
    c->inner = cluster_store_new(o->world->store, o->world->objects);
    c->loop = o->world->loop;
    c->prop = (struct prop){o->seed};
    c->timer = loop_timer_new(c->loop, on_late, c);
    return &c->cluster;
}

void mem_cluster_lose(struct cluster *cluster, unsigned lost_pct, unsigned dropped_pct)
{
    struct mem_cluster *c = cluster->self;

    c->options.lost_pct = lost_pct;
    c->options.dropped_pct = dropped_pct;
}
