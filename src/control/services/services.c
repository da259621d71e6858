/* services.c - the loop that keeps slices and Endpoints: what changed, and what is written */

#include "control/services/services.h"

#include "base/log.h"
#include "base/map.h"
#include "base/stamp.h"
#include "control/services/endpoints_of.h"
#include "control/writes.h"
#include "kinds/pod/pod_view.h"

static const int64_t settle_ns = 20 * NS_PER_MS;
static const int64_t again_ns = NS_PER_SEC;

enum {
    WATCHES = 4
};

/* An object of a namespace: a Service, a pod, a slice or Endpoints. Trees are shared. */
struct kept_object {
    struct map_handle handle;
    char *name;
    json_t *tree;
    bool is_dirty; /* a Service */
};

struct service_space {
    struct map_handle handle;
    char *ns;
    struct kept_object *services;
    struct kept_object *pods; /* with an address */
    struct kept_object *slices;
    struct kept_object *endpoints;
};

struct services {
    struct services_options options;
    struct service_space *spaces;
    struct cluster_watch *watches[WATCHES];
    struct loop_timer *timer;
    bool is_timer_set;
    size_t n_synced;
    struct writes *writes;
};

/* ---- what is known ---- */

static struct service_space *space_of(struct services *s, const char *ns)
{
    struct service_space *space = NULL;

    map_find_text(handle, s->spaces, ns, space);
    if (space)
        return space;
    space = mem_alloc(sizeof(*space));
    space->ns = mem_strdup(ns);
    map_add(handle, s->spaces, space->ns, strlen(space->ns), space);
    return space;
}

static struct kept_object *kept_find(struct kept_object *map, const char *name)
{
    struct kept_object *found = NULL;

    map_find_text(handle, map, name, found);
    return found;
}

static void kept_put(struct kept_object **map, const char *name, const json_t *tree)
{
    struct kept_object *kept = kept_find(*map, name);

    if (!kept) {
        kept = mem_alloc(sizeof(*kept));
        kept->name = mem_strdup(name);
        map_add(handle, *map, kept->name, strlen(kept->name), kept);
    }
    json_decref(kept->tree);
    kept->tree = json_incref((json_t *)(uintptr_t)tree);
}

static void kept_remove(struct kept_object **map, const char *name)
{
    struct kept_object *kept = kept_find(*map, name);

    if (!kept)
        return;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, *map, kept);
    json_decref(kept->tree);
    free(kept->name);
    free(kept);
}

static void kept_clear(struct kept_object **map)
{
    struct kept_object *kept = NULL;
    struct kept_object *tmp = NULL;

    map_each (handle, *map, kept, tmp)
        kept_remove(map, kept->name);
}

static void services_wake(struct services *s, int64_t delay_ns)
{
    if (!s->is_timer_set)
        loop_timer_set(s->timer, delay_ns);
    s->is_timer_set = true;
}

static void mark(struct services *s, struct kept_object *service)
{
    if (!service)
        return;
    service->is_dirty = true;
    services_wake(s, settle_ns);
}

/* ---- matching ---- */

static bool has_selector(const json_t *service)
{
    return json_object_size(json_at(service, "spec", "selector", NULL)) > 0 &&
           !text_equal(json_text_at(service, "spec", "type", NULL), "ExternalName");
}

static bool selects(const json_t *service, const json_t *pod)
{
    const json_t *labels = json_at(pod, "metadata", "labels", NULL);
    json_t *selector = json_at(service, "spec", "selector", NULL);
    const char *key;
    json_t *value;

    json_object_foreach (selector, key, value)
        if (!text_equal(json_text(labels, key), json_string_value(value)))
            return false;
    return has_selector(service);
}

static void mark_services_of(struct services *s, struct service_space *space, const json_t *pod)
{
    struct kept_object *service = NULL;
    struct kept_object *tmp = NULL;

    map_each (handle, space->services, service, tmp)
        if (pod && !service->is_dirty && selects(service->tree, pod))
            mark(s, service);
}

/* ---- events ---- */

static void on_service(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);

    kept_put(&space->services, name, object);
    mark(s, kept_find(space->services, name));
}

/* Slices and Endpoints go with their owner. */
static void on_service_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct services *s = arg;

    (void)last;
    kept_remove(&space_of(s, ns)->services, name);
}

static bool has_address(const json_t *pod)
{
    const char *address = json_text_at(pod, "status", "podIP", NULL);

    return address && *address && !pod_is_terminal(pod);
}

static void on_pod_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);
    const struct kept_object *was = kept_find(space->pods, name);

    (void)last;
    if (!was)
        return;
    mark_services_of(s, space, was->tree);
    kept_remove(&space->pods, name);
}

static void on_pod(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct services *s = arg;
    struct service_space *space;
    const struct kept_object *was;

    if (!has_address(object)) {
        on_pod_removed(s, ns, name, object);
        return;
    }
    space = space_of(s, ns);
    was = kept_find(space->pods, name);
    mark_services_of(s, space, was ? was->tree : NULL);
    kept_put(&space->pods, name, object);
    mark_services_of(s, space, object);
}

static const char *service_of(const json_t *slice)
{
    return text_or_empty(json_text_at(slice, "metadata", "labels", SERVICE_LABEL, NULL));
}

static void on_slice(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);

    kept_put(&space->slices, name, object);
    mark(s, kept_find(space->services, service_of(object)));
}

static void on_slice_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);

    kept_remove(&space->slices, name);
    mark(s, kept_find(space->services, service_of(last)));
}

static void on_endpoints(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);

    kept_put(&space->endpoints, name, object);
    mark(s, kept_find(space->services, name));
}

static void on_endpoints_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct services *s = arg;
    struct service_space *space = space_of(s, ns);

    (void)last;
    kept_remove(&space->endpoints, name);
    mark(s, kept_find(space->services, name));
}

static void services_on_synced(void *arg)
{
    struct services *s = arg;

    s->n_synced++;
    services_wake(s, settle_ns);
}

/* ---- writes ---- */

static void services_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct services *s = owner;
    const char *slash = strchr(key, '/');
    AUTO_FREE char *ns = mem_strndup(key, slash ? (size_t)(slash - key) : 0);

    (void)number;
    if (!e || !slash)
        return;
    LOG(WARN, "endpoints of a service were taken back, will be written again", S("service", key),
        E(e));
    mark(s, kept_find(space_of(s, ns)->services, slash + 1));
}

/* The write of one object; the watch tells of it later. */
struct endpoints_write {
    struct services *services;
    const char *resource;
    const char *ns;
    const char *service;
};

/* False: to be tried again. */
static bool write_ended(const struct endpoints_write *w, struct err *e)
{
    AUTO(err_freep) struct err *mine = e;

    /* The present object is not the one that was seen, and the watch brings it; or the namespace
     * is going. */
    if (!mine || err_code(mine) == ERR_EXISTS || err_code(mine) == ERR_NOT_FOUND ||
        err_code(mine) == ERR_CONFLICT || err_code(mine) == ERR_FORBIDDEN)
        return true;
    LOG(WARN, "endpoints of a service were not written, will be tried again", S("ns", w->ns),
        S("service", w->service), S("resource", w->resource), E(mine));
    return false;
}

static struct cluster_answer write_begin(const struct endpoints_write *w)
{
    AUTO_FREE char *key = mem_format("%s/%s", w->ns, w->service);

    return writes_begin(w->services->writes, services_on_written, key, 0);
}

static bool write_create(const struct endpoints_write *w, const json_t *wanted)
{
    AUTO(json_freep) json_t *object = json_deep_copy(wanted);
    struct cluster_answer a = write_begin(w);

    return write_ended(w, writes_end(a, cluster_create(w->services->options.cluster, w->resource,
                                                       w->ns, object, a)));
}

static bool write_remove(const struct endpoints_write *w, const char *name)
{
    const struct cluster_target t = {.resource = w->resource, .ns = w->ns, .name = name};
    struct cluster_answer a = write_begin(w);

    return write_ended(w, writes_end(a, cluster_remove(w->services->options.cluster, &t, NULL, a)));
}

/* Is every member of `wanted` in `is`, with the same value? */
static bool has_all(const json_t *is, const json_t *wanted, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *a = json_object_get(is, *keys);
        const json_t *b = json_object_get(wanted, *keys);
        bool is_empty = json_array_size(a) == 0 && json_array_size(b) == 0 && json_is_array(b);

        if (!is_empty && !json_equal(a, b))
            return false;
    }
    return true;
}

/* Brings one object to its wanted state. `keys`: the members that count besides the labels. */
static bool write_wanted(const struct endpoints_write *w, const json_t *is, const json_t *wanted,
                         const char *const *keys)
{
    static const char *const labels[] = {"labels", NULL};
    const json_t *metadata = json_object_get(wanted, "metadata");
    const struct cluster_target t = {
        .resource = w->resource, .ns = w->ns, .name = json_text(metadata, "name")};
    AUTO(json_freep) json_t *patch = NULL;
    struct cluster_answer a;

    if (!is)
        return write_create(w, wanted);
    if (has_all(is, wanted, keys) && has_all(json_object_get(is, "metadata"), metadata, labels))
        return true;
    patch = json_object();
    for (; *keys; keys++)
        json_put(patch, *keys, json_deep_copy(json_object_get(wanted, *keys)));
    json_put(json_object_at(patch, "metadata"), "labels",
             json_deep_copy(json_object_get(metadata, "labels")));
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "labels"), "$patch", "replace");
    a = write_begin(w);
    return write_ended(w, writes_end(a, cluster_patch(w->services->options.cluster, &t, patch, a)));
}

/* ---- one Service ---- */

static int by_name(const void *a, const void *b)
{
    const json_t *const *x = a;
    const json_t *const *y = b;

    return strcmp(text_or_empty(json_text_at(*x, "metadata", "name", NULL)),
                  text_or_empty(json_text_at(*y, "metadata", "name", NULL)));
}

/* The matching pods, sorted; the caller frees the array. */
static const json_t **find_pods(const struct service_space *space, const json_t *service,
                                size_t *ret_n)
{
    size_t room = map_count(handle, space->pods) + 1;
    const json_t **list = mem_alloc(room * sizeof(const json_t *));
    struct kept_object *pod = NULL;
    struct kept_object *tmp = NULL;
    size_t n = 0;

    map_each (handle, space->pods, pod, tmp)
        if (selects(service, pod->tree))
            list[n++] = pod->tree;
    qsort(list, n, sizeof(*list), by_name);
    *ret_n = n;
    return list;
}

static bool is_ours(const json_t *object, const char *label)
{
    const char *manager = json_text_at(object, "metadata", "labels", label, NULL);

    return text_equal(manager, SLICE_OWNER) || text_equal(manager, SLICE_MIRROR) ||
           text_equal(manager, ENDPOINTS_OWNER);
}

static bool is_wanted(const json_t *slices, const char *name)
{
    const json_t *slice = NULL;
    size_t i = 0;

    json_array_foreach (slices, i, slice)
        if (text_equal(json_text_at(slice, "metadata", "name", NULL), name))
            return true;
    return false;
}

static bool sync_slices(const struct endpoints_write *w, struct service_space *space,
                        const json_t *wanted)
{
    static const char *const keys[] = {"endpoints", "ports", NULL};
    struct kept_object *kept = NULL;
    struct kept_object *tmp = NULL;
    const json_t *slice = NULL;
    bool is_done = true;
    size_t i = 0;

    json_array_foreach (wanted, i, slice) {
        kept = kept_find(space->slices, json_text_at(slice, "metadata", "name", NULL));
        is_done = write_wanted(w, kept ? kept->tree : NULL, slice, keys) && is_done;
    }
    map_each (handle, space->slices, kept, tmp)
        if (text_equal(service_of(kept->tree), w->service) && is_ours(kept->tree, SLICE_MANAGER) &&
            !is_wanted(wanted, kept->name))
            is_done = write_remove(w, kept->name) && is_done;
    return is_done;
}

/* False: to be tried again. */
static bool sync_service(struct services *s, struct service_space *space,
                         const struct kept_object *service)
{
    static const char *const keys[] = {"subsets", NULL};
    struct endpoints_write w = {s, "endpointslices.discovery.k8s.io", space->ns, service->name};
    const struct kept_object *old = kept_find(space->endpoints, service->name);
    AUTO(json_freep) json_t *slices = NULL;
    AUTO(json_freep) json_t *endpoints = NULL;
    AUTO_FREE const json_t **pods = NULL;
    size_t n = 0;
    bool is_done = true;

    if (!has_selector(service->tree)) {
        if (old && json_text_at(old->tree, "metadata", "labels", ENDPOINTS_SKIP_MIRROR, NULL))
            return true;
        slices = service_mirror(service->tree,
                                old && !is_ours(old->tree, ENDPOINTS_MANAGER) ? old->tree : NULL);
        return sync_slices(&w, space, slices);
    }
    pods = find_pods(space, service->tree, &n);
    slices = service_slices(service->tree, (struct service_pods){pods, n});
    is_done = sync_slices(&w, space, slices);
    endpoints = service_endpoints(service->tree, (struct service_pods){pods, n});
    w.resource = "endpoints";
    return write_wanted(&w, old ? old->tree : NULL, endpoints, keys) && is_done;
}

static void services_on_time(void *arg)
{
    struct services *s = arg;
    struct service_space *space = NULL;
    struct service_space *next_space = NULL;
    bool is_done = true;

    s->is_timer_set = false;
    if (s->n_synced < WATCHES)
        return;
    map_each (handle, s->spaces, space, next_space) {
        struct kept_object *service = NULL;
        struct kept_object *tmp = NULL;

        map_each (handle, space->services, service, tmp) {
            if (!service->is_dirty ||
                json_text_at(service->tree, "metadata", "deletionTimestamp", NULL))
                continue;
            service->is_dirty = !sync_service(s, space, service);
            is_done = is_done && !service->is_dirty;
        }
    }
    if (!is_done)
        services_wake(s, again_ns);
}

/* ---- the loop ---- */

static struct err *services_watch(struct services *s)
{
    const struct {
        const char *group;
        const char *resource;
        struct cluster_listener listener;
    } watches[WATCHES] = {
        {"", "services", {on_service, on_service_removed, s, services_on_synced}},
        {"", "pods", {on_pod, on_pod_removed, s, services_on_synced}},
        {"", "endpoints", {on_endpoints, on_endpoints_removed, s, services_on_synced}},
        {"discovery.k8s.io", "endpointslices", {on_slice, on_slice_removed, s, services_on_synced}},
    };

    for (size_t i = 0; i < WATCHES; i++)
        TRY(cluster_watch(s->options.cluster, watches[i].group, watches[i].resource,
                          &watches[i].listener, &s->watches[i]));
    return NULL;
}

struct err *services_new(const struct services_options *o, struct services **ret)
{
    struct services *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->options = *o;
    s->timer = loop_timer_new(o->loop, services_on_time, s);
    s->writes = writes_new(s);
    e = services_watch(s);
    if (e) {
        services_free(s);
        return err_wrap(e, "services");
    }
    *ret = s;
    return NULL;
}

void services_free(struct services *s)
{
    struct service_space *space = NULL;
    struct service_space *tmp = NULL;

    if (!s)
        return;
    for (size_t i = 0; i < WATCHES; i++)
        cluster_unwatch(s->options.cluster, s->watches[i]);
    loop_timer_free(s->timer);
    writes_free(s->writes);
    map_each (handle, s->spaces, space, tmp) {
        kept_clear(&space->services);
        kept_clear(&space->pods);
        kept_clear(&space->slices);
        kept_clear(&space->endpoints);
        map_remove(handle, s->spaces, space);
        free(space->ns);
        free(space);
    }
    free(s);
}
