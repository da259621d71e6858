/* taints.c - the taint eviction controller */
#include "control/taints.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "control/writes.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/pod/toleration.h"

#define NEVER INT64_MAX
/* The longest pause between two looks at due pods: the wall clock may be set. */
#define LOOK_NS (INT64_C(30) * NS_PER_SEC)
/* A pod is evicted again if neither the answer nor the watch tells of its end for this long. */
#define ANSWER_NS (INT64_C(60) * NS_PER_SEC)

static const char reason[] = "DeletionByTaintManager";

/* A node with NoExecute taints. */
struct tainted_node {
    struct map_handle handle;
    char *name;
    json_t *taints; /* all of its taints; NULL: no NoExecute taint any more */
    bool is_new;    /* its pods are still to be looked at */
    bool is_read;   /* they are, once the pods' watch is synced */
};

/* A pod on a tainted node that ends at a time. */
struct tainted_pod {
    struct map_handle handle;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    int64_t due_ns;  /* realtime */
    bool is_sent;    /* marked for deletion, or the write is on its way */
    int64_t sent_ns; /* monotonic, of the write without an answer; 0: answered */
    struct retry retry;
};

struct taints {
    struct taints_options options;
    struct cluster_watch *nodes_watch;
    struct cluster_watch *pods_watch;
    bool is_reading; /* until the pods' watch is synced */
    struct tainted_node *nodes;
    struct tainted_pod *pods;
    struct loop_timer *timer;
    struct writes *writes;
};

static struct tainted_node *find_node(const struct taints *t, const char *name)
{
    struct tainted_node *n = NULL;

    map_find_text(handle, t->nodes, name, n);
    return n;
}

static struct tainted_pod *find_pod(const struct taints *t, const char *key)
{
    struct tainted_pod *p = NULL;

    map_find_text(handle, t->pods, key, p);
    return p;
}

static void tainted_node_free(struct taints *t, struct tainted_node *n)
{
    map_remove(handle, t->nodes, n);
    json_decref(n->taints);
    free(n->name);
    free(n);
}

static void tainted_pod_free(struct taints *t, struct tainted_pod *p)
{
    map_remove(handle, t->pods, p);
    free(p->key);
    free(p->ns);
    free(p->name);
    free(p->uid);
    free(p);
}

static bool is_no_execute(const json_t *taint)
{
    return text_equal(json_text(taint, "effect"), "NoExecute");
}

static bool has_no_execute(const json_t *taints)
{
    for (size_t i = 0; i < json_array_size(taints); i++)
        if (is_no_execute(json_array_get(taints, i)))
            return true;
    return false;
}

/* When the pod was bound to its node. */
static int64_t bound_ns(const json_t *pod)
{
    const json_t *condition = object_condition(pod, "PodScheduled");
    const char *bound = text_equal(json_text(condition, "status"), "True")
                            ? json_text(condition, "lastTransitionTime")
                            : NULL;

    return stamp_or(bound ? bound : json_text_at(pod, "metadata", "creationTimestamp", NULL), 0);
}

/* When the pod has to end; 0: at once; NEVER. */
static int64_t due_ns(const json_t *pod, const json_t *taints)
{
    int64_t due = NEVER;

    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        int64_t from = stamp_or(json_text(taint, "timeAdded"), 0);
        int64_t tolerated_ns =
            is_no_execute(taint) ? toleration_ns(pod, taint) : TOLERATED_FOR_EVER;
        int64_t end = 0;

        if (tolerated_ns == 0)
            return 0;
        if (from < bound_ns(pod))
            from = bound_ns(pod);
        if (tolerated_ns != TOLERATED_FOR_EVER && !__builtin_add_overflow(from, tolerated_ns, &end))
            due = end < due ? end : due;
    }
    return due;
}

static void pod_tell(const struct taints *t, const struct tainted_pod *p, const char *verb)
{
    AUTO_FREE char *message = mem_format("%s %s", verb, p->key);

    LOG(INFO, "pod on a tainted node", S("pod", p->key), S("does", verb));
    events_record(t->options.events, &(struct event){.kind = "Pod",
                                                     .ns = p->ns,
                                                     .name = p->name,
                                                     .uid = p->uid,
                                                     .reason = "TaintManagerEviction",
                                                     .message = message,
                                                     .component = "taint-eviction-controller"});
}

static void set_timer(struct taints *t, int64_t due)
{
    int64_t in_ns = due - loop_wall_ns(t->options.loop);

    loop_timer_set(t->timer, in_ns < 0 ? 0 : in_ns > LOOK_NS ? LOOK_NS : in_ns);
}

static void pod_try_later(struct taints *t, struct tainted_pod *p)
{
    p->is_sent = false;
    p->due_ns =
        loop_wall_ns(t->options.loop) + retry_failed(&p->retry, loop_now_ns(t->options.loop));
    loop_timer_set(t->timer, 0); /* the timer sets the next due time */
}

static bool is_gone(const struct err *e)
{
    return err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT;
}

static void taints_on_answer(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct taints *t = owner;
    struct tainted_pod *p = find_pod(t, key);

    (void)number;
    if (!p || !p->is_sent)
        return;
    p->sent_ns = 0;
    if (!e) {
        pod_tell(t, p, "Marking for deletion Pod");
        return;
    }
    if (is_gone(e)) {
        tainted_pod_free(t, p);
        return;
    }
    LOG(WARN, "eviction by a taint was taken back, will be tried again", S("pod", key), E(e));
    pod_try_later(t, p);
}

static void pod_evict(struct taints *t, struct tainted_pod *p)
{
    const struct cluster_eviction what = {.ns = p->ns,
                                          .name = p->name,
                                          .uid = p->uid,
                                          .reason = reason,
                                          .message =
                                              "Taint manager: deleting due to NoExecute taint"};
    struct cluster_answer a = writes_begin(t->writes, taints_on_answer, p->key, 0);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_evict(t->options.cluster, &what, a));

    p->is_sent = true;
    p->sent_ns = loop_now_ns(t->options.loop);
    if (!e)
        return;
    if (is_gone(e)) {
        tainted_pod_free(t, p);
        return;
    }
    LOG(WARN, "pod on a tainted node was not evicted, will be tried again", S("pod", p->key), E(e));
    pod_try_later(t, p);
}

/* The pod stays, or is gone. */
static void pod_let_be(struct taints *t, struct tainted_pod *p, bool is_there)
{
    if (!p)
        return;
    if (is_there && !p->is_sent)
        pod_tell(t, p, "Cancelling deletion of Pod");
    else if (p->sent_ns != 0)
        pod_tell(t, p, "Marking for deletion Pod"); /* the watch was before the answer */
    tainted_pod_free(t, p);
}

static struct tainted_pod *tainted_pod_new(struct taints *t, const char *key, const json_t *pod)
{
    struct tainted_pod *p = mem_alloc(sizeof(*p));
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);

    p->key = mem_strdup(key);
    p->ns = mem_strdup(json_text_at(pod, "metadata", "namespace", NULL));
    p->name = mem_strdup(json_text_at(pod, "metadata", "name", NULL));
    p->uid = mem_strdup(uid ? uid : "");
    map_add(handle, t->pods, p->key, strlen(p->key), p);
    return p;
}

static void look_at_pod(struct taints *t, const char *key, const json_t *pod)
{
    const struct tainted_node *n = find_node(t, pod_node(pod));
    struct tainted_pod *p = find_pod(t, key);
    bool is_going = pod_is_terminal(pod) || pod_is_deleting(pod);
    int64_t due = n && !is_going ? due_ns(pod, n->taints) : NEVER;

    if (p && !text_equal(p->uid, json_text_at(pod, "metadata", "uid", NULL))) {
        tainted_pod_free(t, p);
        p = NULL;
    }
    if (due == NEVER) {
        pod_let_be(t, p, !is_going);
        return;
    }
    if (!p)
        p = tainted_pod_new(t, key, pod);
    if (p->is_sent || p->retry.at_ns > loop_now_ns(t->options.loop))
        return;
    p->due_ns = due;
    loop_timer_set(t->timer, 0);
}

static void put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    struct taints *t = arg;
    AUTO_FREE char *key = NULL;

    if (!t->nodes && !t->pods)
        return;
    key = mem_format("%s/%s", ns, name);
    look_at_pod(t, key, pod);
}

static void remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct taints *t = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);

    (void)last;
    pod_let_be(t, find_pod(t, key), false);
}

static void tainted_node_set(struct taints *t, const char *name, const json_t *taints)
{
    struct tainted_node *n = find_node(t, name);

    if (!n && !taints)
        return;
    if (n && n->taints && taints && json_equal(n->taints, taints))
        return;
    if (!n) {
        n = mem_alloc(sizeof(*n));
        n->name = mem_strdup(name);
        map_add(handle, t->nodes, n->name, strlen(n->name), n);
    }
    json_decref(n->taints);
    n->taints = taints ? json_incref((json_t *)(uintptr_t)taints) : NULL;
    n->is_new = true;
    n->is_read = false;
    loop_timer_set(t->timer, 0);
}

static void put_node(void *arg, const char *ns, const char *name, const json_t *node)
{
    const json_t *taints = json_at(node, "spec", "taints", NULL);

    (void)ns;
    tainted_node_set(arg, name, has_no_execute(taints) ? taints : NULL);
}

/* gc.h decides about the pods of a deleted node. */
static void remove_node(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)ns;
    (void)last;
    tainted_node_set(arg, name, NULL);
}

/* Pods of a node that became new meanwhile may have been put before: they are read again. */
static void taints_pods_synced(void *arg)
{
    struct taints *t = arg;
    struct tainted_node *n;
    struct tainted_node *next;

    t->is_reading = false;
    map_each (handle, t->nodes, n, next) {
        n->is_new = n->is_new && !n->is_read;
        if (!n->is_new && !n->taints)
            tainted_node_free(t, n);
    }
    loop_timer_set(t->timer, 0);
}

static struct err *taints_watch_pods(struct taints *t)
{
    const struct cluster_listener pods = {put_pod, remove_pod, t, taints_pods_synced};
    struct tainted_node *n;
    struct tainted_node *next;

    cluster_unwatch(t->options.cluster, TAKE(t->pods_watch));
    map_each (handle, t->nodes, n, next) {
        n->is_read = n->is_new;
    }
    t->is_reading = true;
    return cluster_watch(t->options.cluster, "", "pods", &pods, &t->pods_watch);
}

static bool has_new_nodes(const struct taints *t)
{
    struct tainted_node *n;
    struct tainted_node *next;

    map_each (handle, t->nodes, n, next) {
        if (n->is_new)
            return true;
    }
    return false;
}

/* Pods are not kept: those of a newly tainted node are read by a new watch. */
static void read_pods_anew(struct taints *t)
{
    AUTO(err_freep) struct err *e = NULL;

    if (t->is_reading || !has_new_nodes(t))
        return;
    e = taints_watch_pods(t);
    if (!e)
        return;
    t->is_reading = false;
    LOG(WARN, "pods of tainted nodes cannot be read, will be tried again", E(e));
    loop_timer_set(t->timer, NS_PER_SEC);
}

static void taints_wake_next(struct taints *t)
{
    int64_t due = NEVER;
    bool is_waiting = false;
    struct tainted_pod *p;
    struct tainted_pod *next;

    map_each (handle, t->pods, p, next) {
        if (!p->is_sent && p->due_ns < due)
            due = p->due_ns;
        is_waiting = is_waiting || (p->is_sent && p->sent_ns != 0);
    }
    if (due != NEVER || is_waiting)
        set_timer(t, due);
}

static void pod_send_again(const struct taints *t, struct tainted_pod *p)
{
    LOG(WARN, "eviction by a taint was not answered, is tried again", S("pod", p->key));
    pod_tell(t, p, "No answer came, marking for deletion again Pod");
    p->is_sent = false;
}

static void taints_on_time(void *arg)
{
    struct taints *t = arg;
    int64_t now_ns = loop_wall_ns(t->options.loop);
    struct tainted_pod *p;
    struct tainted_pod *next;

    map_each (handle, t->pods, p, next) {
        if (p->is_sent && p->sent_ns != 0 && loop_now_ns(t->options.loop) - p->sent_ns >= ANSWER_NS)
            pod_send_again(t, p);
        if (!p->is_sent && p->due_ns <= now_ns)
            pod_evict(t, p);
    }
    loop_timer_stop(t->timer);
    taints_wake_next(t);
    read_pods_anew(t);
}

static void nodes_synced(void *arg)
{
    (void)arg; /* each node was looked at when it was put, and asked for its pods */
}

struct err *taints_new(const struct taints_options *o, struct taints **ret)
{
    struct taints *t = mem_alloc(sizeof(*t));
    const struct cluster_listener nodes = {put_node, remove_node, t, nodes_synced};
    struct err *e;

    t->options = *o;
    t->timer = loop_timer_new(o->loop, taints_on_time, t);
    t->writes = writes_new(t);
    e = cluster_watch(o->cluster, "", "nodes", &nodes, &t->nodes_watch);
    if (!e)
        e = taints_watch_pods(t);
    if (e) {
        taints_free(t);
        return err_wrap(e, "taints");
    }
    *ret = t;
    return NULL;
}

void taints_free(struct taints *t)
{
    if (!t)
        return;
    cluster_unwatch(t->options.cluster, t->nodes_watch);
    cluster_unwatch(t->options.cluster, t->pods_watch);
    while (t->nodes)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        tainted_node_free(t, t->nodes);
    while (t->pods)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
        tainted_pod_free(t, t->pods);
    loop_timer_free(t->timer);
    writes_free(t->writes);
    free(t);
}
