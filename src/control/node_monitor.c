/* node_monitor.c - the leases of nodes, and the taints that follow from them */

#include "control/node_monitor.h"

#include "base/log.h"
#include "base/map.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/writes.h"
#include "kinds/node_lease.h"
#include "kinds/pod/pod_state.h"

struct watched_node {
    struct map_handle handle;
    char *name;
    char *renewed;   /* renewTime of its Lease; "" before the first */
    int64_t seen_ns; /* arrival of the latest renewal; monotonic */
    bool is_dirty;   /* in node_monitor.dirty */
    bool is_told;    /* Ready is Unknown */
    bool is_fenced;  /* ends its pods itself, without its lease */
    bool is_over;    /* the time of the fence has passed */
    bool is_ready;
};

struct node_monitor {
    struct node_monitor_options options;
    struct store *store;
    const struct kind *kind;
    struct kind_context who;
    struct store_watch *watch;
    struct store_watch *lease_watch;
    struct watched_node *nodes;
    VEC(struct watched_node *) dirty; /* to be looked at */
    size_t n_ready;
    int64_t scan_at_ns; /* time when the next node may be silent for too long; monotonic */
    struct loop_timer *timer;
    struct writes *writes;
};

static const int64_t retry_ns = NS_PER_SEC;

static const char taint_unreachable[] = TAINT_UNREACHABLE;
static const int64_t fence_ns = (NODE_FENCE_STOP_S + NODE_FENCE_MARGIN_S) * NS_PER_SEC;
static const char taint_not_ready[] = "node.kubernetes.io/not-ready";
static const char taint_unschedulable[] = "node.kubernetes.io/unschedulable";

static void node_mark(struct node_monitor *m, struct watched_node *n)
{
    if (!n->is_dirty)
        vec_add(&m->dirty, n);
    n->is_dirty = true;
}

/* If the first node becomes ready, or the last is no longer, the taints of all nodes change. */
static void node_set_ready(struct node_monitor *m, struct watched_node *n, bool is_ready)
{
    size_t was = m->n_ready;

    if (n->is_ready == is_ready)
        return;
    n->is_ready = is_ready;
    m->n_ready += is_ready ? 1 : (size_t)-1;
    if (was > 0 && m->n_ready > 0)
        return;
    for (struct watched_node *each = m->nodes; each; each = each->handle.next)
        node_mark(m, each);
}

static void node_free(struct node_monitor *m, struct watched_node *n)
{
    for (size_t i = 0; n->is_dirty && i < m->dirty.n; i++) {
        if (m->dirty.at[i] != n)
            continue;
        vec_remove(&m->dirty, i);
        break;
    }
    map_remove(handle, m->nodes, n);
    free(n->name);
    free(n->renewed);
    free(n);
}

static struct watched_node *node_find(struct node_monitor *m, const char *name)
{
    struct watched_node *n = NULL;

    map_find_text(handle, m->nodes, name, n);
    return n;
}

static struct watched_node *node_make(struct node_monitor *m, const char *name)
{
    struct watched_node *n = node_find(m, name);

    if (n)
        return n;
    n = mem_alloc(sizeof(*n));
    n->name = mem_strdup(name);
    n->renewed = mem_strdup("");
    n->seen_ns = loop_now_ns(m->options.loop);
    map_add(handle, m->nodes, n->name, strlen(n->name), n);
    return n;
}

static const char *ready_text(const json_t *node, const char *key)
{
    const char *text = json_text(object_condition(node, "Ready"), key);

    return text ? text : "";
}

static void node_monitor_on_node(struct node_monitor *m, const struct store_object *o)
{
    struct watched_node *n = node_make(m, o->key.name);
    AUTO(json_freep) json_t *node = NULL;
    AUTO(err_freep) struct err *e = objects_decode(o, &node);

    if (e) {
        LOG(ERROR, "stored node cannot be read", S("node", o->key.name), E(e));
        return;
    }
    node_set_ready(m, n, text_equal(ready_text(node, "status"), "True"));
    n->is_fenced =
        text_equal(json_text_at(node, "metadata", "annotations", NODE_FENCED, NULL), "true");
    node_mark(m, n);
    loop_timer_set(m->timer, 0);
}

static void node_monitor_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct node_monitor *m = arg;
    struct watched_node *n;

    (void)revision;
    if (!change)
        return;
    if (change->type != STORE_DELETED) {
        node_monitor_on_node(m, change->object);
        return;
    }
    n = node_find(m, change->object->key.name);
    if (!n)
        return;
    node_set_ready(m, n, false);
    node_free(m, n);
    loop_timer_set(m->timer, 0);
}

/*
 * Only a changed renewTime counts: the same time in another client's write is no sign of life. A
 * Lease without its Node, which the garbage collector deletes, is nothing.
 */
static void node_monitor_on_lease(struct node_monitor *m, const struct store_object *o)
{
    struct watched_node *n = node_find(m, o->key.name);
    AUTO(json_freep) json_t *lease = NULL;
    AUTO(err_freep) struct err *e = n ? objects_decode(o, &lease) : NULL;
    const char *renewed = json_text_at(lease, "spec", "renewTime", NULL);

    if (e)
        LOG(ERROR, "stored lease cannot be read", S("node", o->key.name), E(e));
    if (!renewed || text_equal(renewed, n->renewed))
        return;
    free(n->renewed);
    n->renewed = mem_strdup(renewed);
    n->seen_ns = loop_now_ns(m->options.loop);
    n->is_told = false;
    n->is_over = false;
}

static void node_monitor_on_lease_change(void *arg, const struct store_change *change,
                                         int64_t revision)
{
    (void)revision;
    if (change && change->type != STORE_DELETED)
        node_monitor_on_lease(arg, change->object);
}

static void node_monitor_on_written(void *owner, const char *name, uint64_t number,
                                    const struct err *e)
{
    struct node_monitor *m = owner;
    struct watched_node *n = e ? node_find(m, name) : NULL;

    (void)number;
    if (!n)
        return;
    LOG(WARN, "condition or taint of a node was taken back, will be tried again", S("node", name),
        E(e));
    node_mark(m, n);
    loop_timer_set(m->timer, retry_ns);
}

/*
 * Merges `patch` (consumed) into this version only: an earlier change of the node comes as an event
 * of its own.
 */
static struct err *patch_node(struct node_monitor *m, const json_t *node, const char *sub,
                              json_t *patch)
{
    AUTO(json_freep) json_t *mine = patch;
    AUTO(json_freep) json_t *result = NULL;
    struct objects_request r = {.kind = m->kind,
                                .ns = "",
                                .name = json_text_at(node, "metadata", "name", NULL),
                                .subresource = sub,
                                .who = m->who,
                                .validation = VALIDATION_IGNORE};
    struct cluster_answer a = writes_begin(m->writes, node_monitor_on_written, r.name, 0);
    struct err *e;

    json_put_text(json_object_at(mine, "metadata"), "resourceVersion",
                  json_text_at(node, "metadata", "resourceVersion", NULL));
    e = writes_end(
        a, objects_patch(m->options.objects, &r, PATCH_MERGE, mine, a.done, a.arg, &result));
    if (e && (err_code(e) == ERR_CONFLICT || err_code(e) == ERR_NOT_FOUND)) {
        err_free(e);
        return NULL;
    }
    return e;
}

static bool is_silent(const struct node_monitor *m, const struct watched_node *n)
{
    return loop_now_ns(m->options.loop) - n->seen_ns >= m->options.node_grace_ns;
}

/* Have the pods of a silent node that does not tolerate it surely ended? A node without a fence
 * says nothing of its pods: its evictions may begin at once, and are not over before its word. */
static bool is_over(const struct node_monitor *m, const struct watched_node *n)
{
    int64_t silent_ns = loop_now_ns(m->options.loop) - n->seen_ns;

    return silent_ns >= m->options.node_grace_ns + (n->is_fenced ? fence_ns : 0);
}

static struct err *tell_unknown(struct node_monitor *m, const struct watched_node *n,
                                const json_t *node)
{
    AUTO(json_freep) json_t *copy = json_deep_copy(node);
    json_t *patch = json_object();
    char age[STAMP_TEXT_SIZE];
    AUTO_FREE char *message = NULL;

    stamp_format_age(m->options.node_grace_ns, age);
    message = mem_format("the node has not renewed its lease for %s", age);
    (void)object_set_condition(copy, "Ready", "Unknown", "NodeStatusUnknown", message,
                               loop_wall_ns(m->options.loop));
    json_put(json_object_at(patch, "status"), "conditions",
             json_incref(json_at(copy, "status", "conditions", NULL)));
    TRY(patch_node(m, node, "status", patch));
    LOG(WARN, "node is silent", S("node", n->name));
    return NULL;
}

static bool is_ours(const json_t *taint)
{
    const char *key = json_text(taint, "key");

    return text_equal(key, taint_unreachable) || text_equal(key, taint_not_ready) ||
           text_equal(key, taint_unschedulable);
}

static json_t *find_taint(const json_t *taints, const char *key, const char *effect)
{
    for (size_t i = 0; i < json_array_size(taints); i++) {
        json_t *taint = json_array_get(taints, i);

        if (text_equal(json_text(taint, "key"), key) &&
            text_equal(json_text(taint, "effect"), effect))
            return taint;
    }
    return NULL;
}

/* Adds the old taint if there is one, since it has timeAdded. */
static void add_taint(json_t *taints, const json_t *old, const char *key, const char *effect)
{
    json_t *taint = find_taint(old, key, effect);

    if (taint)
        (void)json_array_append(taints, taint); /* a valid item: cannot fail */
    else
        /* A new object and constant texts: cannot fail. */
        (void)json_array_append_new(taints, json_pack("{s:s, s:s}", "key", key, "effect", effect));
}

/* Without any ready node, pods have nowhere to go: they are not ended. */
static void add_not_ready(const struct node_monitor *m, json_t *taints, const json_t *old,
                          const char *key, bool may_evict)
{
    add_taint(taints, old, key, "NoSchedule");
    if (m->n_ready > 0 && may_evict)
        add_taint(taints, old, key, "NoExecute");
}

/* The taints of others in their order, then ours. */
static json_t *wanted_taints(const struct node_monitor *m, const struct watched_node *n,
                             const json_t *node)
{
    const json_t *taints = json_at(node, "spec", "taints", NULL);
    const char *ready = ready_text(node, "status");
    json_t *wanted = json_array();

    for (size_t i = 0; i < json_array_size(taints); i++) {
        if (!is_ours(json_array_get(taints, i)))
            (void)json_array_append(wanted, json_array_get(taints, i)); /* as above */
    }
    if (text_equal(ready, "Unknown"))
        add_not_ready(m, wanted, taints, taint_unreachable,
                      n->is_over || find_taint(taints, taint_unreachable, "NoExecute"));
    else if (!text_equal(ready, "True"))
        add_not_ready(m, wanted, taints, taint_not_ready, true);
    if (json_bool_at(node, "spec", "unschedulable", NULL))
        add_taint(wanted, taints, taint_unschedulable, "NoSchedule");
    return wanted;
}

/* Are the keys and effects equal? Order, values and timeAdded do not matter. */
static bool same_taints(const json_t *a, const json_t *b)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *taint = json_array_get(a, i);

        if (!find_taint(b, json_text(taint, "key"), json_text(taint, "effect")))
            return false;
    }
    return true;
}

static struct err *node_set_taints(struct node_monitor *m, const struct watched_node *n,
                                   const json_t *node)
{
    AUTO(json_freep) json_t *wanted = wanted_taints(m, n, node);
    json_t *patch;

    if (same_taints(wanted, json_at(node, "spec", "taints", NULL)))
        return NULL;
    patch = json_object();
    json_put(json_object_at(patch, "spec"), "taints", json_incref(wanted));
    return patch_node(m, node, NULL, patch);
}

static struct err *node_look_at(struct node_monitor *m, struct watched_node *n)
{
    const struct store_object *o = store_get(m->store, objects_key(m->kind, "", n->name));
    AUTO(json_freep) json_t *node = NULL;

    if (!o)
        return NULL;
    TRY(objects_decode(o, &node));
    /* The taints follow after this write: its event wakes us again and carries the new version. */
    if (is_silent(m, n) && !text_equal(ready_text(node, "status"), "Unknown"))
        return tell_unknown(m, n, node);
    n->is_told = is_silent(m, n);
    n->is_over = is_over(m, n);
    return node_set_taints(m, n, node);
}

/*
 * Marks the nodes that became silent. Runs once in the time that the next node needs to become
 * silent, not with every renewal, which only moves a node's time.
 */
static void node_scan(struct node_monitor *m, int64_t now_ns)
{
    m->scan_at_ns = now_ns + m->options.node_grace_ns;
    for (struct watched_node *n = m->nodes; n; n = n->handle.next) {
        int64_t at_ns =
            n->seen_ns + m->options.node_grace_ns + (n->is_told && n->is_fenced ? fence_ns : 0);

        if (at_ns > now_ns)
            m->scan_at_ns = at_ns < m->scan_at_ns ? at_ns : m->scan_at_ns;
        else if (!n->is_told || !n->is_over)
            node_mark(m, n);
    }
}

/* False: to be retried. */
static bool look_at_marked(struct node_monitor *m, struct watched_node *n)
{
    AUTO(err_freep) struct err *e = node_look_at(m, n);

    if (e)
        LOG(WARN, "condition or taint of a node was not written, will be tried again",
            S("node", n->name), E(e));
    return !e;
}

static void node_monitor_on_time(void *arg)
{
    struct node_monitor *m = arg;
    int64_t now_ns = loop_now_ns(m->options.loop);
    size_t n_left = 0;

    if (now_ns >= m->scan_at_ns)
        node_scan(m, now_ns);
    for (size_t i = 0; i < m->dirty.n; i++) {
        struct watched_node *n = m->dirty.at[i];

        n->is_dirty = !look_at_marked(m, n);
        if (n->is_dirty)
            m->dirty.at[n_left++] = n;
    }
    m->dirty.n = n_left;
    if (n_left > 0 && m->scan_at_ns > now_ns + retry_ns)
        loop_timer_set(m->timer, retry_ns);
    else
        loop_timer_set(m->timer, m->scan_at_ns - now_ns);
}

/* Calls `put` for each object of the range, then `changed` for each change. */
static struct err *watch_range(struct node_monitor *m, const struct store_range *range,
                               void (*put)(struct node_monitor *m, const struct store_object *o),
                               store_watch_fn changed, struct store_watch **ret)
{
    struct store_list list = {0};

    TRY(store_list(m->store, range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        put(m, list.at[i]);
    store_list_done(&list);
    return store_watch_new(m->store, range, list.revision, changed, m, ret);
}

static struct err *watch_all(struct node_monitor *m)
{
    const struct store_range nodes = {.group = "", .resource = "nodes"};
    const struct store_range leases = {
        .group = "coordination.k8s.io", .resource = "leases", .ns = NODE_LEASE_NAMESPACE};

    TRY(watch_range(m, &nodes, node_monitor_on_node, node_monitor_on_change, &m->watch));
    return watch_range(m, &leases, node_monitor_on_lease, node_monitor_on_lease_change,
                       &m->lease_watch);
}

struct err *node_monitor_new(const struct node_monitor_options *o, struct node_monitor **ret)
{
    struct node_monitor *m = mem_alloc(sizeof(*m));
    struct err *e;

    m->options = *o;
    if (m->options.node_grace_ns == 0)
        m->options.node_grace_ns = NODE_LEASE_S * NS_PER_SEC;
    m->store = objects_store(o->objects);
    m->kind = kind_find("", "nodes");
    m->who = (struct kind_context){
        .user = "system:node-monitor", .is_system = true, .is_admin = true, .host_uid = -1};
    m->timer = loop_timer_new(o->loop, node_monitor_on_time, m);
    m->writes = writes_new(m);
    loop_timer_set(m->timer, 0);
    e = watch_all(m);
    if (e) {
        node_monitor_free(m);
        return e;
    }
    *ret = m;
    return NULL;
}

void node_monitor_free(struct node_monitor *m)
{
    struct watched_node *n;
    struct watched_node *tmp;

    if (!m)
        return;
    store_watch_free(m->watch);
    store_watch_free(m->lease_watch);
    map_each (handle, m->nodes, n, tmp)
        node_free(m, n);
    vec_done(&m->dirty);
    loop_timer_free(m->timer);
    writes_free(m->writes);
    free(m);
}
