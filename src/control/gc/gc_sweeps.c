/* gc_sweeps.c - work by time: old events, pods of missing nodes, the check of the ledger */
#include "base/log.h"
#include "base/stamp.h"
#include "control/gc/gc_private.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    PODS_PER_TURN = 256,
    EVENTS_PER_TURN = 500
};

static int64_t stamp_at(const json_t *object, const char *key)
{
    return stamp_or(json_text(object, key), 0);
}

/* The newest timestamp of an Event. */
static int64_t event_time(const json_t *event)
{
    const int64_t stamps[] = {
        stamp_at(event, "lastTimestamp"),
        stamp_at(event, "eventTime"),
        stamp_at(event, "firstTimestamp"),
        stamp_at(json_object_get(event, "series"), "lastObservedTime"),
        stamp_at(json_object_get(event, "metadata"), "creationTimestamp"),
    };
    int64_t newest = 0;

    for (size_t i = 0; i < COUNT(stamps); i++)
        newest = stamps[i] > newest ? stamps[i] : newest;
    return newest;
}

static struct err *sweep_event(struct gc *gc, const struct kind *k, const struct store_object *o)
{
    AUTO(json_freep) json_t *event = NULL;

    TRY(objects_decode(o, &event));
    if (event_time(event) + gc->options.event_ttl_ns > loop_wall_ns(gc->options.loop))
        return NULL;
    return gc_delete(gc, k, event, "Background");
}

/* Deletes the old events of one page; `*ret_has_more`: the next page follows. */
static struct err *sweep_events(struct gc *gc, bool *ret_has_more)
{
    const struct kind *k = kind_find("", "events");
    struct store_range range = {.group = "", .resource = "events"};
    struct store_list list = {0};
    struct err *e = NULL;

    TRY(store_list(gc->store, &range, gc->event_ns, gc->event_name, EVENTS_PER_TURN, 0, &list));
    for (size_t i = 0; i < list.n && !e; i++)
        e = sweep_event(gc, k, list.at[i]);
    *ret_has_more = list.has_more;
    free(gc->event_ns);
    free(gc->event_name);
    gc->event_ns = NULL;
    gc->event_name = NULL;
    if (list.has_more) {
        gc->event_ns = mem_strdup(list.at[list.n - 1]->key.ns);
        gc->event_name = mem_strdup(list.at[list.n - 1]->key.name);
    }
    store_list_done(&list);
    return e;
}

static int64_t event_sweep_ns(const struct gc *gc)
{
    int64_t tenth = gc->options.event_ttl_ns / 10;

    if (tenth < NS_PER_SEC)
        return NS_PER_SEC;
    return tenth < 60 * NS_PER_SEC ? tenth : 60 * NS_PER_SEC;
}

static void gc_sweeps_on_events(void *arg)
{
    struct gc *gc = arg;
    bool has_more = false;
    AUTO(err_freep) struct err *e = sweep_events(gc, &has_more);

    if (e)
        LOG(WARN, "old events cannot be deleted, will be tried again", E(e));
    loop_timer_set(gc->event_timer, has_more && !e ? 0 : event_sweep_ns(gc));
}

static struct missing_node *missing_find(struct gc *gc, const char *name)
{
    struct missing_node *m = NULL;

    map_find_text(handle, gc->missing, name, m);
    return m;
}

static void missing_free(struct gc *gc, struct missing_node *m)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, gc->missing, m);
    free(m->name);
    free(m);
}

/* Time until the longest missing node counts as gone; -1: none is missing. */
static int64_t missing_left_ns(const struct gc *gc)
{
    int64_t now_ns = loop_now_ns(gc->options.loop);
    int64_t least_ns = -1;

    for (const struct missing_node *m = gc->missing; m; m = m->handle.next) {
        int64_t left_ns = m->since_ns + gc->options.node_gone_ns - now_ns;

        left_ns = left_ns > 0 ? left_ns : 0;
        if (least_ns < 0 || left_ns < least_ns)
            least_ns = left_ns;
    }
    return least_ns;
}

void gc_node_seen(struct gc *gc, const char *name, bool is_there)
{
    struct missing_node *m = missing_find(gc, name);

    if (is_there) {
        if (m)
            missing_free(gc, m);
        return;
    }
    if (m)
        return;
    m = mem_alloc(sizeof(*m));
    m->name = mem_strdup(name);
    m->since_ns = loop_now_ns(gc->options.loop);
    map_add(handle, gc->missing, m->name, strlen(m->name), m);
    if (!gc->is_sweeping) /* else the sweep sets the timer for its next turn */
        loop_timer_set(gc->missing_timer, missing_left_ns(gc));
}

/* The end of the pod can no longer be known: the pod fails, and its record stays. */
static struct err *lost_pod_fail(struct gc *gc, const struct kind *pods, const json_t *pod)
{
    AUTO_FREE char *message = mem_format("node %s was removed", pod_node(pod));

    LOG(WARN, "pod lost with its node",
        S("namespace", json_text_at(pod, "metadata", "namespace", NULL)),
        S("pod", json_text_at(pod, "metadata", "name", NULL)), S("node", pod_node(pod)));
    return gc_patch(gc, pods, "status", pod,
                    json_pack("{s:{s:s, s:s, s:s}}", "status", "phase", "Failed", "reason",
                              "NodeLost", "message", message));
}

/* The pod was being deleted, and only its node would have removed it. */
static struct err *lost_pod_remove(struct gc *gc, const struct kind *pods, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct objects_request r =
        gc_request(gc, pods, json_text(metadata, "namespace"), json_text(metadata, "name"));
    struct delete_options options = {.grace_seconds = 0, .if_uid = json_text(metadata, "uid")};
    AUTO(json_freep) json_t *result = NULL;
    struct cluster_answer a = gc_answer(gc);
    bool is_gone = false;

    return writes_end(
        a, objects_delete(gc->options.objects, &r, &options, a.done, a.arg, &result, &is_gone));
}

static bool is_lost(struct gc *gc, const char *node)
{
    const struct missing_node *m = missing_find(gc, node);
    int64_t now_ns = loop_now_ns(gc->options.loop);

    if (store_get(gc->store, objects_key(kind_find("", "nodes"), "", node)))
        return false;
    if (m)
        return now_ns - m->since_ns >= gc->options.node_gone_ns;
    gc_node_seen(gc, node, false);
    return false;
}

/* Is the end of the pod known, with nothing but foreign finalizers to keep the pod? */
static bool is_settled(const json_t *pod)
{
    return pod_is_terminal(pod) &&
           (!pod_is_deleting(pod) ||
            json_array_size(json_at(pod, "metadata", "finalizers", NULL)) > 0);
}

/* `*ret_is_lost`: the pod was marked and needs another look. */
static struct err *sweep_pod(struct gc *gc, const struct kind *pods, const struct store_object *o,
                             bool *ret_is_lost)
{
    AUTO(json_freep) json_t *pod = NULL;

    if (!memmem(o->bytes.at, o->bytes.size, "\"nodeName\"", 10))
        return NULL;
    TRY(objects_decode(o, &pod));
    if (!*pod_node(pod) || is_settled(pod) || !is_lost(gc, pod_node(pod)))
        return NULL;
    *ret_is_lost = true;
    if (!pod_is_terminal(pod))
        TRY(lost_pod_fail(gc, pods, pod));
    return pod_is_deleting(pod) ? lost_pod_remove(gc, pods, pod) : NULL;
}

static struct err *sweep_begin(struct gc *gc)
{
    const struct store_range range = {.group = "", .resource = "pods"};

    TRY(store_list(gc->store, &range, NULL, NULL, 0, 0, &gc->swept));
    gc->is_sweeping = true;
    gc->has_lost = false;
    gc->next_swept = 0;
    return NULL;
}

static void sweep_end(struct gc *gc)
{
    store_list_done(&gc->swept);
    gc->is_sweeping = false;
}

/* One turn of the sweep. */
static struct err *sweep_pods(struct gc *gc)
{
    const struct kind *pods = kind_find("", "pods");
    struct err *e = NULL;

    for (int i = 0; i < PODS_PER_TURN && gc->next_swept < gc->swept.n && !e; i++) {
        e = sweep_pod(gc, pods, gc->swept.at[gc->next_swept++], &gc->has_lost);
        if (e && (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT)) {
            err_free(e); /* the pod was deleted or replaced since the list */
            e = NULL;
        }
    }
    return e;
}

/* Nodes whose time is over have no live pods any more; the others stay for a later sweep. */
static void forget_lost(struct gc *gc)
{
    int64_t now_ns = loop_now_ns(gc->options.loop);
    struct missing_node *m;
    struct missing_node *tmp;

    map_each (handle, gc->missing, m, tmp) {
        if (now_ns - m->since_ns >= gc->options.node_gone_ns)
            missing_free(gc, m);
    }
    if (gc->missing)
        loop_timer_set(gc->missing_timer, missing_left_ns(gc));
}

static void on_missing(void *arg)
{
    struct gc *gc = arg;
    AUTO(err_freep) struct err *e = gc->is_sweeping ? NULL : sweep_begin(gc);

    if (!e)
        e = sweep_pods(gc);
    if (!e && gc->next_swept < gc->swept.n) {
        loop_timer_set(gc->missing_timer, 0);
        return;
    }
    sweep_end(gc);
    if (e)
        LOG(WARN, "pods of missing nodes cannot be failed, will be tried again", E(e));
    if (e || gc->has_lost)
        loop_timer_set(gc->missing_timer, NS_PER_SEC);
    else
        forget_lost(gc);
}

static void on_check(void *arg)
{
    struct gc *gc = arg;
    AUTO(err_freep) struct err *e = ledger_check(gc->store);

    if (e)
        LOG(ERROR, "the gpu ledger is wrong, nothing is placed", E(e));
    if (gc->options.on_ledger)
        gc->options.on_ledger(gc->options.arg, e);
    loop_timer_set(gc->check_timer, gc->options.check_ns);
}

void gc_sweeps_start(struct gc *gc)
{
    gc->event_timer = loop_timer_new(gc->options.loop, gc_sweeps_on_events, gc);
    gc->missing_timer = loop_timer_new(gc->options.loop, on_missing, gc);
    gc->check_timer = loop_timer_new(gc->options.loop, on_check, gc);
    loop_timer_set(gc->event_timer, event_sweep_ns(gc));
    loop_timer_set(gc->missing_timer, 0); /* pods may have lost their node while no server ran */
    loop_timer_set(gc->check_timer, gc->options.check_ns);
}

void gc_sweeps_done(struct gc *gc)
{
    struct missing_node *m;
    struct missing_node *tmp;

    map_each (handle, gc->missing, m, tmp)
        missing_free(gc, m);
    sweep_end(gc);
    free(gc->event_ns);
    free(gc->event_name);
    loop_timer_free(gc->event_timer);
    loop_timer_free(gc->missing_timer);
    loop_timer_free(gc->check_timer);
}
