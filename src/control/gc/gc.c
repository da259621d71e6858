/* gc.c - changes of objects to work, and the turns that do the work */
#include "control/gc/gc.h"

#include "base/list.h"
#include "base/log.h"
#include "base/stamp.h"
#include "control/gc/gc_private.h"
#include "kinds/custom/custom_definition.h"

enum {
    WORK_PER_TURN = 64,
    LOADS_PER_TURN = 64
};
static const int64_t retry_ns = NS_PER_SEC;

static char *work_id(enum work_type type, const struct kind *k, const char *ns, const char *name)
{
    return mem_format("%d|%s|%s|%s|%s", (int)type, k->group, k->plural, ns, name);
}

static void work_free(struct work *w)
{
    free(w->id);
    free(w->ns);
    free(w->name);
    free(w);
}

void gc_enqueue(struct gc *gc, enum work_type type, const struct kind *k, const char *ns,
                const char *name)
{
    AUTO_FREE char *id = work_id(type, k, ns, name);
    struct work *w = NULL;

    map_find_text(handle, gc->work_map, id, w);
    if (w)
        return;
    w = mem_alloc(sizeof(*w));
    w->id = TAKE(id);
    w->type = type;
    w->kind = k;
    w->ns = mem_strdup(ns);
    w->name = mem_strdup(name);
    map_add(handle, gc->work_map, w->id, strlen(w->id), w);
    LIST_ADD(gc->work_list, w);
    loop_timer_set(gc->work_timer, 0);
}

static struct work *work_next(struct gc *gc)
{
    struct work *w = gc->work_list;

    if (!w)
        return NULL;
    LIST_REMOVE(gc->work_list, w);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
    map_remove(handle, gc->work_map, w);
    return w;
}

struct objects_request gc_request(const struct gc *gc, const struct kind *k, const char *ns,
                                  const char *name)
{
    return (struct objects_request){.kind = k,
                                    .ns = k->is_namespaced ? ns : "",
                                    .name = name,
                                    .who = gc->who,
                                    .validation = VALIDATION_IGNORE};
}

/* Takes `e`. Another client's earlier write is no failure: the watch reports it. */
static struct err *unless_overtaken(struct err *e)
{
    if (!e || (err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT))
        return e;
    err_free(e);
    return NULL;
}

static void gc_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct gc *gc = owner;

    (void)key;
    (void)number;
    if (!e)
        return;
    LOG(WARN, "garbage collection starts again, a write was taken back", E(e));
    loop_timer_set(gc->anew_timer, retry_ns);
}

struct cluster_answer gc_answer(const struct gc *gc)
{
    return writes_begin(gc->writes, gc_on_written, NULL, 0);
}

struct err *gc_delete(const struct gc *gc, const struct kind *k, const json_t *object,
                      const char *propagation)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const char *ns = json_text(metadata, "namespace");
    struct objects_request r = gc_request(gc, k, ns ? ns : "", json_text(metadata, "name"));
    struct delete_options options = {
        .grace_seconds = -1, .if_uid = json_text(metadata, "uid"), .propagation = propagation};
    AUTO(json_freep) json_t *result = NULL;
    struct cluster_answer a = gc_answer(gc);
    bool is_gone = false;

    return unless_overtaken(writes_end(
        a, objects_delete(gc->options.objects, &r, &options, a.done, a.arg, &result, &is_gone)));
}

struct err *gc_patch(const struct gc *gc, const struct kind *k, const char *sub,
                     const json_t *object, json_t *patch)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const char *ns = json_text(metadata, "namespace");
    struct objects_request r = gc_request(gc, k, ns ? ns : "", json_text(metadata, "name"));
    AUTO(json_freep) json_t *mine = patch;
    AUTO(json_freep) json_t *result = NULL;
    json_t *guard = json_object_at(mine, "metadata");
    struct cluster_answer a = gc_answer(gc);

    json_put_text(guard, "resourceVersion", json_text(metadata, "resourceVersion"));
    json_put_text(guard, "uid", json_text(metadata, "uid"));
    r.subresource = sub;
    return unless_overtaken(writes_end(
        a, objects_patch(gc->options.objects, &r, PATCH_MERGE, mine, a.done, a.arg, &result)));
}

static struct err *do_work(struct gc *gc, const struct work *w, bool *ret_again)
{
    switch (w->type) {
    case WORK_DEPENDENT:
        return gc_look_at_dependent(gc, w);
    case WORK_OWNER:
        return gc_look_at_owner(gc, w);
    case WORK_NAMESPACE:
        return gc_look_at_namespace(gc, w, ret_again);
    case WORK_DEFINITION:
        return gc_look_at_definition(gc, w, ret_again);
    case WORK_NAMES:
        return gc_look_at_names(gc, w);
    }
    return NULL;
}

/* False: failed, for example on a full disk; the other work waits, too. */
static bool work_turn(struct gc *gc, struct work *w)
{
    bool is_again = false;
    AUTO(err_freep) struct err *e = do_work(gc, w, &is_again);

    if (e)
        LOG(WARN, "garbage collection failed, will be tried again", S("work", w->id), E(e));
    if (e || is_again)
        gc_enqueue(gc, w->type, w->kind, w->ns, w->name);
    work_free(w);
    return !e;
}

static void gc_on_work(void *arg)
{
    struct gc *gc = arg;
    bool is_well = true;

    if (!gc->is_loaded)
        return;
    for (int i = 0; i < WORK_PER_TURN && gc->work_list && is_well; i++)
        is_well = work_turn(gc, work_next(gc));
    if (gc->work_list)
        loop_timer_set(gc->work_timer, is_well ? 0 : retry_ns);
}

static bool bytes_have(const struct store_object *o, const char *text)
{
    return memmem(o->bytes.at, o->bytes.size, text, strlen(text)) != NULL;
}

static void gc_on_put(struct gc *gc, const struct kind *k, const struct store_object *o)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(k->plural, "nodes"))
        gc_node_seen(gc, o->key.name, true);
    if (!bytes_have(o, "\"ownerReferences\"") && !bytes_have(o, "\"deletionTimestamp\"")) {
        gc_index_remove(gc, o); /* may have had owners before */
        return;
    }
    e = objects_decode_metadata(gc->options.objects, o, &object);
    if (e) {
        LOG(ERROR, "stored object cannot be read", S("name", o->key.name), E(e));
        return;
    }
    gc_index_put(gc, k, o, object);
    if (json_at(object, "metadata", "ownerReferences", NULL))
        gc_enqueue(gc, WORK_DEPENDENT, k, o->key.ns, o->key.name);
    if (!json_at(object, "metadata", "deletionTimestamp", NULL))
        return;
    if (json_at(object, "metadata", "finalizers", NULL))
        gc_enqueue(gc, WORK_OWNER, k, o->key.ns, o->key.name);
    if (text_equal(k->plural, "namespaces"))
        gc_enqueue(gc, WORK_NAMESPACE, k, "", o->key.name);
    if (text_equal(k->plural, DEFINITION_PLURAL))
        gc_enqueue(gc, WORK_DEFINITION, k, "", o->key.name);
}

/* Looks at the definition of a removed custom object: its deletion may wait for the object. */
static void gc_wake_definition(struct gc *gc, const struct kind *k)
{
    AUTO_FREE char *name = mem_format("%s.%s", k->plural, k->group);

    if (k->is_custom)
        gc_enqueue(gc, WORK_DEFINITION, kind_find(DEFINITION_GROUP, DEFINITION_PLURAL), "", name);
}

static void gc_on_removed(struct gc *gc, const struct kind *k, const struct store_object *o)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = objects_decode_metadata(gc->options.objects, o, &object);

    gc_index_remove(gc, o);
    if (e)
        return;
    if (gc->owners)
        gc_wake_dependents(gc, json_text_at(object, "metadata", "uid", NULL));
    if (text_equal(k->plural, "nodes"))
        gc_node_seen(gc, o->key.name, false);
    gc_wake_definition(gc, k);
    if (text_equal(k->plural, DEFINITION_PLURAL))
        gc_enqueue(gc, WORK_NAMES, k, "", "");
    if (k->is_namespaced)
        gc_enqueue(gc, WORK_NAMESPACE, kind_find("", "namespaces"), "", o->key.ns);
}

/* Also called for each object that was present at the start. */
static void on_object(struct gc *gc, const struct store_object *o, bool is_removed)
{
    const struct kind *k = kind_find(o->key.group, o->key.resource);

    if (!k)
        return; /* internal */
    if (is_removed)
        gc_on_removed(gc, k, o);
    else
        gc_on_put(gc, k, o);
}

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    (void)revision;
    if (change)
        on_object(arg, change->object, change->type == STORE_DELETED);
}

/* An object that has changed since the list comes by the watch. */
static void load_object(struct gc *gc, const struct store_object *o)
{
    if (store_get(gc->store, o->key) == o)
        on_object(gc, o, false);
}

static void gc_on_load(void *arg)
{
    struct gc *gc = arg;

    for (int i = 0; i < LOADS_PER_TURN && gc->next_initial < gc->initial.n; i++)
        load_object(gc, gc->initial.at[gc->next_initial++]);
    if (gc->next_initial < gc->initial.n) {
        loop_timer_set(gc->load_timer, 0);
        return;
    }
    store_list_done(&gc->initial);
    gc->is_loaded = true;
    loop_timer_set(gc->work_timer, 0);
}

static struct err *gc_watch_all(struct gc *gc)
{
    struct store_range everything = {0};

    TRY(store_list(gc->store, &everything, NULL, NULL, 0, 0, &gc->initial));
    loop_timer_set(gc->load_timer, 0);
    return store_watch_new(gc->store, &everything, gc->initial.revision, on_change, gc, &gc->watch);
}

static void on_anew(void *arg)
{
    const struct store_range everything = {0};
    struct gc *gc = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (gc->initial.n > 0) { /* another reading is in progress */
        loop_timer_set(gc->anew_timer, retry_ns);
        return;
    }
    e = store_list(gc->store, &everything, NULL, NULL, 0, 0, &gc->initial);
    if (e) {
        LOG(WARN, "objects cannot be listed for garbage collection, will be tried again", E(e));
        loop_timer_set(gc->anew_timer, retry_ns);
        return;
    }
    gc->next_initial = 0;
    loop_timer_set(gc->load_timer, 0);
}

struct err *gc_new(const struct gc_options *o, struct gc **ret)
{
    struct gc *gc = mem_alloc(sizeof(*gc));
    struct err *e;

    gc->options = *o;
    if (gc->options.event_ttl_ns == 0)
        gc->options.event_ttl_ns = 3600 * NS_PER_SEC;
    if (gc->options.node_gone_ns == 0)
        gc->options.node_gone_ns = 40 * NS_PER_SEC;
    if (gc->options.check_ns == 0)
        gc->options.check_ns = 30 * NS_PER_SEC;
    gc->store = objects_store(o->objects);
    gc->who = (struct kind_context){
        .user = "system:garbage-collector", .is_system = true, .is_admin = true, .host_uid = -1};
    gc->work_timer = loop_timer_new(o->loop, gc_on_work, gc);
    gc->load_timer = loop_timer_new(o->loop, gc_on_load, gc);
    gc->anew_timer = loop_timer_new(o->loop, on_anew, gc);
    gc->writes = writes_new(gc);
    gc_sweeps_start(gc);
    e = gc_watch_all(gc);
    if (e) {
        gc_free(gc);
        return e;
    }
    *ret = gc;
    return NULL;
}

void gc_free(struct gc *gc)
{
    struct work *w;

    if (!gc)
        return;
    store_watch_free(gc->watch);
    gc_sweeps_done(gc);
    gc_index_done(gc);
    while ((w = work_next(gc)))
        work_free(w);
    loop_timer_free(gc->work_timer);
    loop_timer_free(gc->load_timer);
    store_list_done(&gc->initial);
    loop_timer_free(gc->anew_timer);
    writes_free(gc->writes);
    free(gc);
}
