/* queue_tree_status.c - the engine's view of queues onto the status of the objects */
#include "base/log.h"
#include "base/stamp.h"
#include "control/queue/queue_tree_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

enum {
    SHARE_STEP = 1000 /* millionths; smaller changes are not written */
};

static void add_quota(json_t *list, const struct mete_quota_view *v)
{
    json_t *o = json_object();
    int64_t borrowed = v->held > v->nominal ? v->held - v->nominal : 0;
    char text[QUANTITY_TEXT_SIZE];

    json_put_text(o, "resource", v->resource);
    queue_amount_format(v->resource, v->nominal, text);
    json_put_text(o, "nominal", text);
    queue_amount_format(v->resource, v->held, text);
    json_put_text(o, "held", text);
    queue_amount_format(v->resource, borrowed, text);
    json_put_text(o, "borrowed", text);
    (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
}

static void put_view(json_t *status, const struct mete_queue_view *v)
{
    json_t *quotas = json_array();
    char gpus[QUANTITY_TEXT_SIZE];
    char stamp[STAMP_TEXT_SIZE];

    json_put_int(status, "waiting", v->waiting);
    json_put_int(status, "onHold", v->held);
    json_put_int(status, "running", v->running);
    queue_amount_format("gpu", v->gpu_milli, gpus);
    json_put_text(status, "gpus", gpus);
    json_put_int(status, "sharePpm", (int64_t)(v->share_ppm - v->share_ppm % SHARE_STEP));
    json_put(status, "waitingSince", json_null());
    if (v->oldest_ns > 0) {
        stamp_format(v->oldest_ns, stamp);
        json_put_text(status, "waitingSince", stamp);
    }
    for (size_t i = 0; i < v->n_quotas; i++)
        add_quota(quotas, &v->quotas[i]);
    json_put(status, "quotas", quotas);
}

static void put_condition(json_t *object, const struct queue_entry *entry, int64_t now_ns)
{
    const char *refused =
        queue_source(entry->object)
            ? json_text_at(entry->object, "metadata", "annotations", QUEUE_REFUSED, NULL)
            : NULL;

    if (refused)
        (void)object_set_condition(object, "Active", "False", "Refused", refused, now_ns);
    else if (entry->problem)
        (void)object_set_condition(object, "Active", "False", entry->problem, entry->message,
                                   now_ns);
    else if (json_bool_at(entry->object, "spec", "stopped", NULL))
        (void)object_set_condition(object, "Active", "False", "Stopped",
                                   "the queue is stopped, its workloads do not start", now_ns);
    else
        (void)object_set_condition(object, "Active", "True", "Ready", NULL, now_ns);
}

/* `v` NULL: the engine has no such queue. */
static json_t *queue_status_tree(const struct queue_tree *q, const struct queue_entry *entry,
                                 const struct mete_queue_view *v)
{
    AUTO(json_freep) json_t *object = json_object();
    json_t *status = json_object_at(object, "status");
    const json_t *conditions = json_object_get(entry->status, "conditions");

    if (v)
        put_view(status, v);
    if (conditions)
        json_put(status, "conditions", json_deep_copy(conditions));
    put_condition(object, entry, loop_wall_ns(q->options.loop));
    return json_incref(status);
}

/* A merge patch keeps members that it does not name: adds null for each removed member. */
static void drop_old(const json_t *was, json_t *is)
{
    static const char *const keys[] = {"waiting",  "onHold",       "running", "gpus",
                                       "sharePpm", "waitingSince", "quotas"};

    for (size_t i = 0; i < COUNT(keys); i++)
        if (json_object_get(was, keys[i]) && !json_object_get(is, keys[i]))
            json_put(is, keys[i], json_null());
}

/* Would the patch change nothing? Null equals absent. */
static bool queue_status_is_same(const json_t *was, json_t *is)
{
    size_t n = json_object_size(was);
    const char *key;
    json_t *value;

    json_object_foreach (is, key, value) {
        const json_t *other = json_object_get(was, key);

        if (json_is_null(value) ? other != NULL : !other || !json_equal(other, value))
            return false;
        n -= !json_is_null(value);
    }
    return n == 0;
}

/* The watch tells the present status; a lost write is repeated. */
static void on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    (void)number;
    if (!e)
        return;
    LOG(WARN, "status of a queue was taken back, written again", S("queue", key), E(e));
    queue_tree_touch(owner);
}

static void entry_write_status(struct queue_tree *q, struct queue_entry *entry,
                               const struct mete_queue_view *v)
{
    AUTO(json_freep) json_t *status = queue_status_tree(q, entry, v);
    AUTO(json_freep) json_t *patch = json_object();
    const struct cluster_target target = {
        .resource = "queues.mete.dev", .ns = "", .name = entry->name, .subresource = "status"};
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;

    if (queue_source(entry->object)) {
        json_decref(entry->status);
        entry->status = TAKE(status);
        return;
    }
    drop_old(entry->status, status);
    if (queue_status_is_same(entry->status, status))
        return;
    json_put(patch, "status", json_incref(status));
    a = writes_begin(q->writes, on_written, entry->name, 0);
    e = writes_end(a, cluster_patch(q->options.cluster, &target, patch, a));
    if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
        LOG(WARN, "status of a queue was not written", S("queue", entry->name), E(e));
}

/* The object `root` has no status: no workload is in it. */
void queue_tree_on_status(void *arg)
{
    struct queue_tree *q = arg;
    struct mete_engine *e = q->options.engine;
    struct queue_entry *entry;
    struct queue_entry *next;
    struct mete_queue_view v;

    q->is_status_due = false;
    q->told_ns = loop_now_ns(q->options.loop);
    for (size_t i = 0; i < mete_queue_count(e); i++) {
        if (mete_queue_view(e, i, &v) != METE_OK)
            break; /* index in range: does not happen */
        entry = queue_tree_find(q, v.name);
        if (entry && entry->object)
            entry_write_status(q, entry, &v);
    }
    map_each (handle, q->entries, entry, next) {
        if (entry->object && !entry->fed && !text_equal(entry->name, QUEUE_ROOT))
            entry_write_status(q, entry, NULL);
    }
}
