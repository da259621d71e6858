/*
 * dra_slices.c - keeps the ResourceSlices of this node at the API server
 *
 * Requests follow one another: the version of the API, the Node, then a watch of the node's slices.
 * After that each step writes the first slice that differs from the devices.
 */

#include "kubelet/dra/dra_slices.h"

#include "base/log.h"
#include "base/retry.h"
#include "client/informer.h"
#include "kinds/kind/claim_fields.h"

/* The watch alone says what is there, so that an answer never hides a later change. A change that
 * it does not tell for so long is made again. */
#define WATCH_LATE_NS (5 * NS_PER_SEC)

struct dra_slices {
    struct dra_slices_options o;
    char *node;
    enum dra_version version;
    bool has_version;
    bool has_no_taints; /* the server drops taints */
    bool is_synced;
    char *node_uid;
    const struct dra_devices *devices; /* borrowed; NULL: not known yet */
    json_t *specs;                     /* wanted, without generations */
    int64_t generation;                /* of `specs`; 0: to be chosen */
    json_t *present;                   /* {name: slice} */
    json_t *kept;                      /* {name: [spec, as the server keeps it]} */
    struct informer *informer;
    struct client_call *call; /* under way */
    char *writing;            /* name of the slice that is written; NULL: none */
    struct retry retry;
    struct loop_timer *timer;
};

static void slices_step(struct dra_slices *s);

static void on_step(void *arg)
{
    slices_step(arg);
}

static void slices_soon(struct dra_slices *s)
{
    loop_timer_set(s->timer, 0);
}

static void slices_send(struct dra_slices *s, const char *method, const char *path,
                        const json_t *body, client_done_fn done)
{
    AUTO_FREE char *text = body ? json_format(body) : NULL;
    struct client_request r = {.method = method, .path = path, .body = str_of(text)};

    client_send(s->o.client, &r, done, s, &s->call);
}

/* Ends the request under way. The answer, or NULL after a failure, which is tried again. */
static json_t *slices_answer(struct dra_slices *s, const struct err *e,
                             const struct client_reply *reply, const char *what)
{
    AUTO(err_freep) struct err *failure = client_error(e, reply);
    json_t *answer = NULL;

    s->call = NULL;
    if (!failure)
        failure = json_parse(reply->body, &answer);
    if (!failure) {
        s->retry = (struct retry){0};
        slices_soon(s);
        return answer;
    }
    LOG(WARN, "ResourceSlices cannot be published now", S("step", what), E(failure));
    loop_timer_set(s->timer, retry_failed(&s->retry, loop_now_ns(s->o.loop)));
    return NULL;
}

/* ---- what is there ---- */

static void on_group(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_slices *s = arg;
    AUTO(json_freep) json_t *group = slices_answer(s, e, reply, "read the API's versions");

    if (!group)
        return;
    s->has_version = dra_version_choose(group, &s->version);
    if (s->has_version) {
        LOG(INFO, "API of claims", S("version", dra_version_text(s->version)));
        if (s->devices)
            dra_slices_update(s, s->devices); /* as this version has them */
        return;
    }
    LOG(WARN, "the API server has no version of resource.k8s.io that this driver knows");
    loop_timer_set(s->timer, retry_failed(&s->retry, loop_now_ns(s->o.loop)));
}

static void on_node(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_slices *s = arg;
    AUTO(json_freep) json_t *node = slices_answer(s, e, reply, "read the Node");

    if (!node)
        return;
    free(s->node_uid);
    s->node_uid = mem_strdup(text_or_empty(json_text_at(node, "metadata", "uid", NULL)));
}

static void on_slice(void *arg, const json_t *object)
{
    struct dra_slices *s = arg;
    const char *name = json_text_at(object, "metadata", "name", NULL);

    json_put(s->present, text_or_empty(name), json_incref((json_t *)(uintptr_t)object));
    slices_soon(s);
}

static void on_slice_removed(void *arg, const json_t *object)
{
    struct dra_slices *s = arg;

    (void)json_object_del(s->present,
                          text_or_empty(json_text_at(object, "metadata", "name", NULL)));
    free(TAKE(s->node_uid)); /* it may be another Node of this name */
    slices_soon(s);
}

static void on_slices_synced(void *arg)
{
    struct dra_slices *s = arg;

    s->is_synced = true;
    slices_soon(s);
}

static char *slices_path(const struct dra_slices *s, const char *name)
{
    return mem_format("/apis/resource.k8s.io/%s/resourceslices%s%s", dra_version_text(s->version),
                      name ? "/" : "", name ? name : "");
}

static void slices_watch(struct dra_slices *s)
{
    AUTO_FREE char *path = slices_path(s, NULL);
    AUTO_FREE char *query = mem_format(
        "%s?fieldSelector=spec.nodeName%%3D%s%%2Cspec.driver%%3D" CLAIM_DRIVER, path, s->node);

    s->informer = informer_new(&(struct informer_options){.client = s->o.client,
                                                          .loop = s->o.loop,
                                                          .path = query,
                                                          .put = on_slice,
                                                          .removed = on_slice_removed,
                                                          .synced = on_slices_synced,
                                                          .arg = s});
}

/* ---- writes ---- */

/* Is the present slice what the server makes of this spec? */
static bool slice_has(const struct dra_slices *s, const char *name, const json_t *spec)
{
    AUTO(json_freep) json_t *bare = dra_pool_bare_spec(json_object_get(s->present, name));
    const json_t *kept = json_object_get(s->kept, name);

    return json_equal(bare, spec) ||
           (json_equal(json_array_get(kept, 0), spec) && json_equal(json_array_get(kept, 1), bare));
}

static int64_t slice_generation(const json_t *slice)
{
    return json_int_at(slice, "spec", "pool", "generation", NULL);
}

/* Keeps the generation of slices that are right already; others get the next one. */
static void choose_generation(struct dra_slices *s)
{
    const char *name = NULL;
    json_t *slice = NULL;
    json_t *spec = NULL;
    size_t i = 0;
    int64_t newest = 0;
    bool is_right = true;

    json_object_foreach (s->present, name, slice)
        if (slice_generation(slice) > newest)
            newest = slice_generation(slice);
    json_array_foreach (s->specs, i, spec) {
        AUTO_FREE char *own = dra_pool_slice_name(s->node, i);

        is_right = is_right && slice_has(s, own, spec) &&
                   slice_generation(json_object_get(s->present, own)) == newest;
    }
    s->generation = is_right && newest > 0 ? newest : newest + 1;
}

/* Has the watch told of this state of a slice already? */
static bool is_told(const struct dra_slices *s, const char *name, const json_t *slice)
{
    return text_equal(
        json_text_at(json_object_get(s->present, name), "metadata", "resourceVersion", NULL),
        json_text_at(slice, "metadata", "resourceVersion", NULL));
}

static void on_written(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_slices *s = arg;
    AUTO_FREE char *name = TAKE(s->writing);
    AUTO(json_freep) json_t *answer = slices_answer(s, e, reply, "write a ResourceSlice");
    AUTO(json_freep) json_t *bare = answer ? dra_pool_bare_spec(answer) : NULL;
    json_t *pair = json_object_get(s->kept, name);

    if (!answer)
        return;
    if (!is_told(s, name, answer))
        loop_timer_set(s->timer, WATCH_LATE_NS);
    if (!pair) /* the wish has changed meanwhile */
        return;
    if (!s->has_no_taints && dra_pool_lost_taints(json_array_get(pair, 0), bare)) {
        LOG(INFO, "the API server keeps no taints of devices: unhealthy devices are not published");
        s->has_no_taints = true;
        dra_slices_update(s, s->devices);
        return;
    }
    (void)json_array_append(pair, bare); /* cannot fail */
}

static void slice_write(struct dra_slices *s, char *name, const json_t *spec)
{
    const json_t *present = json_object_get(s->present, name);
    AUTO(json_freep) json_t *object = json_object();
    AUTO_FREE char *path = slices_path(s, present ? name : NULL);
    AUTO_FREE char *version = mem_format("resource.k8s.io/%s", dra_version_text(s->version));
    json_t *metadata = json_object_at(object, "metadata");
    json_t *own = json_deep_copy(spec);

    s->writing = name;
    json_put_text(object, "apiVersion", version);
    json_put_text(object, "kind", "ResourceSlice");
    json_put_text(metadata, "name", name);
    if (present)
        json_put_text(metadata, "resourceVersion",
                      json_text_at(present, "metadata", "resourceVersion", NULL));
    json_put(metadata, "ownerReferences",
             json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "v1", "kind", "Node", "name",
                       s->node, "uid", s->node_uid, "controller", 1));
    json_put_int(json_object_get(own, "pool"), "generation", s->generation);
    json_put(object, "spec", own);
    json_put(s->kept, name, json_pack("[o]", json_deep_copy(spec)));
    slices_send(s, present ? "PUT" : "POST", path, object, on_written);
}

static void on_removed(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_slices *s = arg;
    AUTO_FREE char *name = TAKE(s->writing);
    AUTO(json_freep) json_t *answer = slices_answer(s, e, reply, "delete a ResourceSlice");

    if (answer && json_object_get(s->present, name))
        loop_timer_set(s->timer, WATCH_LATE_NS);
    else if (!e && reply->status == 404)
        (void)json_object_del(s->present, name);
}

/* Is the name one of the wanted slices? */
static bool is_wanted(const struct dra_slices *s, const char *name)
{
    for (size_t i = 0; i < json_array_size(s->specs); i++) {
        AUTO_FREE char *own = dra_pool_slice_name(s->node, i);

        if (text_equal(own, name))
            return true;
    }
    return false;
}

static void slices_write(struct dra_slices *s)
{
    const char *name = NULL;
    json_t *slice = NULL;
    json_t *spec = NULL;
    size_t i = 0;

    if (s->generation == 0)
        choose_generation(s);
    json_array_foreach (s->specs, i, spec) {
        char *own = dra_pool_slice_name(s->node, i);

        if (!slice_has(s, own, spec) ||
            slice_generation(json_object_get(s->present, own)) != s->generation) {
            slice_write(s, own, spec);
            return;
        }
        free(own);
    }
    json_object_foreach (s->present, name, slice) {
        AUTO_FREE char *path = slices_path(s, name);

        if (is_wanted(s, name))
            continue;
        s->writing = mem_strdup(name);
        slices_send(s, "DELETE", path, NULL, on_removed);
        return;
    }
}

static void slices_step(struct dra_slices *s)
{
    AUTO_FREE char *node_path = mem_format("/api/v1/nodes/%s", s->node);

    if (s->call)
        return;
    if (!s->has_version)
        slices_send(s, "GET", "/apis/resource.k8s.io", NULL, on_group);
    else if (!s->node_uid)
        slices_send(s, "GET", node_path, NULL, on_node);
    else if (!s->informer)
        slices_watch(s);
    else if (s->is_synced && s->devices)
        slices_write(s);
}

/* ---- outside ---- */

void dra_slices_update(struct dra_slices *s, const struct dra_devices *d)
{
    json_t *specs = dra_pool_specs(s->node, d, s->version, !s->has_no_taints);

    s->devices = d;
    if (s->specs && json_equal(s->specs, specs)) {
        json_decref(specs);
        return;
    }
    json_decref(s->specs);
    s->specs = specs;
    s->generation = 0;
    json_object_clear(s->kept);
    slices_soon(s);
}

bool dra_slices_version(const struct dra_slices *s, enum dra_version *ret)
{
    *ret = s->version;
    return s->has_version;
}

struct dra_slices *dra_slices_new(const struct dra_slices_options *o)
{
    struct dra_slices *s = mem_alloc(sizeof(*s));

    *s = (struct dra_slices){
        .o = *o, .node = mem_strdup(o->node), .present = json_object(), .kept = json_object()};
    s->timer = loop_timer_new(o->loop, on_step, s);
    slices_soon(s);
    return s;
}

void dra_slices_free(struct dra_slices *s)
{
    if (!s)
        return;
    if (s->call)
        client_cancel(s->call);
    informer_free(s->informer);
    loop_timer_free(s->timer);
    json_decref(s->specs);
    json_decref(s->present);
    json_decref(s->kept);
    free(s->node);
    free(s->node_uid);
    free(s->writing);
    free(s);
}
