/* cluster_store.c - the cluster over our own store */

#include "base/log.h"
#include "base/mem.h"
#include "control/cluster.h"
#include "control/cluster_feed.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    LIST_PAGE = 1024,
    TOLD = 256 /* trees */
};

/* A tree that watches are told in this turn of the loop. */
struct told_tree {
    const struct store_object *object; /* NULL: the slot is empty */
    json_t *tree;
};

struct over_store {
    struct cluster cluster;
    struct store *store;
    struct objects *objects;
    struct feeds feeds;
    struct told_tree told[TOLD];
    struct loop_timer *told_timer; /* for the end of the turn; set while a slot is in use */
    bool has_told;
};

struct cluster_watch {
    struct over_store *of;
    struct feed_member
        *member; /* of a feed; NULL: the watch is not in a feed, but has a watch of the store: */
    struct store_watch *watch;
    struct cluster_listener listener;
};

struct cluster_read {
    struct over_store *of;
    struct loop_timer *timer;
    struct store_key key;
    char *ns;
    char *name;
    struct cluster_reader reader;
};

/* Internal resources are plain trees; objects of a kind get their resourceVersion. */
static json_t *over_store_decode(struct over_store *c, const struct store_object *o)
{
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    if (kind_find(o->key.group, o->key.resource))
        e = objects_decode_shared(c->objects, o, &tree);
    else
        e = json_parse(o->bytes, &tree);
    if (e)
        LOG(ERROR, "stored object is damaged", S("resource", o->key.resource), S("ns", o->key.ns),
            S("name", o->key.name), E(e));
    return tree;
}

static void told_clear(struct told_tree *t)
{
    store_object_unref(t->object);
    json_decref(t->tree);
    *t = (struct told_tree){0};
}

static void told_forget(void *arg)
{
    struct over_store *c = arg;

    for (size_t i = 0; i < TOLD; i++)
        told_clear(&c->told[i]);
    c->has_told = false;
}

/* Several watches are told of an object in one turn: they share its tree. */
static json_t *told_decode(struct over_store *c, const struct store_object *o)
{
    struct told_tree *t = &c->told[((uintptr_t)o >> 5) % TOLD];

    if (t->object == o)
        return json_incref(t->tree);
    if (!c->has_told)
        loop_timer_set(c->told_timer, 0);
    c->has_told = true;
    told_clear(t);
    *t = (struct told_tree){store_object_ref(o), over_store_decode(c, o)};
    return json_incref(t->tree);
}

static void cluster_store_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct cluster_watch *w = arg;
    AUTO(json_freep) json_t *tree = NULL;
    const struct store_object *o;

    (void)revision;
    if (!change)
        return;
    o = change->object;
    tree = told_decode(w->of, o);
    if (!tree)
        return;
    if (change->type == STORE_DELETED)
        w->listener.removed(w->listener.arg, o->key.ns, o->key.name, tree);
    else
        w->listener.put(w->listener.arg, o->key.ns, o->key.name, tree);
}

/* Calls `fn` for each object of a range, page by page, all at one revision. */
static struct err *over_store_each(struct store *s, const struct store_range *range,
                                   void (*fn)(void *arg, const struct store_object *o), void *arg,
                                   int64_t *ret_revision)
{
    const struct store_object *last = NULL;
    int64_t revision = 0;
    bool has_more = true;

    while (has_more) {
        struct store_list page = {0};
        struct err *e = store_list(s, range, last ? last->key.ns : NULL,
                                   last ? last->key.name : NULL, LIST_PAGE, revision, &page);

        store_object_unref(last);
        last = NULL;
        if (e)
            return e;
        for (size_t i = 0; i < page.n; i++)
            fn(arg, page.at[i]);
        if (page.n > 0)
            last = store_object_ref(page.at[page.n - 1]);
        revision = page.revision;
        has_more = page.has_more && page.n > 0;
        store_list_done(&page);
    }
    store_object_unref(last);
    *ret_revision = revision;
    return NULL;
}

static void put_listed(void *arg, const struct store_object *o)
{
    struct cluster_watch *w = arg;
    AUTO(json_freep) json_t *tree = over_store_decode(w->of, o);

    if (tree)
        w->listener.put(w->listener.arg, o->key.ns, o->key.name, tree);
}

static struct cluster_watch *watch_in_turns(struct over_store *c, const char *group,
                                            const char *resource, const struct cluster_listener *l)
{
    const struct feed_options o = {.loop = objects_loop(c->objects),
                                   .store = c->store,
                                   .objects = c->objects,
                                   .group = group,
                                   .resource = resource};
    struct cluster_watch *w = mem_alloc(sizeof(*w));

    w->member = feeds_join(&c->feeds, &o, l);
    return w;
}

/* Is the resource read in turns? */
static bool has_many(const char *group, const char *resource)
{
    return !*group && text_equal(resource, "pods");
}

static struct err *over_store_watch(void *self, const char *group, const char *resource,
                                    const struct cluster_listener *l, struct cluster_watch **ret)
{
    struct store_range range = {.group = group, .resource = resource};
    struct over_store *c = self;
    struct cluster_watch *w;
    int64_t revision = 0;
    struct err *e;

    if (has_many(group, resource)) {
        *ret = watch_in_turns(c, group, resource, l);
        return NULL;
    }
    w = mem_alloc(sizeof(*w));
    w->of = c;
    w->listener = *l;
    e = over_store_each(c->store, &range, put_listed, w, &revision);
    if (!e)
        e = store_watch_new(c->store, &range, revision, cluster_store_on_change, w, &w->watch);
    if (e) {
        free(w);
        return err_wrap(e, "watch %s", resource);
    }
    *ret = w;
    l->synced(l->arg);
    return NULL;
}

static void over_store_unwatch(void *self, struct cluster_watch *w)
{
    (void)self;
    if (w->member)
        feed_leave(w->member);
    store_watch_free(w->watch);
    free(w);
}

/* The kind for "pods" or "jobs.batch". */
static const struct kind *kind_named(const char *resource)
{
    const char *dot = strchr(resource, '.');
    AUTO_FREE char *plural =
        mem_strndup(resource, dot ? (size_t)(dot - resource) : strlen(resource));

    return kind_find(dot ? dot + 1 : "", plural);
}

static void read_free(struct cluster_read *r)
{
    loop_timer_free(r->timer);
    free(r->ns);
    free(r->name);
    free(r);
}

static void read_answer(void *arg)
{
    struct cluster_read *r = arg;
    const struct store_object *o = store_get(r->of->store, r->key);
    AUTO(json_freep) json_t *tree = o ? over_store_decode(r->of, o) : NULL;
    const struct cluster_reader reader = r->reader;

    read_free(r);
    reader.done(reader.arg, tree, NULL);
}

static struct cluster_read *over_store_read(void *self, const char *resource, const char *ns,
                                            const char *name, struct cluster_reader reader)
{
    struct over_store *c = self;
    struct cluster_read *r = mem_alloc(sizeof(*r));

    r->of = c;
    r->reader = reader;
    r->ns = mem_strdup(ns);
    r->name = mem_strdup(name);
    r->key = objects_key(kind_named(resource), r->ns, r->name);
    r->timer = loop_timer_new(objects_loop(c->objects), read_answer, r);
    loop_timer_set(r->timer, 0);
    return r;
}

static void over_store_unread(void *self, struct cluster_read *r)
{
    (void)self;
    read_free(r);
}

static struct err *over_store_bind(void *self, const struct ledger_placement *p,
                                   struct cluster_answer a)
{
    struct over_store *c = self;
    struct ledger_placement mine = *p;

    mine.now_ns = objects_now_ns(c->objects);
    return ledger_bind(c->store, &mine, a.done, a.arg);
}

static struct objects_request request_of(const char *resource, const char *ns, const char *name)
{
    return (struct objects_request){
        .kind = kind_named(resource),
        .ns = ns,
        .name = name,
        .who = {.user = "system:mete:control", .is_system = true, .is_admin = true, .host_uid = -1},
    };
}

static struct err *over_store_create(void *self, const char *resource, const char *ns,
                                     json_t *object, struct cluster_answer a)
{
    struct objects_request r = request_of(resource, ns, NULL);
    struct over_store *c = self;
    AUTO(json_freep) json_t *made = NULL;

    return objects_create(c->objects, &r, object, a.done, a.arg, &made);
}

static struct err *over_store_write_all(void *self, const struct cluster_write *writes, size_t n,
                                        struct cluster_answer a, int64_t *ret_version)
{
    struct over_store *c = self;
    struct objects_write *all = mem_alloc((n + 1) * sizeof(*all));
    struct err *e;

    for (size_t i = 0; i < n; i++) {
        all[i] = (struct objects_write){
            .request = request_of(writes[i].resource, writes[i].ns, writes[i].name),
            .type = writes[i].name ? WRITE_PATCH : WRITE_CREATE,
            .tree = writes[i].tree,
            .must_change = writes[i].must_change,
            .ret_is_gone = writes[i].ret_is_gone};
        all[i].request.subresource = writes[i].subresource;
    }
    e = objects_write_all(c->objects, all, n, a.done, a.arg, ret_version);
    free(all);
    return e;
}

static struct err *over_store_patch(void *self, const struct cluster_target *t,
                                    const json_t *changes, struct cluster_answer a)
{
    struct objects_request r = request_of(t->resource, t->ns, t->name);
    struct over_store *c = self;
    AUTO(json_freep) json_t *made = NULL;

    r.subresource = t->subresource;
    return objects_patch(c->objects, &r, PATCH_STRATEGIC, changes, a.done, a.arg, &made);
}

static struct err *over_store_remove(void *self, const struct cluster_target *t, const char *if_uid,
                                     struct cluster_answer a)
{
    struct objects_request r = request_of(t->resource, t->ns, t->name);
    struct delete_options how = {.grace_seconds = -1, .if_uid = if_uid};
    struct over_store *c = self;
    AUTO(json_freep) json_t *last = NULL;
    bool is_gone = false;

    return objects_delete(c->objects, &r, &how, a.done, a.arg, &last, &is_gone);
}

/* Finds changes that the watch has not told yet: the pod's end, or the loss of its binding. */
static struct err *check_runs(const struct over_store *c, const struct cluster_eviction *e)
{
    const struct store_key key = {.group = "", .resource = "pods", .ns = e->ns, .name = e->name};
    const struct store_object *o = store_get_applied(c->store, key);
    AUTO(json_freep) json_t *pod = NULL;

    if (!o)
        return NULL;
    TRY(objects_decode(o, &pod));
    if (*pod_node(pod) && !pod_is_terminal(pod))
        return NULL;
    return err_new(ERR_CONFLICT, "pod %s/%s %s", e->ns, e->name,
                   *pod_node(pod) ? "has ended" : "is not bound");
}

static struct err *over_store_evict(void *self, const struct cluster_eviction *e,
                                    struct cluster_answer a)
{
    struct objects_request r = request_of("pods", e->ns, e->name);
    struct delete_options how = {.grace_seconds = e->grace_s > 0 ? e->grace_s : -1,
                                 .if_uid = e->uid,
                                 .disruption = e->reason,
                                 .disruption_message = e->message,
                                 .is_requeued = true};
    struct over_store *c = self;
    AUTO(json_freep) json_t *last = NULL;
    bool is_gone = false;

    TRY(check_runs(c, e));
    return objects_delete(c->objects, &r, &how, a.done, a.arg, &last, &is_gone);
}

static void over_store_free(void *self)
{
    struct over_store *c = self;

    told_forget(c);
    loop_timer_free(c->told_timer);
    free(c);
}

static const struct cluster_ops ops = {
    .watch = over_store_watch,
    .unwatch = over_store_unwatch,
    .read = over_store_read,
    .unread = over_store_unread,
    .bind = over_store_bind,
    .create = over_store_create,
    .write_all = over_store_write_all,
    .patch = over_store_patch,
    .remove = over_store_remove,
    .evict = over_store_evict,
    .free = over_store_free,
};

struct cluster *cluster_store_new(struct store *store, struct objects *objects)
{
    struct over_store *c = mem_alloc(sizeof(*c));

    c->cluster = (struct cluster){.ops = &ops, .self = c};
    c->store = store;
    c->objects = objects;
    c->told_timer = loop_timer_new(objects_loop(objects), told_forget, c);
    return &c->cluster;
}

void cluster_free(struct cluster *c)
{
    if (c)
        c->ops->free(c->self);
}
